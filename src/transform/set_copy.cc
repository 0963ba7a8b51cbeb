// Describes a set as a new file, checks recorded hashes, streams payloads.
#include "transform/set_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/page_advice.h"
#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "package/file_error.h"

namespace amphora::transform {
namespace {

constexpr uint64_t kPiece = uint64_t{1} << 20;

std::string mismatch(uint64_t found, uint64_t recorded) {
  return fmt::format("hash64 is {}, recorded is {}", crypto::to_hex(found), crypto::to_hex(recorded));
}

std::unexpected<Error> hash_fault(const cmf::CmfFile& file, cmf::Section section, uint64_t offset,
                                  std::string message, std::string_view tensor = {}) {
  const cmf::Finding finding{.code = cmf::Code::kHash,
                             .section = section,
                             .offset = offset,
                             .message = std::move(message),
                             .tensor = std::string(tensor),
                             .path = {}};
  return package::in_file(file.mapping()->path(), cmf::to_error(finding));
}

Status check_hash(const cmf::CmfFile& file, cmf::Section section, uint64_t recorded) {
  const uint64_t found = crypto::hash64(file.section(section));
  if (found == recorded) return {};
  return hash_fault(file, section, file.envelope().place(section).offset, mismatch(found, recorded));
}

}  // namespace

cmf::NewFile copy_of(const cmf::CmfSet& set) {
  const cmf::CmfFile& first = set.first();
  cmf::NewFile copy{.header = set.header(),
                    .tensors = {},
                    .tokenizer_json = first.section(cmf::Section::kVocabulary),
                    .masks = first.section(cmf::Section::kMasks),
                    .index = first.section(cmf::Section::kIndex),
                    .loop_masks = (first.envelope().features & cmf::kLoopMasks) != 0};
  for (const cmf::SetTensor& tensor : set.tensors())
    copy.tensors.push_back({.name = std::string(tensor.record->name),
                            .dtype = tensor.record->dtype,
                            .shape = tensor.record->shape,
                            .bytes = tensor.record->bytes});
  return copy;
}

Status check_section_hashes(const cmf::CmfSet& set) {
  using enum cmf::Section;
  for (const cmf::CmfFile& file : set.files()) {
    const cmf::Envelope& envelope = file.envelope();
    if (envelope.header_hash != 0) AMPHORA_TRY(check_hash(file, kHeader, envelope.header_hash));
    if (envelope.directory_hash != 0) AMPHORA_TRY(check_hash(file, kDirectory, envelope.directory_hash));
    for (const cmf::Section section : {kMasks, kVocabulary, kIndex}) {
      const auto recorded = cmf::section_hash_of(file.header(), section);
      if (recorded && !file.section(section).empty()) AMPHORA_TRY(check_hash(file, section, *recorded));
    }
  }
  return {};
}

uint64_t payload_bytes(std::span<const cmf::SetTensor> tensors) {
  uint64_t bytes = 0;  // payloads of a file do not overlap: the sum is at most what is mapped
  for (const cmf::SetTensor& tensor : tensors) bytes += tensor.record->bytes;
  return bytes;
}

Status PayloadCopier::copy(std::string_view name, const cmf::SetTensor& tensor) {
  const Bytes payload = tensor.file->payload(*tensor.record);
  crypto::Hash64 hash;
  for (uint64_t offset = 0; offset < payload.size(); offset += kPiece) {
    const Bytes piece = payload.subspan(offset, std::min(kPiece, payload.size() - offset));
    hash.update(piece);
    AMPHORA_TRY(output_.write(name, piece));
    release_pages(piece);
    done_bytes_ += piece.size();
    if (progress_) progress_(done_bytes_, total_bytes_);
  }
  if (hash.value() == tensor.record->hash) return {};
  return hash_fault(*tensor.file, cmf::Section::kData, tensor.record->offset,
                    mismatch(hash.value(), tensor.record->hash), tensor.record->name);
}

Status check_not_source(const CmfOutput& output, const cmf::CmfSet& set) {
  std::error_code ignored;  // an output that does not exist yet is no source
  for (const OutputFile& out : output.files())
    for (const cmf::CmfFile& source : set.files())
      if (std::filesystem::equivalent(out.path, set.path_of(source), ignored))
        return fail(Fault::kUsage,
                    fmt::format("{} is a source file; choose another name", out.path.string()));
  return {};
}

}  // namespace amphora::transform
