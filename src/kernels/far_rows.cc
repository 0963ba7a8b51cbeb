// The walk over far-apart rows: which rows meet, and where their parts lie.
#include "kernels/far_rows.h"

#include <algorithm>

#include "base/byte_reader.h"

namespace amphora::kernels {
namespace {

template <DType kType, class Kernel>
void multiply_q4(Kernel kernel, const Matrix& weights, const size_t rows[4], const QuantisedToken& x,
                 float* products) {
  using Layout = FourBitLayout<kType>;
  const FourBitRow at[4] = {Layout::row(weights, rows[0]), Layout::row(weights, rows[1]),
                            Layout::row(weights, rows[2]), Layout::row(weights, rows[3])};
  kernel(at, weights.columns / kGroup, x, products);
}

/// Room for four unpacked rows.
struct UnpackedRows {
  AlignedBuffer<int8_t> codes;
  AlignedBuffer<float> scales;
};

void multiply_coded(const FourRowKernels& kernels, const quant::CodedRows& coded, const size_t rows[4],
                    const QuantisedToken& x, float* products) {
  static thread_local UnpackedRows room;
  room.codes.resize(4 * x.groups * kGroup);
  room.scales.resize(4 * x.groups);
  CodedRow unpacked[4];
  for (size_t r = 0; r < 4; ++r) {
    int8_t* const codes = room.codes.data() + r * x.groups * kGroup;
    float* const scales = room.scales.data() + r * x.groups;
    unpacked[r] = {codes, scales, coded.read(rows[r], codes, scales)};
    std::fill(codes + coded.groups() * kGroup, codes + x.groups * kGroup, int8_t{0});
    std::fill(scales + coded.groups(), scales + x.groups, 0.0f);
  }
  kernels.coded(unpacked, x, products);
}

void multiply_four(const FourRowKernels& kernels, const Matrix& weights, const size_t rows[4],
                   const QuantisedToken& x, float* products) {
  if (weights.coded) return multiply_coded(kernels, *weights.coded, rows, x, products);
  switch (weights.dtype) {
    case DType::kQ4Tiled: return multiply_q4<DType::kQ4Tiled>(kernels.q4_tiled, weights, rows, x, products);
    case DType::kQ4Block: return multiply_q4<DType::kQ4Block>(kernels.q4_block, weights, rows, x, products);
    default: break;
  }
  const std::byte* const codes = weights.payload.data();
  const std::byte* const scales = codes + weights.rows * weights.columns;
  const std::byte* at[4];
  uint64_t row_scales = 0;
  for (size_t r = 0; r < 4; ++r) {
    at[r] = codes + rows[r] * weights.columns;
    row_scales |= uint64_t{load_little_endian<uint16_t>(scales + rows[r] * 2)} << (16 * r);
  }
  kernels.q8(at, row_scales, weights.columns, x, products);
}

}  // namespace

void multiply_far_rows(const FourRowKernels& kernels, const Matrix& weights, const Rows& rows,
                       const Quantised& x, size_t token, float* out) {
  const QuantisedToken at_token = {x.codes_of(token), x.split_of(token), x.scales_of(token), x.sums_of(token),
                                   x.groups};
  FarRows far(rows);
  size_t four[4];
  float products[4];
  for (size_t i = 0; i < far.quarter(); ++i) {
    far.take(four);
    multiply_four(kernels, weights, four, at_token, products);
    for (size_t r = 0; r < 4; ++r) out[four[r]] = products[r];
  }
  if (far.rest() == 0) return;
  for (size_t r = 0; r < 4; ++r) four[r] = r < far.rest() ? far.take_rest() : four[r - 1];
  multiply_four(kernels, weights, four, at_token, products);
  for (size_t r = 0; r < far.rest(); ++r) out[four[r]] = products[r];
}

}  // namespace amphora::kernels
