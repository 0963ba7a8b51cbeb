// q8_row: `i8[rows · columns]`, `f16[rows]`; a weight is code · scale of its row.
#include <algorithm>

#include "base/byte_writer.h"
#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

std::optional<uint64_t> payload_bytes(Shape shape) {
  const auto codes = bytes_of_elements(shape, 1);
  const auto scales = checked_mul(shape[0], 2);
  return codes && scales ? checked_add(*codes, *scales) : std::nullopt;
}

Status check_payload(Bytes payload, Shape shape) {
  return check_finite_halves(payload, shape[0] * shape[1], shape[0], 2, "row scale");
}

void decode(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  const uint64_t rows = shape[0], columns = shape[1];
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t row = (first + done) / columns;
    const uint64_t count = std::min((row + 1) * columns - (first + done), out.size() - done);
    const float scale = half_at(payload, rows * columns + 2 * row);
    const std::byte* codes = payload.data() + first + done;
    for (uint64_t i = 0; i < count; ++i)
      out[done + i] = static_cast<float>(static_cast<int8_t>(codes[i])) * scale;
    done += count;
  }
}

Status encode(std::span<const float> values, Shape shape, const EncodeOptions&, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  const uint64_t rows = shape[0], columns = shape[1];
  for (uint64_t row = 0; row < rows; ++row) {
    const std::span<const float> weights = values.subspan(row * columns, columns);
    const auto half = scale_to_half(largest_magnitude(weights) / 127.0f);
    if (!half) return scale_refusal(weights, row * columns);
    store_little_endian(out.data() + rows * columns + 2 * row, *half);
    const float scale = half_to_float(*half);
    std::byte* codes = out.data() + row * columns;
    for (uint64_t i = 0; i < columns; ++i)
      codes[i] = static_cast<std::byte>(static_cast<int8_t>(clamp_and_round(weights[i] / scale, -128, 127)));
  }
  return {};
}

}  // namespace

const Codec kQ8RowCodec{
    .dtype = DType::kQ8Row,
    .name = "q8_row",
    .cli_name = "q8",
    .check_place = place_matrix,
    .payload_bytes = payload_bytes,
    .check_payload = check_payload,
    .decode = decode,
    .encode = encode,
    .row_parts = [](uint64_t columns) -> std::optional<RowParts> { return RowParts{columns, 2}; }};

}  // namespace amphora::quant
