// int8 products of the AVX-512 variant.
#pragma once

#include "kernels/variant.h"

namespace amphora::kernels::avx512 {
extern const Int8Kernels kInt8Kernels;
}
