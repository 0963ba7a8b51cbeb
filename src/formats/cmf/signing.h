// Signatures of CMF files: keys in files, and the text of a `.sig` (docs/formats/cmf.md §8).
#pragma once

#include <filesystem>
#include <string>

#include "amphora/bytes.h"
#include "base/progress.h"
#include "crypto/ed25519.h"
#include "crypto/sha256.h"

namespace amphora::cmf {

inline constexpr uint64_t kMaxSignatureBytes = uint64_t{64} << 10;  ///< of a `.sig` file

/// Reads a seed of 64 hexadecimal digits with white space around it. A file that others than its owner may
/// read, write or run is refused, and so is one of more than 1 KiB.
Result<crypto::Ed25519Key> load_signing_key(const std::filesystem::path& path);

/// Makes a key and writes its seed to a new file, which never has a mode wider than 0600. A file that is
/// there already is refused.
Result<crypto::Ed25519Key> create_signing_key(const std::filesystem::path& path);

/// 64 hexadecimal digits, or the path of a file that holds them with white space around.
Result<crypto::Ed25519PublicKey> load_public_key(const std::string& digits_or_path);

struct Signature {
  crypto::Sha256Digest digest{};  ///< of the whole file
  std::string text;               ///< what the `.sig` holds
};

/// How a file's bytes are read from front to back.
struct DigestOptions {
  bool release_pages = false;  ///< the bytes are a read-only file mapping: pages behind are given back
  ProgressFunction progress = {};
};

/// Signs a file's bytes. Whether they deserve it is the caller's to check.
Result<Signature> sign(Bytes file, const crypto::Ed25519Key& key, const DigestOptions& options = {});

/// `path` + ".sig".
std::filesystem::path signature_path_of(const std::filesystem::path& path);

/// SHA-256 of a whole file.
Result<crypto::Sha256Digest> digest_of(Bytes file, const DigestOptions& options);

}  // namespace amphora::cmf
