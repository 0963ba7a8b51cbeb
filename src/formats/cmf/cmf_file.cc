// Opens a CMF file: section by section, in the order in which the format page has faults reported.
#include "formats/cmf/cmf_file.h"

namespace amphora::cmf {

Checked<CmfFile> CmfFile::open_or_finding(Bytes bytes) {
  CmfFile file;
  file.bytes_ = bytes;
  AMPHORA_ASSIGN(file.envelope_, decode_envelope(bytes));
  const uint64_t header_offset = file.envelope_.place(Section::kHeader).offset;
  AMPHORA_ASSIGN(file.header_, decode_header(file.section(Section::kHeader), header_offset));
  AMPHORA_TRY(check_shard_sections(file.header_, file.envelope_));
  file.shard_ = shard_of(file.header_);
  AMPHORA_ASSIGN(file.tensors_, decode_directory(bytes, file.envelope_));
  file.by_name_.reserve(file.tensors_.size());
  for (size_t i = 0; i < file.tensors_.size(); ++i) file.by_name_.emplace(file.tensors_[i].name, i);

  const ArchDimensions arch = dimensions_of(file.header_);
  if (const Bytes section = file.section(Section::kMasks); !section.empty()) {
    const bool loop_masks = (file.envelope_.features & kLoopMasks) != 0;
    AMPHORA_ASSIGN(file.masks_,
                   decode_masks(section, file.envelope_.place(Section::kMasks).offset, arch, loop_masks));
  }
  const Masks* masks = file.masks_ ? &*file.masks_ : nullptr;
  if (const Bytes section = file.section(Section::kIndex); !section.empty()) {
    AMPHORA_ASSIGN(file.index_,
                   decode_index(section, file.envelope_.place(Section::kIndex).offset, arch, masks));
  }
  AMPHORA_ASSIGN(file.skills_, decode_skills(file.header_, header_offset, arch, masks, file.tensors_));
  return file;
}

Result<CmfFile> CmfFile::open(Bytes bytes) {
  auto file = open_or_finding(bytes);
  if (!file) return std::unexpected(to_error(file.error()));
  return *std::move(file);
}

Result<CmfFile> CmfFile::open(std::shared_ptr<const MappedFile> mapping) {
  AMPHORA_ASSIGN(CmfFile file, open(mapping->bytes()));
  file.mapping_ = std::move(mapping);
  return file;
}

Result<CmfFile> CmfFile::open(const std::filesystem::path& path) {
  AMPHORA_ASSIGN(std::shared_ptr<const MappedFile> mapping, MappedFile::open(path));
  return open(std::move(mapping));
}

Bytes CmfFile::section(Section section) const {
  const Span& place = envelope_.place(section);
  return bytes_.subspan(place.offset, place.bytes);
}

const TensorRecord* CmfFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : &tensors_[found->second];
}

Bytes CmfFile::payload(const TensorRecord& tensor) const {
  return bytes_.subspan(tensor.offset, tensor.bytes);
}

bool CmfFile::is_skill_file() const { return cmf::is_skill_file(skills_); }

}  // namespace amphora::cmf
