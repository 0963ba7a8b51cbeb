// What tests of several element types need: payloads as numbers, encoding and decoding of whole tensors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "quant/codec.h"
#include "quant/vbit_codes.h"

namespace amphora::quant::testing {

using Dimensions = std::vector<uint64_t>;

inline ByteVector bytes_of(std::initializer_list<int> values) {
  ByteVector bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

inline std::vector<int> numbers_of(Bytes bytes) {
  std::vector<int> numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<int>(byte));
  return numbers;
}

inline std::vector<float> decode_range(DType dtype, Bytes payload, const Dimensions& shape, uint64_t first,
                                       uint64_t count) {
  std::vector<float> values(count);
  find_codec(dtype)->decode(payload, shape, first, values);
  return values;
}

inline std::vector<float> decode_all(DType dtype, Bytes payload, const Dimensions& shape) {
  return decode_range(dtype, payload, shape, 0, *element_count(shape));
}

inline Result<ByteVector> encode_all(DType dtype, std::span<const float> values, const Dimensions& shape,
                                     const EncodeOptions& options = {}) {
  const Codec& codec = *find_codec(dtype);
  ByteVector payload(encoded_bytes(codec, shape, options).value_or(0));
  AMPHORA_TRY(codec.encode(values, shape, options, payload));
  return payload;
}

/// 4, 5, 6, 8, 3, 4 …: every width that the format has, one row after another.
inline std::vector<uint8_t> widths_in_turn(uint64_t rows) {
  std::vector<uint8_t> widths;
  for (uint64_t row = 0; row < rows; ++row) widths.push_back(kVbitWidths[(row + 1) % kVbitWidths.size()]);
  return widths;
}

}  // namespace amphora::quant::testing
