// Ed25519 signatures (RFC 8032), from OpenSSL.
#pragma once

#include <span>

#include "amphora/bytes.h"

namespace amphora::crypto {

inline constexpr size_t kEd25519KeyBytes = 32;
inline constexpr size_t kEd25519SignatureBytes = 64;

/// Whether `signature` is the public key's signature of `message`; a malformed key is a "no".
bool ed25519_verify(std::span<const std::byte, kEd25519KeyBytes> public_key, Bytes message,
                    std::span<const std::byte, kEd25519SignatureBytes> signature);

}  // namespace amphora::crypto
