// A CMF v2 file, open: every place, name, type and size in it has been checked (docs/formats/cmf.md §1–§4 and
// the structure of masks, index, skills and shard block). Hashes and payload contents are verify.h's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/dtype.h"
#include "amphora/json.h"
#include "amphora/result.h"
#include "base/file.h"
#include "formats/cmf/directory.h"
#include "formats/cmf/envelope.h"
#include "formats/cmf/finding.h"
#include "formats/cmf/header.h"
#include "formats/cmf/masks.h"
#include "formats/cmf/skills.h"
#include "formats/cmf/sparse_index.h"

namespace amphora::cmf {

class CmfFile {
 public:
  /// Maps and opens one file; siblings of a shard are not looked at.
  static Result<CmfFile> open(const std::filesystem::path& path);
  static Result<CmfFile> open(std::shared_ptr<const MappedFile> file);
  /// Bytes that stay valid for as long as this object and copies of its views.
  static Result<CmfFile> open(Bytes file);
  /// As above; the fault in the terms of the format page.
  static Checked<CmfFile> open_or_finding(Bytes file);

  Bytes bytes() const { return bytes_; }
  const Envelope& envelope() const { return envelope_; }
  /// The bytes of a section that the envelope places; empty if it is absent.
  Bytes section(Section section) const;
  /// The tokenizer.json that the file carries, verbatim; empty if it has none.
  std::string_view tokenizer_json() const { return as_text(section(Section::kVocabulary)); }

  /// The header with all its keys, known or not, in the file's order.
  const json::Value& header() const { return header_; }
  const json::Value& arch() const { return *header_.find("arch"); }

  /// In directory order.
  std::span<const TensorRecord> tensors() const { return tensors_; }
  /// By name, or null.
  const TensorRecord* find(std::string_view name) const;
  Bytes payload(const TensorRecord& tensor) const;

  const std::optional<Masks>& masks() const { return masks_; }
  std::span<const IndexEntry> index() const { return index_; }
  std::span<const SkillRecord> skills() const { return skills_; }
  const std::optional<ShardPlace>& shard() const { return shard_; }
  /// Whether it is a partial tensor set that `skill apply` puts onto a base; it cannot run by itself.
  bool is_skill_file() const;

  /// Keeps the mapping alive for views that outlive this object; null if it was opened from bytes.
  const std::shared_ptr<const MappedFile>& mapping() const { return mapping_; }

 private:
  Bytes bytes_;
  std::shared_ptr<const MappedFile> mapping_;
  Envelope envelope_;
  json::Value header_;
  std::vector<TensorRecord> tensors_;
  std::unordered_map<std::string_view, size_t> by_name_;
  std::optional<Masks> masks_;
  std::vector<IndexEntry> index_;
  std::vector<SkillRecord> skills_;
  std::optional<ShardPlace> shard_;
};

}  // namespace amphora::cmf
