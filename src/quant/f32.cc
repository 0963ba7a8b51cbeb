// f32: little-endian binary32.
#include <bit>
#include <cstring>

#include "base/byte_writer.h"
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

std::optional<uint64_t> payload_bytes(Shape shape) { return bytes_of_elements(shape, 4); }

void decode(Bytes payload, Shape, uint64_t first, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::bit_cast<float>(load_little_endian<uint32_t>(payload.data() + 4 * (first + i)));
}

Status encode(std::span<const float> values, Shape, const EncodeOptions&, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  for (size_t i = 0; i < values.size(); ++i)
    store_little_endian(out.data() + 4 * i, std::bit_cast<uint32_t>(values[i]));
  return {};
}

}  // namespace

const Codec kF32Codec{
    .dtype = DType::kF32,
    .name = "f32",
    .cli_name = "f32",
    .check_place = place_anywhere,
    .payload_bytes = payload_bytes,
    .decode = decode,
    .encode = encode,
    .row_parts = [](uint64_t columns) -> std::optional<RowParts> { return RowParts{4 * columns}; }};

}  // namespace amphora::quant
