// The whole chain of checks of a CMF file: structure, hashes, payload rules, padding, signature
// (docs/formats/cmf.md §8).
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "formats/cmf/cmf_file.h"

namespace amphora::cmf {

enum class SignatureState : uint8_t { kAbsent, kValid, kInvalid };
std::string_view name_of(SignatureState state);  ///< "absent", "valid", "invalid"

struct VerifyOptions {
  bool strong = false;             ///< a good `.sig` file is required
  ProgressFunction progress = {};  ///< told bytes hashed of bytes to hash; starts again for the signature
};

struct VerifyReport {
  std::vector<Finding> findings;  ///< in the order of the checks
  SignatureState signature = SignatureState::kAbsent;
  /// Notes allowed.
  bool valid() const;
};

/// Checks the file at `path` and, if there is one, the signature beside it (`path` + ".sig"). What is wrong
/// with the file is in the report; an error means that it could not be read.
Result<VerifyReport> verify(const std::filesystem::path& path, const VerifyOptions& options = {});

/// The same for bytes in memory; `signature` is the text of a `.sig` file.
VerifyReport verify_bytes(Bytes file, std::optional<std::string_view> signature,
                          const VerifyOptions& options = {});

/// Checks the signature file's text against a file's bytes; empty if it is good.
std::optional<Finding> check_signature(Bytes file, std::string_view signature,
                                       const ProgressFunction& progress = {});

}  // namespace amphora::cmf
