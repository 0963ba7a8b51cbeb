// Where a writer puts things, and the feature bit that its types call for (docs/formats/cmf.md §1, §4):
// shared by new files, growth and `verify`.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/checked.h"
#include "formats/cmf/directory.h"

namespace amphora::cmf {

inline constexpr uint64_t kSectionAlignment = 8;
inline constexpr uint64_t kPagedTensorBytes = 16384;  ///< payloads from this size on begin on a page

/// The next multiple of `alignment`; the value lies far below 2^64.
inline uint64_t align(uint64_t value, uint64_t alignment) {
  return divide_rounding_up(value, alignment) * alignment;
}

/// The place of a payload at or behind `offset`, both from the start of the data section.
inline uint64_t align_payload(uint64_t offset, uint64_t bytes) {
  return align(offset, bytes >= kPagedTensorBytes ? kPage : kTensorAlignment);
}

/// Whether tensors, records or new ones, call for the feature bit QUANT_2F.
template <class Tensors>
bool calls_for_quant_2f(const Tensors& tensors) {
  return std::ranges::any_of(tensors, [](const auto& tensor) {
    return tensor.dtype == DType::kQ82F || tensor.dtype == DType::kVbit || tensor.dtype == DType::kVbitRo;
  });
}

}  // namespace amphora::cmf
