// A small GGUF model for tests: valid for each architecture, to be changed in one point.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/testing/test_data.h"
#include "formats/gguf/testing/gguf_builder.h"
#include "package/gguf_architectures.h"
#include "package/gguf_package.h"

namespace amphora::testing {

/// Puts a small model together: width 8, 2 heads of 4, 1 key head, 6 tokens; two layers (seven for gemma3,
/// whose sixth is global). Latent attention: ranks 5 and 6, 4 dimensions that turn, 2 that do not, values of
/// 3. Gated DeltaNet in the first layer: 2 key heads of 2, 4 value heads of 3, 3 taps. Mixtures: 3 experts of
/// 5 neurons, 2 chosen, a shared one of 5 where the family has one. Element i of a tensor is its number in
/// the file plus i / 64; norms are 1.5; ssm_a is negative.
class SmallGguf {
 public:
  SmallGguf(std::string_view architecture, const std::vector<std::string>& without_tensors)
      : architecture_(*package::find_gguf_architecture(architecture)), without_(without_tensors) {
    add_keys();
    add("token_embd.weight", {6, 8});
    add_norm("output_norm.weight", 8);
    for (uint32_t layer = 0; layer < layers(); ++layer) add_layer(layer);
  }

  gguf::testing::GgufBuilder builder;

 private:
  bool is(std::string_view name) const { return architecture_.name == name; }
  uint32_t layers() const { return is("gemma3") ? 7 : 2; }
  bool latent() const { return architecture_.mixer == package::GgufMixer::kLatent; }
  bool delta() const { return package::has_delta_layers(architecture_); }
  /// Families whose first layer is dense, and that say so.
  bool leading_dense() const { return is("deepseek2") || is("glm4moe"); }
  bool mixtures() const {
    return architecture_.mixture != nullptr && (architecture_.mixture->required || leading_dense());
  }

  void add_keys() {
    const std::string a = std::string(architecture_.name) + '.';
    builder.add_string("general.architecture", architecture_.name);
    builder.add_u32(a + "block_count", layers())
        .add_u32(a + "context_length", 64)
        .add_u32(a + "embedding_length", 8);
    builder.add_u32(a + "feed_forward_length", 12).add_u32(a + "attention.head_count", 2);
    builder.add_u32(a + "attention.head_count_kv", 1)
        .add_f32(a + "attention.layer_norm_rms_epsilon", 0x1p-20f);
    builder.add_f32(a + "rope.freq_base", 500000);
    if (latent())
      builder.add_u32(a + "attention.q_lora_rank", 5)
          .add_u32(a + "attention.kv_lora_rank", 6)
          .add_u32(a + "attention.key_length", 10)
          .add_u32(a + "attention.value_length", 6)
          .add_u32(a + "attention.key_length_mla", 6)
          .add_u32(a + "attention.value_length_mla", 3)
          .add_u32(a + "rope.dimension_count", 4);
    else
      builder.add_u32(a + "attention.key_length", 4);
    if (architecture_.gemma != nullptr) builder.add_u32(a + "attention.sliding_window", 16);
    if (delta())
      builder.add_u32(a + "ssm.conv_kernel", 3)
          .add_u32(a + "ssm.state_size", 2)
          .add_u32(a + "ssm.group_count", 2)
          .add_u32(a + "ssm.time_step_rank", 4)
          .add_u32(a + "ssm.inner_size", 12)
          .add_u32(a + "full_attention_interval", 2);
    if (!mixtures()) return;
    builder.add_u32(a + "expert_count", 3).add_u32(a + "expert_used_count", 2);
    builder.add_u32(a + "expert_feed_forward_length", 5);
    if (leading_dense())
      builder.add_u32(a + "expert_shared_count", 1).add_u32(a + "leading_dense_block_count", 1);
    else if (!is("qwen3moe"))
      builder.add_u32(a + "expert_shared_feed_forward_length", 5);
  }

  void add_layer(uint32_t layer) {
    prefix_ = "blk." + std::to_string(layer) + '.';
    if (architecture_.norms != package::GgufNorms::kAfter) add_norm("attn_norm.weight", 8);
    if (latent())
      add_latent_attention();
    else if (delta() && layer == 0)
      add_delta_net();
    else
      add_attention();
    add_other_norms();
    if (mixtures() && !(leading_dense() && layer == 0))
      add_mixture();
    else
      add_dense();
    prefix_.clear();
  }

