// The skill registry: records first, then the tensors that they own.
#include "formats/cmf/skills.h"

#include <algorithm>
#include <unordered_map>

#include "base/base64.h"
#include "formats/cmf/schema.h"

namespace amphora::cmf {
namespace {

constexpr std::string_view kTensorPrefix = "skill.";

class SkillsReader {
 public:
  SkillsReader(uint64_t header_offset, const ArchDimensions& arch, const Masks* masks)
      : header_offset_(header_offset), arch_(arch), masks_(masks) {}

  Checked<std::vector<SkillRecord>> read_records(std::span<const json::Value> records) {
    std::vector<SkillRecord> skills;
    for (size_t i = 0; i < records.size(); ++i) {
      AMPHORA_ASSIGN(SkillRecord skill,
                     read_record(records[i], "$.skills[" + std::to_string(i) + "]", skills));
      skills.push_back(std::move(skill));
    }
    if (is_skill_file(skills) && skills.size() != 1)
      return bad("$.skills", "a skill file has exactly one record");
    return skills;
  }

 private:
  std::unexpected<Finding> bad(std::string path, std::string message) const {
    return json_fault(Code::kSkill, Section::kHeader, header_offset_, std::move(path), std::move(message));
  }

  Checked<SkillRecord> read_record(const json::Value& value, const std::string& path,
                                   std::span<const SkillRecord> earlier) const {
    SkillRecord skill{.id = value.find("id")->text(),
                      .name = find_text(value, "name"),
                      .layers = {},
                      .selectable = value.find_present("selection") != nullptr,
                      .base_dir_hash = {}};
    if (const json::Value* hash = value.find_present("base_dir_hash")) skill.base_dir_hash = hash->text();
    if (skill.id.empty()) return bad(path + ".id", "the id is empty");
    for (const SkillRecord& other : earlier)
      if (other.id == skill.id || other.id.starts_with(skill.id + ".") ||
          skill.id.starts_with(other.id + "."))
        return bad(path + ".id", "the id is equal to, or a dotted prefix of, another");
    const std::vector<json::Value>& layers = value.find("layers")->items();
    for (size_t i = 0; i < layers.size(); ++i) {
      skill.layers.push_back(u32_of(layers[i]));
      if (skill.layers.back() >= arch_.num_layers)
        return bad(path + ".layers[" + std::to_string(i) + "]", "there is no such layer");
    }
    if (const json::Value* selection = value.find_present("selection"))
      AMPHORA_TRY(check_selection(*selection, path + ".selection"));
    if (const json::Value* task = value.find_present("input_mask_task"))
      if (!masks_ || std::ranges::find(masks_->masks, task->text(), &Mask::name) == masks_->masks.end())
        return bad(path + ".input_mask_task", "no mask has this name");
    return skill;
  }

  Checked<void> check_selection(const json::Value& selection, const std::string& path) const {
    const std::string& metric = selection.find("metric")->text();
    if (metric != "mse" && metric != "mse_unit")
      return bad(path + ".metric", "the metric is neither mse nor mse_unit");
    if (u32_of(*selection.find("phi_layer")) >= arch_.num_layers)
      return bad(path + ".phi_layer", "there is no such layer");
    AMPHORA_ASSIGN(const uint64_t mean, count_values(selection.find("mean")->text(), path + ".mean"));
    AMPHORA_ASSIGN(const uint64_t basis, count_values(selection.find("basis")->text(), path + ".basis"));
    const uint64_t width = arch_.hidden_size;
    if (mean != width)
      return bad(path + ".mean", std::to_string(mean) + " values, hidden_size is " + std::to_string(width));
    if (basis == 0 || width == 0 || basis % width != 0)
      return bad(path + ".basis",
                 std::to_string(basis) + " values are no whole rows of " + std::to_string(width));
    const auto rank = find_u32(selection, "rank");
    if (rank && *rank * width != basis) return bad(path + ".rank", "does not agree with the basis");
    return {};
  }

  /// How many f16 values a base64 text holds, all of them finite.
  Checked<uint64_t> count_values(std::string_view text, const std::string& path) const {
    const auto bytes = decode_base64(text);
    if (!bytes) return bad(path, "not canonical base64");
    if (bytes->size() % 2 != 0) return bad(path, "an odd number of bytes");
    for (size_t i = 1; i < bytes->size(); i += 2)
      if ((static_cast<uint8_t>((*bytes)[i]) & 0x7Cu) == 0x7Cu)
        return bad(path, "value " + std::to_string(i / 2) + " is not finite");
    return bytes->size() / 2;
  }

  uint64_t header_offset_;
  const ArchDimensions& arch_;
  const Masks* masks_;
};

/// The skill that a tensor named `skill.…` belongs to, or null.
const SkillRecord* owner_of(std::string_view name, std::span<const SkillRecord> skills) {
  const std::string_view rest = name.substr(kTensorPrefix.size());
  for (const SkillRecord& skill : skills)
    if (rest.starts_with(skill.id) && rest.substr(skill.id.size()).starts_with('.')) return &skill;
  return nullptr;
}

}  // namespace

bool is_skill_file(std::span<const SkillRecord> skills) {
  return std::ranges::any_of(skills,
                             [](const SkillRecord& skill) { return skill.base_dir_hash.has_value(); });
}

Checked<void> check_skill_tensors(std::span<const TensorRecord> tensors,
                                  std::span<const SkillRecord> skills) {
  const auto is_skill_tensor = [](const TensorRecord& tensor) {
    return tensor.name.starts_with(kTensorPrefix);
  };
  if (std::ranges::none_of(tensors, is_skill_tensor)) return {};
  std::unordered_map<std::string_view, const TensorRecord*> by_name;
  for (const TensorRecord& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  for (const TensorRecord& tensor : tensors) {
    if (!is_skill_tensor(tensor)) continue;
    const auto bad = [&](std::string message) {
      return tensor_fault(Code::kSkill, Section::kDirectory, tensor.record_offset, tensor.name,
                          std::move(message));
    };
    if (is_skill_file(skills)) return bad("a skill file carries its tensors under the base's names");
    const SkillRecord* owner = owner_of(tensor.name, skills);
    if (!owner) return bad("no registered skill owns this name");
    const auto base = by_name.find(tensor.name.substr(kTensorPrefix.size() + owner->id.size() + 1));
    if (base == by_name.end()) return bad("it replaces a tensor that is not there");
    if (base->second->shape != tensor.shape)
      return bad("its shape is not that of the tensor that it replaces");
  }
  return {};
}

Checked<std::vector<SkillRecord>> decode_skills(const json::Value& header, uint64_t header_offset,
                                                const ArchDimensions& arch, const Masks* masks,
                                                std::span<const TensorRecord> tensors) {
  std::vector<SkillRecord> skills;
  if (const json::Value* records = header.find_present("skills")) {
    AMPHORA_ASSIGN(skills, SkillsReader(header_offset, arch, masks).read_records(records->items()));
  }
  // The tensors of a set may be in any of its shards: whoever opens the set checks them.
  const auto shard = shard_of(header);
  if (!shard || shard->count == 1) AMPHORA_TRY(check_skill_tensors(tensors, skills));
  return skills;
}

}  // namespace amphora::cmf
