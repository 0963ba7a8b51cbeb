// int8 products of the NEON variant.
#pragma once

#include "kernels/variant.h"

namespace amphora::kernels::neon {
extern const Int8Kernels kInt8Kernels;
}
