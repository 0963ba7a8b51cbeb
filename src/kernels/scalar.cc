// The scalar variant: the truth that the others are judged by. Runs everywhere.
#include "kernels/lanes_scalar.h"

#include "kernels/variant.h"

#include "kernels/body/lane_kernels.h"
#include "kernels/scalar_int8.h"

namespace amphora::kernels {

const Variant kScalar = {.name = "scalar",
                         .runs_here = [] { return true; },
                         .int8 = &scalar::kInt8Kernels,
                         .lanes = &scalar::kLaneKernels};

}  // namespace amphora::kernels
