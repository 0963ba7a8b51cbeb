// The skill registry in the header and the tensors that it owns (docs/formats/cmf.md §9).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "amphora/json.h"
#include "formats/cmf/directory.h"
#include "formats/cmf/finding.h"
#include "formats/cmf/header.h"
#include "formats/cmf/masks.h"

namespace amphora::cmf {

struct SkillRecord {
  std::string id;
  std::string name;  ///< may be empty
  std::vector<uint32_t> layers;
  bool selectable = false;                   ///< has a `selection`
  std::optional<std::string> base_dir_hash;  ///< set in a skill file
};

/// Whether the header is that of a skill file: a record in it names its base.
bool is_skill_file(std::span<const SkillRecord> skills);

/// Checks names and shapes of the tensors named `skill.…` among all tensors of a file, or of a set.
Checked<void> check_skill_tensors(std::span<const TensorRecord> tensors, std::span<const SkillRecord> skills);

/// Checks the registry of a checked header and, but for a shard of several, the tensors named `skill.…`.
Checked<std::vector<SkillRecord>> decode_skills(const json::Value& header, uint64_t header_offset,
                                                const ArchDimensions& arch, const Masks* masks,
                                                std::span<const TensorRecord> tensors);

}  // namespace amphora::cmf
