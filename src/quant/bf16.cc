// bf16: the upper half of a little-endian binary32.
#include "base/byte_writer.h"
#include "base/half.h"
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

std::optional<uint64_t> payload_bytes(Shape shape) { return bytes_of_elements(shape, 2); }

void decode(Bytes payload, Shape, uint64_t first, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i) out[i] = bfloat16_to_float(half_bits_at(payload, 2 * (first + i)));
}

Status encode(std::span<const float> values, Shape, const EncodeOptions&, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  for (size_t i = 0; i < values.size(); ++i) {
    const uint16_t half = float_to_bfloat16(values[i]);
    if ((half & 0x7F80u) == 0x7F80u)
      return fail(Fault::kRefused, "the value at flat index " + std::to_string(i) + " does not fit bf16");
    store_little_endian(out.data() + 2 * i, half);
  }
  return {};
}

}  // namespace

const Codec kBF16Codec{
    .dtype = DType::kBF16,
    .name = "bf16",
    .cli_name = "bf16",
    .check_place = place_anywhere,
    .payload_bytes = payload_bytes,
    .decode = decode,
    .encode = encode,
    .row_parts = [](uint64_t columns) -> std::optional<RowParts> { return RowParts{2 * columns}; }};

}  // namespace amphora::quant
