// The sparse index: active neuron groups and heads per task and layer (docs/formats/cmf.md §7).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "amphora/bytes.h"
#include "formats/cmf/finding.h"
#include "formats/cmf/header.h"
#include "formats/cmf/masks.h"

namespace amphora::cmf {

/// One entry; its lists point into the file's bytes.
struct IndexEntry {
  uint32_t task = 0, layer = 0;
  Bytes groups;  ///< u16 each
  Bytes heads;   ///< u8 each
  uint64_t end =
      0;  ///< of its last list, from the section's start; zeros up to the next multiple of 4 follow

  /// Active groups of 32 neurons, ascending.
  std::vector<uint16_t> group_list() const;
  /// Active heads, ascending.
  std::vector<uint8_t> head_list() const;
};

/// Reads the section and checks every rule but the padding. `masks` is null if the file has none.
Checked<std::vector<IndexEntry>> decode_index(Bytes section, uint64_t offset, const ArchDimensions& arch,
                                              const Masks* masks);

/// The first nonzero padding byte, from the section's start.
std::optional<uint64_t> find_index_padding_fault(Bytes section, std::span<const IndexEntry> entries);

}  // namespace amphora::cmf
