// Ed25519 signatures and keys (RFC 8032), from OpenSSL.
#pragma once

#include <array>
#include <memory>
#include <span>

#include "amphora/bytes.h"
#include "amphora/result.h"

namespace amphora::crypto {

inline constexpr size_t kEd25519KeyBytes = 32;
inline constexpr size_t kEd25519SignatureBytes = 64;

using Ed25519PublicKey = std::array<std::byte, kEd25519KeyBytes>;
using Ed25519Signature = std::array<std::byte, kEd25519SignatureBytes>;

/// Whether `signature` is the public key's signature of `message`; a malformed key is a "no".
bool ed25519_verify(std::span<const std::byte, kEd25519KeyBytes> public_key, Bytes message,
                    std::span<const std::byte, kEd25519SignatureBytes> signature);

/// Overwrites a secret in a way that the compiler may not leave out.
void wipe(MutableBytes secret);

/// The 32 secret bytes that a key pair is derived from; wiped when the object goes.
class Ed25519Seed {
 public:
  Ed25519Seed() = default;
  Ed25519Seed(const Ed25519Seed&) = default;
  Ed25519Seed& operator=(const Ed25519Seed&) = default;
  ~Ed25519Seed() { wipe(bytes); }

  /// A new one from the system's random numbers.
  static Result<Ed25519Seed> generate();

  std::array<std::byte, kEd25519KeyBytes> bytes{};
};

/// A key pair that can sign.
class Ed25519Key {
 public:
  static Result<Ed25519Key> from_seed(const Ed25519Seed& seed);

  const Ed25519PublicKey& public_key() const { return public_key_; }
  Result<Ed25519Signature> sign(Bytes message) const;

 private:
  struct FreeKey {
    void operator()(void* key) const;
  };
  std::unique_ptr<void, FreeKey> key_;
  Ed25519PublicKey public_key_{};
};

}  // namespace amphora::crypto
