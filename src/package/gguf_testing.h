// A small GGUF model for tests: valid for each architecture, to be changed in one point.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/testing/gguf_builder.h"

namespace amphora::testing {

/// Two layers (seven for gemma3, whose sixth is global), width 8, 2 heads of 4, 1 key head, 6 tokens. Element
/// i of a tensor is its number in the file plus i / 64; norms are 1.5.
inline gguf::testing::GgufBuilder small_gguf(std::string_view architecture,
                                             std::string_view without_tensor = {}) {
  gguf::testing::GgufBuilder builder;
  const bool gemma = architecture == "gemma3";
  const uint32_t layers = gemma ? 7 : 2;
  const std::string a = std::string(architecture) + '.';
  builder.add_string("general.architecture", architecture);
  builder.add_u32(a + "block_count", layers)
      .add_u32(a + "context_length", 64)
      .add_u32(a + "embedding_length", 8);
  builder.add_u32(a + "feed_forward_length", 12).add_u32(a + "attention.head_count", 2);
  builder.add_u32(a + "attention.head_count_kv", 1).add_f32(a + "attention.layer_norm_rms_epsilon", 0x1p-20f);
  builder.add_u32(a + "attention.key_length", 4).add_f32(a + "rope.freq_base", 500000);
  if (gemma) builder.add_u32(a + "attention.sliding_window", 16);

  float number = 0;
  const auto add = [&](const std::string& name, std::vector<uint64_t> shape, bool norm = false) {
    if (name == without_tensor) return;
    uint64_t elements = 1;
    for (const uint64_t dimension : shape) elements *= dimension;
    std::vector<float> values(elements);
    for (size_t i = 0; i < values.size(); ++i) values[i] = norm ? 1.5f : number + static_cast<float>(i) / 64;
    builder.add_f32_tensor(name, {shape.rbegin(), shape.rend()}, values);
    ++number;
  };
  add("token_embd.weight", {6, 8});
  add("output_norm.weight", {8}, true);
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const std::string p = "blk." + std::to_string(layer) + '.';
    add(p + "attn_norm.weight", {8}, true);
    add(p + "attn_q.weight", {8, 8});
    add(p + "attn_k.weight", {4, 8});
    add(p + "attn_v.weight", {4, 8});
    add(p + "attn_output.weight", {8, 8});
    if (gemma || architecture == "qwen3") {
      add(p + "attn_q_norm.weight", {4}, true);
      add(p + "attn_k_norm.weight", {4}, true);
    }
    if (gemma) {
      add(p + "post_attention_norm.weight", {8}, true);
      add(p + "post_ffw_norm.weight", {8}, true);
    }
    add(p + "ffn_norm.weight", {8}, true);
    add(p + "ffn_gate.weight", {12, 8});
    add(p + "ffn_up.weight", {12, 8});
    add(p + "ffn_down.weight", {8, 12});
  }
  return builder;
}

}  // namespace amphora::testing
