// Checkpoints whose matrices are 8-bit floating-point numbers with a scale for each block (DeepSeek-V3,
// Qwen3-FP8).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "amphora/package.h"
#include "amphora/result.h"
#include "package/object_reader.h"

namespace amphora::package {

/// The size of a block; the last one of a row or column of blocks may be cut short.
struct Fp8Blocks {
  uint32_t rows = 128, columns = 128;
};

/// Reads `quantization_config`. Empty if there is none. Any method but fp8 with scaled blocks is
/// kUnsupported, by name: the tensors would not be what their names say.
Result<std::optional<Fp8Blocks>> read_quantisation(ObjectReader& config);

/// Whether a tensor holds the scales of another: it is called as that one with `_scale_inv` behind.
bool is_fp8_scale(std::string_view name);

/// Makes every matrix that has scales the product of its numbers with them, in f32 (transformers,
/// Fp8Dequantize), and takes the scales away. `provenance.origin` becomes "fp8" if there was any. Scales that
/// have no matrix or another shape, and 8-bit matrices that have none, are refused.
Status dequantise_fp8(const Fp8Blocks& blocks, Package& package);

}  // namespace amphora::package