  void add_other_norms() {
    const package::GgufNorms norms = architecture_.norms;
    if (norms != package::GgufNorms::kBefore) add_norm("post_attention_norm.weight", 8);
    if (norms == package::GgufNorms::kSandwich || norms == package::GgufNorms::kAfter)
      add_norm("post_ffw_norm.weight", 8);
    if (norms == package::GgufNorms::kBefore || norms == package::GgufNorms::kSandwich)
      add_norm("ffn_norm.weight", 8);
  }

  void add_attention() {
    if (is("phi3")) {
      add("attn_qkv.weight", {16, 8});
    } else {
      add("attn_q.weight", {delta() ? 16u : 8u, 8});
      add("attn_k.weight", {4, 8});
      add("attn_v.weight", {4, 8});
    }
    add("attn_output.weight", {8, 8});
    if (is("olmo2")) {
      add_norm("attn_q_norm.weight", 8);
      add_norm("attn_k_norm.weight", 4);
    } else if (is("gemma3") || is("qwen3") || is("qwen3moe") || delta()) {
      add_norm("attn_q_norm.weight", 4);
      add_norm("attn_k_norm.weight", 4);
    }
  }

  void add_latent_attention() {
    add("attn_q_a.weight", {5, 8});
    add_norm("attn_q_a_norm.weight", 5);
    add("attn_q_b.weight", {12, 5});
    add("attn_kv_a_mqa.weight", {10, 8});
    add_norm("attn_kv_a_norm.weight", 6);
    add("attn_k_b.weight", {2, 6, 2});
    add("attn_v_b.weight", {2, 3, 6});
    add("attn_output.weight", {8, 6});
  }

  void add_delta_net() {
    add("attn_qkv.weight", {20, 8});
    add("attn_gate.weight", {12, 8});
    if (architecture_.mixer == package::GgufMixer::kGroupedDelta) {
      add("ssm_ba.weight", {8, 8});
    } else {
      add("ssm_beta.weight", {4, 8});
      add("ssm_alpha.weight", {4, 8});
    }
    add("ssm_a", {4}, [](size_t i) { return -1 - static_cast<float>(i) / 64; });
    add("ssm_dt.bias", {4});
    add("ssm_conv1d.weight", {20, 3});
    add_norm("ssm_norm.weight", 3);
    add("ssm_out.weight", {8, 12});
  }

  void add_dense() {
    if (!is("phi3")) add("ffn_gate.weight", {12, 8});
    add("ffn_up.weight", {is("phi3") ? 24u : 12u, 8});
    add("ffn_down.weight", {8, 12});
  }

  void add_mixture() {
    add("ffn_gate_inp.weight", {3, 8});
    if (leading_dense()) add("exp_probs_b.bias", {3});
    add("ffn_gate_exps.weight", {3, 5, 8});
    add("ffn_up_exps.weight", {3, 5, 8});
    add("ffn_down_exps.weight", {3, 8, 5});
    if (is("qwen3moe")) return;
    if (!leading_dense()) add("ffn_gate_inp_shexp.weight", {8});
    add("ffn_gate_shexp.weight", {5, 8});
    add("ffn_up_shexp.weight", {5, 8});
    add("ffn_down_shexp.weight", {8, 5});
  }

  template <class Value>
  void add(const std::string& suffix, const std::vector<uint64_t>& shape, const Value& value_at) {
    const std::string name = prefix_ + suffix;
    if (std::ranges::find(without_, name) != without_.end()) return;
    uint64_t elements = 1;
    for (const uint64_t dimension : shape) elements *= dimension;
    std::vector<float> values(elements);
    for (size_t i = 0; i < values.size(); ++i) values[i] = value_at(i);
    builder.add_f32_tensor(name, {shape.rbegin(), shape.rend()}, values);
  }
  void add(const std::string& suffix, const std::vector<uint64_t>& shape) {
    const auto number = static_cast<float>(builder.tensors.size());
    add(suffix, shape, [number](size_t i) { return number + static_cast<float>(i) / 64; });
  }
  void add_norm(const std::string& suffix, uint64_t count) {
    add(suffix, {count}, [](size_t) { return 1.5f; });
  }

  const package::GgufArchitecture& architecture_;
  const std::vector<std::string>& without_;
  std::string prefix_;
};

inline gguf::testing::GgufBuilder small_gguf(std::string_view architecture,
                                             const std::vector<std::string>& without_tensors = {}) {
  return SmallGguf(architecture, without_tensors).builder;
}

/// The file as a package.
inline Result<std::shared_ptr<const Package>> open_gguf(const gguf::testing::GgufBuilder& builder) {
  const TemporaryFolder folder;  // the mapping outlives the name
  EXPECT_TRUE(write_file(folder / "model.gguf", as_bytes(builder.file())));
  return open_gguf_package(folder / "model.gguf");
}

}  // namespace amphora::testing
