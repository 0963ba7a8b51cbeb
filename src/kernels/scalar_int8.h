// int8 products of the scalar variant.
#pragma once

#include "kernels/variant.h"

namespace amphora::kernels::scalar {
extern const Int8Kernels kInt8Kernels;
}
