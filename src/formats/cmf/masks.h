// The masks section: meta JSON and bit fields per task (docs/formats/cmf.md §5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/json.h"
#include "formats/cmf/finding.h"
#include "formats/cmf/header.h"
#include "formats/cmf/schema.h"

namespace amphora::cmf {

/// The rows of one field of a mask, all of one width: a view into the file's bytes.
class MaskBits {
 public:
  MaskBits() = default;  ///< no rows
  /// `bytes` holds `rows` rows of `width` bits, each in whole bytes, the least significant bit first.
  MaskBits(Bytes bytes, uint64_t rows, uint64_t width) : bytes_(bytes), rows_(rows), width_(width) {}

  uint64_t rows() const { return rows_; }
  uint64_t width() const { return width_; }
  /// Whether the mask keeps what this bit stands for. A row or bit that the mask does not have is kept by
  /// nobody: false.
  bool test(uint64_t row, uint64_t bit) const;
  /// How many bits of a row are set.
  uint64_t count(uint64_t row) const;
  /// How many bits are set in all rows.
  uint64_t count() const;

 private:
  Bytes row_bytes(uint64_t row) const;

  Bytes bytes_;
  uint64_t rows_ = 0, width_ = 0;
};

/// One task mask: what the meta says of it, and its bits.
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
  MaskBits ffn = {};      ///< [Masks::ffn_row, intermediate_size]
  MaskBits heads = {};    ///< [num_layers, heads of the layer that has most]
  MaskBits gates = {};    ///< [1, num_layers]
  MaskBits experts = {};  ///< [num_layers, num_experts]; no rows without has_expert_fields
};

struct Masks {
  json::Value meta = {};  ///< as written, unknown keys included
  uint64_t meta_end = 0;  ///< from the section's start
  std::string default_task = {};
  std::vector<Mask> masks = {};
  uint32_t num_layers = 0;
  bool loop_masks = false;  ///< FFN rows are per visit of a layer

  /// The row of Mask::ffn for a layer in the given pass through the layers, both from 0.
  uint64_t ffn_row(uint32_t layer, uint32_t pass) const {
    return loop_masks ? uint64_t{pass} * num_layers + layer : layer;
  }
  /// By name, or null.
  const Mask* find(std::string_view name) const;
};

/// Keys and types of the meta.
const Record& masks_schema();

/// Reads the section and checks every rule but the padding. `offset` is where the section begins in the file;
/// `loop_masks`: FFN rows are per visit. The masks' bits point into `section`.
Checked<Masks> decode_masks(Bytes section, uint64_t offset, const ArchDimensions& arch, bool loop_masks);

/// The first nonzero byte, from the section's start, that belongs to neither meta nor blob.
std::optional<uint64_t> find_masks_padding_fault(Bytes section, const Masks& masks);

}  // namespace amphora::cmf
