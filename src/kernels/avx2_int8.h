// int8 products of the AVX2 variant.
#pragma once

#include "kernels/variant.h"

#include "kernels/far_rows.h"

namespace amphora::kernels::avx2 {

extern const Int8Kernels kInt8Kernels;

/// Products of coded rows, for the AVX-512 variant too.
void multiply_coded_rows(const CodedRow rows[4], size_t groups, const QuantisedToken& x, float products[4]);
void multiply_coded_tiles(const Matrix& weights, const Rows& rows, const Quantised& x, float* out,
                          size_t out_stride);

}  // namespace amphora::kernels::avx2
