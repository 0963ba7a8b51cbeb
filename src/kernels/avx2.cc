// The AVX2 variant (with FMA and F16C): x86-64 processors since Haswell and Zen.
#include "kernels/lanes_avx2.h"

#include "kernels/variant.h"

#include "kernels/avx2_int8.h"
#include "kernels/body/lane_kernels.h"

namespace amphora::kernels {

const Variant kAvx2 = {.name = "avx2",
                       .runs_here =
                           [] {
                             return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                    __builtin_cpu_supports("f16c");
                           },
                       .int8 = &avx2::kInt8Kernels,
                       .lanes = &avx2::kLaneKernels};

}  // namespace amphora::kernels
