// One function per part of a CMF file.
#include "cli/cmf_facts.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "base/file.h"
#include "cli/print.h"
#include "formats/cmf/signing.h"

namespace amphora::cli {
namespace {

json::Value features_value(const cmf::CmfFile& file) {
  std::vector<json::Value> names;
  for (const cmf::FeatureName& feature : cmf::kFeatureNames)
    if ((file.envelope().features & feature.bit) != 0) names.push_back(text_value(feature.name));
  return json::Value::array(std::move(names));
}

json::Value sections_value(const cmf::CmfFile& file) {
  json::Value sections = json::Value::object();
  for (const cmf::Section section : cmf::kPlacedSections) {
    const cmf::Span& place = file.envelope().place(section);
    if (place.offset == 0 && place.bytes == 0) continue;
    sections.set(cmf::name_of(section), json::Value::object({{"off", count_value(place.offset)},
                                                             {"len", count_value(place.bytes)}}));
  }
  return sections;
}

json::Value share_value(uint64_t active, uint64_t whole) {
  return json::Value::object({{"active", count_value(active)}, {"of", count_value(whole)}});
}

json::Value mask_value(const cmf::CmfFile& file, const cmf::Mask& mask, const json::Value& meta) {
  const cmf::ArchDimensions arch = cmf::dimensions_of(file.header());
  uint64_t heads = 0;
  for (uint32_t layer = 0; layer < arch.num_layers; ++layer) heads += arch.heads_of(layer);
  const json::Value* quality = meta.find_present("quality");
  json::Value value =
      json::Value::object({{"task_id", count_value(mask.task_id)},
                           {"name", text_value(mask.name)},
                           {"priority", text_value(mask.priority)},
                           {"sparsity", json::Value::number(mask.sparsity)},
                           {"measured", json::Value::boolean(mask.measured)},
                           {"quality", quality ? *quality : json::Value()},
                           {"neurons", share_value(mask.ffn.count(), mask.ffn.rows() * mask.ffn.width())},
                           {"heads", share_value(mask.heads.count(), heads)},
                           {"layers", share_value(mask.gates.count(), arch.num_layers)}});
  value.set("experts", mask.has_expert_fields
                           ? share_value(mask.experts.count(), mask.experts.rows() * mask.experts.width())
                           : json::Value());
  return value;
}

json::Value masks_value(const cmf::CmfFile& file) {
  std::vector<json::Value> masks;
  if (file.masks()) {
    const std::vector<json::Value>& metas = file.masks()->meta.find("masks")->items();
    for (size_t i = 0; i < metas.size(); ++i)
      masks.push_back(mask_value(file, file.masks()->masks[i], metas[i]));
  }
  return json::Value::array(std::move(masks));
}

// Per task: how many layers have an entry, and what these list in all.
json::Value index_value(const cmf::CmfFile& file) {
  struct Sum {
    uint64_t layers = 0, groups = 0, heads = 0;
  };
  std::map<uint32_t, Sum> by_task;
  for (const cmf::IndexEntry& entry : file.index()) {
    Sum& sum = by_task[entry.task];
    ++sum.layers;
    sum.groups += entry.groups.size() / sizeof(uint16_t);
    sum.heads += entry.heads.size();
  }
  std::vector<json::Value> tasks;
  for (const auto& [task, sum] : by_task)
    tasks.push_back(json::Value::object({{"task_id", count_value(task)},
                                         {"layers", count_value(sum.layers)},
                                         {"groups", count_value(sum.groups)},
                                         {"heads", count_value(sum.heads)}}));
  return json::Value::array(std::move(tasks));
}

json::Value skill_value(const cmf::CmfFile& file, const cmf::SkillRecord& skill) {
  const std::string prefix = "skill." + skill.id + ".";
  uint64_t tensors = 0, bytes = 0;
  for (const cmf::TensorRecord& tensor : file.tensors()) {
    if (!file.is_skill_file() && !tensor.name.starts_with(prefix)) continue;
    ++tensors;
    bytes += tensor.bytes;
  }
  std::vector<json::Value> layers;
  for (const uint32_t layer : skill.layers) layers.push_back(count_value(layer));
  json::Value value = json::Value::object({{"id", text_value(skill.id)},
                                           {"name", text_value(skill.name)},
                                           {"layers", json::Value::array(std::move(layers))},
                                           {"tensors", count_value(tensors)},
                                           {"bytes", count_value(bytes)},
                                           {"selectable", json::Value::boolean(skill.selectable)}});
  value.set("base_dir_hash", skill.base_dir_hash ? text_value(*skill.base_dir_hash) : json::Value());
  return value;
}

json::Value skills_value(const cmf::CmfFile& file) {
  std::vector<json::Value> skills;
  for (const cmf::SkillRecord& skill : file.skills()) skills.push_back(skill_value(file, skill));
  return json::Value::array(std::move(skills));
}

// A pipeline is several models in one file: what each component weighs, by the first part of its tensors'
// names. Null for a file that is none.
json::Value pipeline_value(const cmf::CmfFile& file) {
  const json::Value* provenance = file.header().find_present("provenance");
  const json::Value* name = provenance ? provenance->find_present("pipeline") : nullptr;
  if (name == nullptr || !name->is_string()) return {};
  struct Weight {
    uint64_t tensors = 0, bytes = 0;
  };
  std::map<std::string_view, Weight> by_prefix;
  for (const cmf::TensorRecord& tensor : file.tensors()) {
    Weight& weight = by_prefix[tensor.name.substr(0, tensor.name.find('.'))];
    ++weight.tensors;
    weight.bytes += tensor.bytes;
  }
  json::Value value = json::Value::object({{"name", *name}});
  for (const auto& [prefix, weight] : by_prefix)
    value.set(prefix, json::Value::object(
                          {{"tensors", count_value(weight.tensors)}, {"bytes", count_value(weight.bytes)}}));
  return value;
}

// Whether it is good, `verify` says; here the key that it names, or null.
void add_signature(json::Value& document, const std::string& path) {
  const std::filesystem::path signature_path = cmf::signature_path_of(path);
  std::error_code ignored;
  const bool is_there = std::filesystem::exists(signature_path, ignored);
  document.set("signature", text_value(is_there ? "present" : "absent"));
  json::Value key;
  if (is_there)
    if (const auto text = read_small_file(signature_path, cmf::kMaxSignatureBytes))
      if (const auto record = json::parse(*text); record && record->is_object())
        if (const json::Value* named = record->find_present("pubkey"); named && named->is_string())
          key = *named;
  document.set("signature_key", std::move(key));
}

}  // namespace

Result<std::optional<cmf::CmfFile>> open_if_cmf(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return std::nullopt;
  AMPHORA_ASSIGN(const File file, File::open(path));
  std::array<std::byte, cmf::kMagic.size()> start{};
  if (file.size() < start.size()) return std::nullopt;
  AMPHORA_TRY(file.read_at(0, start));
  if (start != cmf::kMagic) return std::nullopt;
  AMPHORA_ASSIGN(cmf::CmfFile opened, cmf::CmfFile::open(std::filesystem::path(path)));
  return opened;
}

void add_cmf_facts(json::Value& document, const cmf::CmfFile& file, const std::string& path) {
  document.set("features", features_value(file));
  document.set("sections", sections_value(file));
  document.set("default_task", file.masks() ? text_value(file.masks()->default_task) : json::Value());
  document.set("masks", masks_value(file));
  document.set("index_entries", count_value(file.index().size()));
  document.set("index", index_value(file));
  document.set("skills", skills_value(file));
  document.set("skill_file", json::Value::boolean(file.is_skill_file()));
  document.set("shard", file.shard() ? json::Value::object({{"no", count_value(file.shard()->no)},
                                                            {"count", count_value(file.shard()->count)}})
                                     : json::Value());
  document.set("pipeline", pipeline_value(file));
  add_signature(document, path);
  const json::Value* provenance = file.header().find_present("provenance");
  document.set("provenance", provenance == nullptr ? json::Value() : *provenance);
}

std::vector<json::Value> notes_on(const cmf::CmfFile& file) {
  std::vector<json::Value> notes;
  const json::Value* provenance = file.header().find_present("provenance");
  if (provenance && provenance->find_present("o1_attn"))
    notes.push_back(text_value(
        "provenance.o1_attn asks for approximate attention: this program ignores it and is exact"));
  return notes;
}

}  // namespace amphora::cli
