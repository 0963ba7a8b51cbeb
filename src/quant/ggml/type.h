// The element types of ggml, as GGUF files store them: block sizes, and decoding to the exact f32 that ggml
// defines.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "amphora/bytes.h"
#include "amphora/result.h"

namespace amphora::quant::ggml {

/// One type: a tensor is a sequence of blocks of equal size, none of which crosses a row.
struct Type {
  uint32_t id;              ///< as it stands in a GGUF tensor record
  std::string_view name;    ///< as ggml spells it: "Q4_K"
  uint32_t block_elements;  ///< 1 for plain types
  uint32_t block_bytes;
  /// Decodes `count` blocks to count · block_elements values. Null for types that are known but not decoded
  /// here.
  void (*decode)(const std::byte* blocks, size_t count, float* out);

  bool can_decode() const { return decode != nullptr; }
};

/// The largest block_elements of all types.
inline constexpr uint32_t kMaxBlockElements = 256;

/// All known types, in id order.
std::span<const Type> types();
/// By id, or null.
const Type* find_type(uint32_t id);
/// By ggml's name, or null.
const Type* find_type(std::string_view name);

/// Decodes elements [first, first + out.size()) of a tensor's data, which may start and end inside a block. A
/// type that is not decoded here is kUnsupported; a range beyond the data is kUsage.
Status decode_elements(const Type& type, Bytes data, uint64_t first, std::span<float> out);

}  // namespace amphora::quant::ggml
