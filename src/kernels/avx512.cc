// The AVX-512 variant (F, BW, VL, DQ, VNNI): x86-64 processors since Cascade Lake and Zen 4.
#include "kernels/lanes_avx512.h"

#include "kernels/variant.h"

#include "kernels/avx512_int8.h"
#include "kernels/body/lane_kernels.h"

namespace amphora::kernels {

const Variant kAvx512 = {.name = "avx512",
                         .runs_here =
                             [] {
                               return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                                      __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx512f") &&
                                      __builtin_cpu_supports("avx512bw") &&
                                      __builtin_cpu_supports("avx512vl") &&
                                      __builtin_cpu_supports("avx512dq") &&
                                      __builtin_cpu_supports("avx512vnni");
                             },
                         .int8 = &avx512::kInt8Kernels,
                         .lanes = &avx512::kLaneKernels};

}  // namespace amphora::kernels
