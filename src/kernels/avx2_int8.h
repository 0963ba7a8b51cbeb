// int8 products of the AVX2 variant.
#pragma once

#include "kernels/far_rows.h"
#include "kernels/variant.h"

namespace amphora::kernels::avx2 {

extern const Int8Kernels kInt8Kernels;

/// Products of coded rows, for the AVX-512 variant too.
void multiply_coded_rows(const CodedRow rows[4], const QuantisedToken& x, float products[4]);
void multiply_coded_tiles(const Matrix& weights, const Rows& rows, const Quantised& x, float* out,
                          size_t out_stride);

}  // namespace amphora::kernels::avx2
