// The masks section: meta JSON and bit fields per task (docs/formats/cmf.md §5).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/json.h"
#include "formats/cmf/finding.h"
#include "formats/cmf/header.h"

namespace amphora::cmf {

/// One task mask, as the meta describes it.
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
  json::Value meta;       ///< as written, unknown keys included
  uint64_t meta_end = 0;  ///< from the section's start
  std::string default_task;
  std::vector<Mask> masks;
};

/// Reads the section and checks every rule but the padding. `offset` is where the section begins in the file;
/// `loop_masks`: FFN rows are per visit.
Checked<Masks> decode_masks(Bytes section, uint64_t offset, const ArchDimensions& arch, bool loop_masks);

/// The first nonzero byte, from the section's start, that belongs to neither meta nor blob.
std::optional<uint64_t> find_masks_padding_fault(Bytes section, const Masks& masks);

}  // namespace amphora::cmf
