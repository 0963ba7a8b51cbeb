// The element types of CMF v2 (docs/formats/cmf.md §3).
#pragma once

#include <cstdint>

namespace amphora {

/// Ids as they stand in a tensor record. Ids that are missing here are unknown.
enum class DType : uint8_t {
  kF32 = 0,
  kF16 = 1,
  kBF16 = 2,
  kQ8Row = 3,
  kQ4Block = 4,
  kU8 = 6,
  kVbit = 8,
  kQ82F = 9,
  kVbitRo = 10,
  kQ4Tiled = 11,
  kQ1 = 12,
  kQ1S = 13,
  kQ1T = 14,
  kQ4TP = 15,
  kQ2TP = 16,
};

}  // namespace amphora
