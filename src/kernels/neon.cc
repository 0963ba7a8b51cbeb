// The NEON variant (with dot products): AArch64 processors since Cortex-A76 and Neoverse N1.
#include "kernels/lanes_neon.h"

#include <sys/auxv.h>

#include "kernels/variant.h"

#include "kernels/body/lane_kernels.h"
#include "kernels/neon_int8.h"

namespace amphora::kernels {

const Variant kNeon = {.name = "neon",
                       .runs_here = [] { return (::getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0; },
                       .int8 = &neon::kInt8Kernels,
                       .lanes = &neon::kLaneKernels};

}  // namespace amphora::kernels
