// Checks that skill and base belong together, then copies the base with the skill's payloads in their places.
#include "transform/apply_skill.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "package/file_error.h"
#include "transform/set_copy.h"

namespace amphora {
namespace {

std::unexpected<Error> header_fault(const cmf::CmfFile& file, std::string json_path, std::string message) {
  const cmf::Finding finding{.code = cmf::Code::kSkill,
                             .section = cmf::Section::kHeader,
                             .offset = file.envelope().place(cmf::Section::kHeader).offset,
                             .message = std::move(message),
                             .tensor = {},
                             .path = std::move(json_path)};
  return package::in_file(file.mapping()->path(), cmf::to_error(finding));
}

std::unexpected<Error> tensor_fault(const cmf::SetTensor& tensor, std::string message) {
  const cmf::Finding finding{.code = cmf::Code::kSkill,
                             .section = cmf::Section::kDirectory,
                             .offset = tensor.record->record_offset,
                             .message = std::move(message),
                             .tensor = std::string(tensor.record->name),
                             .path = {}};
  return package::in_file(tensor.file->mapping()->path(), cmf::to_error(finding));
}

Status check_pair(const cmf::CmfFile& base, const cmf::CmfSet& skill, const ApplySkillOptions& options) {
  const cmf::CmfFile& first = skill.first();
  if (!first.is_skill_file())
    return header_fault(first, "$.skills", "it is no skill file: no record in it names a base");
  if (base.is_skill_file())
    return header_fault(base, "$.skills", "it is itself a skill file, which cannot be a base");
  const cmf::SkillRecord& record = first.skills().front();
  const std::string found = crypto::to_hex(crypto::hash64(base.section(cmf::Section::kDirectory)));
  if (*record.base_dir_hash != found && !options.force)
    return header_fault(first, "$.skills[0].base_dir_hash",
                        fmt::format("it was made for a base with directory hash {}, this one has {}",
                                    *record.base_dir_hash, found));
  for (const cmf::SetTensor& tensor : skill.tensors()) {
    const cmf::TensorRecord* replaced = base.find(tensor.record->name);
    if (replaced == nullptr) return tensor_fault(tensor, "the base has no such tensor");
    if (replaced->shape != tensor.record->shape)
      return tensor_fault(tensor, "its shape is not that of the base's tensor");
  }
  if (std::ranges::find(base.skills(), record.id, &cmf::SkillRecord::id) != base.skills().end())
    return header_fault(first, "$.skills[0].id", "the base has a skill of this id already");
  return {};
}

/// The base's header and the skill's record, which no longer names a base.
json::Value header_of(const cmf::CmfSet& base, const cmf::CmfFile& skill) {
  json::Value record = skill.header().find("skills")->items().front();
  record.erase("base_dir_hash");
  json::Value header = base.header();
  const json::Value* old = header.find_present("skills");
  std::vector<json::Value> records = old == nullptr ? std::vector<json::Value>() : old->items();
  records.push_back(std::move(record));
  header.set("skills", json::Value::array(std::move(records)));
  return header;
}

/// The base's tensors, those of the skill in their places.
std::vector<cmf::SetTensor> overlaid(const cmf::CmfSet& base, const cmf::CmfSet& skill) {
  std::unordered_map<std::string_view, cmf::SetTensor> replacements;
  for (const cmf::SetTensor& tensor : skill.tensors()) replacements.emplace(tensor.record->name, tensor);
  std::vector<cmf::SetTensor> tensors = base.tensors();
  for (cmf::SetTensor& tensor : tensors)
    if (const auto found = replacements.find(tensor.record->name); found != replacements.end())
      tensor = found->second;
  return tensors;
}

cmf::NewFile result_of(const cmf::CmfSet& base, const cmf::CmfSet& skill,
                       std::span<const cmf::SetTensor> tensors) {
  cmf::NewFile file = transform::copy_of(base);
  file.header = header_of(base, skill.first());
  for (size_t i = 0; i < tensors.size(); ++i) {
    file.tensors[i].dtype = tensors[i].record->dtype;
    file.tensors[i].bytes = tensors[i].record->bytes;
  }
  if (const cmf::NewFile overlay = transform::copy_of(skill); !overlay.masks.empty()) {
    file.masks = overlay.masks;
    file.loop_masks = overlay.loop_masks;
    file.index = {};
  }
  return file;
}

}  // namespace

Result<OutputFile> apply_skill(const std::filesystem::path& base_path,
                               const std::filesystem::path& skill_path, const std::filesystem::path& out,
                               const ApplySkillOptions& options, const ProgressFunction& progress) {
  AMPHORA_ASSIGN(const cmf::CmfFile base_file, cmf::CmfFile::open(base_path));
  if (base_file.shard() && base_file.shard()->count > 1)
    return header_fault(base_file, "$.shard", "the base is a set of shards: compact it into one file first");
  AMPHORA_ASSIGN(const cmf::CmfSet base, cmf::CmfSet::open(base_path));
  AMPHORA_ASSIGN(const cmf::CmfSet skill, cmf::CmfSet::open(skill_path));
  AMPHORA_TRY(check_pair(base.first(), skill, options));
  AMPHORA_TRY(transform::check_section_hashes(base));
  AMPHORA_TRY(transform::check_section_hashes(skill));
  const std::vector<cmf::SetTensor> tensors = overlaid(base, skill);
  AMPHORA_ASSIGN(CmfOutput output, CmfOutput::create(out, result_of(base, skill, tensors)));
  AMPHORA_TRY(transform::check_not_source(output, base));
  AMPHORA_TRY(transform::check_not_source(output, skill));
  transform::PayloadCopier copier(output, transform::payload_bytes(tensors), progress);
  for (const cmf::SetTensor& tensor : tensors) AMPHORA_TRY(copier.copy(tensor.record->name, tensor));
  AMPHORA_TRY(output.finish());
  return output.files().front();
}

}  // namespace amphora
