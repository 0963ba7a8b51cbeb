// q8_2f: `i8[rows · columns]`, `f16[rows]`, `f16[columns]`; a weight is (code · row factor) · column factor.
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/byte_writer.h"
#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

std::optional<uint64_t> payload_bytes(Shape shape) {
  const auto codes = bytes_of_elements(shape, 1);
  const auto row_factors = checked_mul(shape[0], 2);
  const auto column_factors = checked_mul(shape[1], 2);
  if (!codes || !row_factors || !column_factors) return std::nullopt;
  const auto first_two = checked_add(*codes, *row_factors);
  return first_two ? checked_add(*first_two, *column_factors) : std::nullopt;
}

Status check_payload(Bytes payload, Shape shape) {
  const uint64_t codes = shape[0] * shape[1];
  AMPHORA_TRY(check_finite_halves(payload, codes, shape[0], 2, "row factor"));
  return check_finite_halves(payload, codes + 2 * shape[0], shape[1], 2, "column factor");
}

void decode(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  const uint64_t rows = shape[0], columns = shape[1];
  const uint64_t column_factors = rows * columns + 2 * rows;
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t row = (first + done) / columns;
    const uint64_t column = (first + done) % columns;
    const uint64_t count = std::min(columns - column, out.size() - done);
    const float row_factor = half_at(payload, rows * columns + 2 * row);
    const std::byte* codes = payload.data() + first + done;
    for (uint64_t i = 0; i < count; ++i)
      out[done + i] = (static_cast<float>(static_cast<int8_t>(codes[i])) * row_factor) *
                      half_at(payload, column_factors + 2 * (column + i));
    done += count;
  }
}

/// Root mean square of every column, in f64.
std::vector<double> column_amplitudes(std::span<const float> values, uint64_t rows, uint64_t columns) {
  std::vector<double> sums(columns, 0.0);
  for (uint64_t row = 0; row < rows; ++row)
    for (uint64_t i = 0; i < columns; ++i) {
      const double weight = values[row * columns + i];
      sums[i] += weight * weight;
    }
  for (double& sum : sums)
    sum = std::max(std::sqrt(rows == 0 ? 0.0 : sum / static_cast<double>(rows)), 1e-12);
  return sums;
}

Status encode(std::span<const float> values, Shape shape, const EncodeOptions&, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  const uint64_t rows = shape[0], columns = shape[1];
  const std::vector<double> amplitudes = column_amplitudes(values, rows, columns);
  std::vector<float> column_factors(columns);
  for (uint64_t i = 0; i < columns; ++i) {
    const auto half = scale_to_half(amplitudes[i]);
    if (!half) return scale_refusal(values.subspan(i), i, columns);
    store_little_endian(out.data() + rows * columns + 2 * rows + 2 * i, *half);
    column_factors[i] = half_to_float(*half);
  }
  std::vector<float> scaled(columns);
  for (uint64_t row = 0; row < rows; ++row) {
    const std::span<const float> weights = values.subspan(row * columns, columns);
    for (uint64_t i = 0; i < columns; ++i) scaled[i] = weights[i] / column_factors[i];
    const auto half = scale_to_half(largest_magnitude(scaled) / 127.0f);
    if (!half) return scale_refusal(weights, row * columns);
    store_little_endian(out.data() + rows * columns + 2 * row, *half);
    const float row_factor = half_to_float(*half);
    std::byte* codes = out.data() + row * columns;
    for (uint64_t i = 0; i < columns; ++i)
      codes[i] =
          static_cast<std::byte>(static_cast<int8_t>(clamp_and_round(scaled[i] / row_factor, -127, 127)));
  }
  return {};
}

}  // namespace

const Codec kQ82FCodec{.dtype = DType::kQ82F,
                       .name = "q8_2f",
                       .cli_name = "q8_2f",
                       .check_place = place_matrix,
                       .payload_bytes = payload_bytes,
                       .check_payload = check_payload,
                       .decode = decode,
                       .encode = encode};

}  // namespace amphora::quant
