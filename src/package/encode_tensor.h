// Payloads of planned tensors, a slice of rows at a time where a type's rows do not depend on each other.
#pragma once

#include <cstdint>

#include "amphora/bytes.h"
#include "package/quant_plan.h"
#include "quant/codec.h"

namespace amphora::package {

/// How many slices a tensor is encoded in: their number depends on its type and shape alone.
uint64_t count_slices(const PlannedTensor& planned);

/// Encodes one slice into its places in `payload`, which is the whole tensor's; several threads may encode
/// several slices of one payload. Refusals name the tensor and, of tensors in one slice, the flat index.
Status encode_slice(const PlannedTensor& planned, quant::Encoder encoder, uint64_t slice,
                    MutableBytes payload);

/// Encodes all of a tensor at once.
Status encode_whole(const PlannedTensor& planned, quant::Encoder encoder, MutableBytes payload);

}  // namespace amphora::package
