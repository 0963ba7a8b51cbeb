// The block decoders behind the table of ggml types. Each decodes `count` whole blocks.
#pragma once

#include <cstddef>

namespace amphora::quant::ggml {

using DecodeBlocks = void(const std::byte* blocks, size_t count, float* out);

// plain_blocks.cc: a block is one number
DecodeBlocks decode_f32, decode_f16, decode_bf16, decode_f64, decode_i8, decode_i16, decode_i32;
// legacy_blocks.cc: 32 elements, one scale and at most one offset
DecodeBlocks decode_q4_0, decode_q4_1, decode_q5_0, decode_q5_1, decode_q8_0;
// k_blocks.cc: 256 elements in groups whose scales are quantised themselves
DecodeBlocks decode_q2_k, decode_q3_k, decode_q4_k, decode_q5_k, decode_q6_k, decode_q8_k;
// iq4_blocks.cc: four-bit indices into a table of unevenly spaced values
DecodeBlocks decode_iq4_nl, decode_iq4_xs;

}  // namespace amphora::quant::ggml
