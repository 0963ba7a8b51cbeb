// A skill file put onto its base (docs/formats/cmf.md §9).
#pragma once

#include <filesystem>

#include "amphora/result.h"
#include "base/progress.h"
#include "package/cmf_output.h"

namespace amphora {

struct ApplySkillOptions {
  bool force = false;  ///< accept a base with another directory hash
};

/// Writes `out`: the base with the payloads and dtypes of the skill's tensors in place and order, its header
/// plus the skill's record without `base_dir_hash`, the base's tokenizer, and the skill's masks if it has any
/// (the base's index is dropped then). What does not fit has code Skill: a base with another directory hash
/// (but for `force`), a tensor that the base lacks or shapes otherwise, an id that the base has already, a
/// base that is sharded or itself a skill file. Damage of either file has code Hash; an `out` that is one of
/// them is kUsage.
Result<OutputFile> apply_skill(const std::filesystem::path& base, const std::filesystem::path& skill,
                               const std::filesystem::path& out, const ApplySkillOptions& options = {},
                               const ProgressFunction& progress = {});

}  // namespace amphora
