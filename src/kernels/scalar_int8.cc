// int8 products, kept plain: the definition of their arithmetic.
//
// A group's integer product is exact. Groups are summed in f32 in four chains, group mod 4, each in order and
// each step fused; rows are filled up with zero groups to a multiple of four. The row's scale comes last.
#include "kernels/scalar_int8.h"

#include <cmath>
#include <limits>
#include <vector>

#include "base/byte_reader.h"
#include "base/half.h"

namespace amphora::kernels::scalar {
namespace {

float half_at(const std::byte* at) { return half_to_float(load_little_endian<uint16_t>(at)); }

/// One row of weights: a code per column, and either one scale per group or one for the row.
struct Row {
  std::vector<int8_t> codes;
  std::vector<float> group_scales;  ///< empty: no scale per group
  float scale = 1;
  int32_t offset = 0;  ///< that is added to every code

  Row(const Matrix& weights, size_t row, size_t groups) : codes(groups * kGroup) {
    const std::byte* payload = weights.payload.data();
    const size_t columns = weights.columns, weight_groups = columns / kGroup;
    if (weights.coded) {
      group_scales.resize(groups);
      offset = weights.coded->read(row, codes.data(), group_scales.data());
      return;
    }
    switch (weights.dtype) {
      case DType::kQ8Row:
      case DType::kQ82F:
        std::memcpy(codes.data(), payload + row * columns, columns);
        scale = half_at(payload + weights.rows * columns + row * 2);
        break;
      case DType::kQ4Tiled: {
        group_scales.resize(groups);
        for (size_t group = 0; group < weight_groups; ++group) {
          const std::byte* tile = payload + (row * weight_groups + group) * 18;
          group_scales[group] = half_at(tile);
          unpack(tile + 2, group);
        }
        break;
      }
      case DType::kQ4Block: {
        group_scales.resize(groups);
        const std::byte* scales = payload + weights.rows * weight_groups * 16;
        for (size_t group = 0; group < weight_groups; ++group) {
          group_scales[group] = half_at(scales + (row * weight_groups + group) * 2);
          unpack(payload + (row * weight_groups + group) * 16, group);
        }
        break;
      }
      default: break;
    }
  }

  void unpack(const std::byte* nibbles, size_t group) {
    for (size_t i = 0; i < kGroup; ++i) {
      const int byte = std::to_integer<int>(nibbles[i / 2]);
      codes[group * kGroup + i] = static_cast<int8_t>((i % 2 == 0 ? byte & 15 : byte >> 4) - 8);
    }
  }
};

int32_t group_product(const int8_t* a, const int8_t* b) {
  int32_t product = 0;
  for (size_t i = 0; i < kGroup; ++i) product += a[i] * b[i];
  return product;
}

void multiply_row(const Matrix& weights, const Rows& rows, const Quantised& x, size_t token, float* out) {
  const int8_t* codes = x.codes_of(token);
  const float* scales = x.scales_of(token);
  const int32_t* sums = x.sums_of(token);
  RowCursor at = rows.first;
  for (size_t i = 0; i < rows.count; ++i) {
    const size_t r = at.take();
    const Row row(weights, r, x.groups);
    float chains[kChains] = {};
    for (size_t group = 0; group < x.groups; ++group) {
      const int32_t product =
          group_product(&row.codes[group * kGroup], codes + group * kGroup) + row.offset * sums[group];
      const float scale = row.group_scales.empty() ? scales[group] : row.group_scales[group] * scales[group];
      float& chain = chains[group % kChains];
      chain = std::fma(static_cast<float>(product), scale, chain);
    }
    out[r] = ((chains[0] + chains[2]) + (chains[1] + chains[3])) * row.scale;
  }
}

}  // namespace

const Int8Kernels kInt8Kernels = {.least_tiled_tokens = std::numeric_limits<size_t>::max(),
                                  .multiply_row = multiply_row,
                                  .multiply_tiles = nullptr,
                                  .packed = nullptr};

}  // namespace amphora::kernels::scalar
