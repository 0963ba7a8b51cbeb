// int8 products of the AVX2 variant.
#pragma once

#include "kernels/variant.h"

namespace amphora::kernels::avx2 {
extern const Int8Kernels kInt8Kernels;
}
