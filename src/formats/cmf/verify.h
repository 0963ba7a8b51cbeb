// The whole chain of checks of a CMF file: structure, hashes, payload rules, padding, signature
// (docs/formats/cmf.md §8).
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "crypto/ed25519.h"
#include "formats/cmf/cmf_file.h"

namespace amphora::cmf {

enum class SignatureState : uint8_t { kAbsent, kValid, kInvalid };
std::string_view name_of(SignatureState state);  ///< "absent", "valid", "invalid"

struct VerifyOptions {
  bool strong = false;                                      ///< a good `.sig` file is required
  std::optional<crypto::Ed25519PublicKey> public_key = {};  ///< required too, and by this key
  /// The bytes are a read-only file mapping: pages that have been checked are given back, so that resident
  /// memory does not grow with the file.
  bool release_pages = false;
  ProgressFunction progress = {};  ///< told bytes hashed of bytes to hash, by one thread
};

struct VerifyReport {
  std::vector<Finding> findings;  ///< in the order of the checks
  SignatureState signature = SignatureState::kAbsent;
  std::optional<crypto::Ed25519PublicKey> signer = {};  ///< whose good signature it is
  /// Notes allowed.
  bool valid() const;
};

/// Checks the file at `path` and, if there is one, the signature beside it (`path` + ".sig"). What is wrong
/// with the file is in the report; an error means that it could not be read.
Result<VerifyReport> verify(const std::filesystem::path& path, const VerifyOptions& options = {});

/// The same for bytes in memory; `signature` is the text of a `.sig` file.
VerifyReport verify_bytes(Bytes file, std::optional<std::string_view> signature,
                          const VerifyOptions& options = {});

/// Adds what the signature file's text (if there is one) says about a file's bytes to the report.
void check_signature(Bytes file, std::optional<std::string_view> signature, const VerifyOptions& options,
                     VerifyReport& report);

}  // namespace amphora::cmf
