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
#include "formats/cmf/envelope.h"
#include "formats/cmf/finding.h"

namespace amphora::cmf {

/// One record of the tensor directory.
struct TensorRecord {
  std::string_view name;  ///< points into the file's bytes
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;  ///< outermost first, at most 6; empty for a scalar
  uint64_t offset = 0;          ///< of the payload, from the file's start
  uint64_t bytes = 0;
  uint64_t hash = 0;           ///< hash64 of the payload as recorded
  uint64_t record_offset = 0;  ///< of the 56-byte record, from the file's start

  /// Below 2^63.
  uint64_t elements() const {
    uint64_t product = 1;
    for (const uint64_t dimension : shape) product *= dimension;
    return product;
  }
};

/// One task mask, as the meta of the masks section describes it.
struct Mask {
  uint32_t task_id = 0;
  std::string name;
  std::string description;  ///< may be empty
  std::string priority;     ///< "Fallback", "Normal", "Primary"
  double sparsity = 0;
  bool measured = false;  ///< it carries a quality measurement
  bool has_expert_fields = false;
  uint64_t blob_offset = 0;  ///< from the section's start
  uint64_t blob_bytes = 0;
};

struct Masks {
  json::Value meta;  ///< as written, unknown keys included
  std::string default_task;
  std::vector<Mask> masks;
};

/// One entry of the sparse index; its lists point into the file's bytes.
struct IndexEntry {
  uint32_t task = 0, layer = 0;
  Bytes groups;  ///< u16 each
  Bytes heads;   ///< u8 each
};

struct SkillRecord {
  std::string id;
  std::string name;  ///< may be empty
  std::vector<uint32_t> layers;
  bool selectable = false;                   ///< has a `selection`
  std::optional<std::string> base_dir_hash;  ///< set in a skill file
};

struct ShardPlace {
  uint32_t no = 1, count = 1;
};

class CmfFile {
 public:
  /// Maps and opens one file; siblings of a shard are not looked at.
  static Result<CmfFile> open(const std::filesystem::path& path);
  static Result<CmfFile> open(std::shared_ptr<const MappedFile> file);
  /// Bytes that stay valid for as long as this object and copies of its views.
  static Result<CmfFile> open(Bytes file);
  /// As above; the fault in the terms of the format page.
  static std::expected<CmfFile, Finding> open_or_finding(Bytes file);

  Bytes bytes() const { return bytes_; }
  const Envelope& envelope() const { return envelope_; }
  /// A section's bytes; empty if it is absent.
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
  friend class Opener;
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
