// The element types of safetensors: names, sizes, and decoding to f32.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "amphora/bytes.h"
#include "amphora/result.h"

namespace amphora::safetensors {

enum class ElementType : uint8_t {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

struct ElementInfo {
  ElementType type;
  std::string_view name;  ///< as the header spells it
  uint32_t bits;          ///< of one element
  /// Decodes whole elements to f32, `out.size()` of them from the start of `bytes`; null if that is not
  /// meaningful.
  void (*decode)(const std::byte* bytes, std::span<float> out);
};

/// Every known type, in the order of the enumeration.
std::span<const ElementInfo> element_types();
const ElementInfo& info(ElementType type);
/// By its name in a header, or null.
const ElementInfo* find_element_type(std::string_view name);

/// Decodes elements [first, first + out.size()) of a tensor's data to f32. F64 is rounded to the nearest f32,
/// integers too. A type without a decoding is kUnsupported; a range beyond the data is kUsage.
Status decode_elements(ElementType type, Bytes data, uint64_t first, std::span<float> out);

}  // namespace amphora::safetensors
