// Opening a package with what a person knows and the source does not say.
#pragma once

#include <filesystem>
#include <memory>
#include <string_view>

#include "amphora/package.h"
#include "amphora/result.h"
#include "package/pre_tokenizers.h"

namespace amphora::package {

/// The key of Package::provenance under which an assumed pre-tokenizer's name stays with the model.
inline constexpr std::string_view kAssumedPreTokenizer = "assumed_pre_tokenizer";

struct OpenOptions {
  /// What to take where the source's pre-tokenizer is unknown; null: such a source is refused. A source that
  /// says all itself, or has no vocabulary at all, refuses an assumption (kUsage): it would be ignored.
  const PreTokenizer* assumed = nullptr;
};

/// As open_package(path).
Result<std::shared_ptr<const Package>> open_package(const std::filesystem::path& path,
                                                    const OpenOptions& options);

/// The refusal of an assumption, with the reason.
std::unexpected<Error> idle_assumption(std::string_view reason);
/// Writes the assumption into the package's notes and provenance.
void record_assumption(const PreTokenizer& assumed, Package& package);

}  // namespace amphora::package
