// A package in memory, with random f32 weights, for tests that need no files.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "amphora/package.h"
#include "base/testing/test_data.h"

namespace amphora::model::testing {

/// Starts as a Llama of two layers (hidden 32, 4 heads of 8 over 2 KV heads, FFN 48, vocabulary 64, untied
/// head). Change the specification or the tensors, then take the package.
class TinyPackage {
 public:
  TinyPackage() {
    spec.arch_name = "tiny";
    spec.hidden_size = 32;
    spec.intermediate_size = 48;
    spec.num_layers = 2;
    spec.num_attention_heads = 4;
    spec.num_kv_heads = 2;
    spec.head_dim = 8;
    spec.vocab_size = 64;
    spec.layer_types.assign(2, LayerType::kFullAttention);
    spec.rms_norm_eps = 1e-5;
    spec.max_position_embeddings = 400;
    spec.norm_style = NormStyle::kPlain;
    add("model.embed_tokens.weight", {64, 32});
    add("lm_head.weight", {64, 32});
    add("model.norm.weight", {32});
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
      add(layer + "input_layernorm.weight", {32});
      add(layer + "self_attn.q_proj.weight", {32, 32});
      add(layer + "self_attn.k_proj.weight", {16, 32});
      add(layer + "self_attn.v_proj.weight", {16, 32});
      add(layer + "self_attn.o_proj.weight", {32, 32});
      add(layer + "post_attention_layernorm.weight", {32});
      add(layer + "mlp.gate_proj.weight", {48, 32});
      add(layer + "mlp.up_proj.weight", {48, 32});
      add(layer + "mlp.down_proj.weight", {32, 48});
    }
  }

  void add(const std::string& name, std::vector<uint64_t> shape) { shapes_[name] = std::move(shape); }
  void remove(const std::string& name) { shapes_.erase(name); }
  void rename(const std::string& name, const std::string& new_name) {
    shapes_[new_name] = shapes_.at(name);
    shapes_.erase(name);
  }
  /// The tensor's type as a container would tell it; without a dtype it is one that only decodes.
  void store_as(const std::string& name, std::string stored_type, std::optional<DType> dtype) {
    types_[name] = {std::move(stored_type), dtype};
  }

  std::shared_ptr<const Package> take() const {
    auto package = std::make_shared<Package>();
    package->path = "tiny.cmf";
    package->spec = spec;
    uint64_t seed = 1;
    for (const auto& [name, shape] : shapes_) {
      PackageTensor tensor;
      tensor.name = name;
      tensor.shape = shape;
      tensor.stored_type = "f32";
      tensor.dtype = DType::kF32;
      const bool is_matrix = shape.size() == 2;
      auto values = std::make_shared<std::vector<float>>(amphora::testing::random_floats(
          seed++, tensor.elements(), is_matrix ? 1.5f / std::sqrt(static_cast<float>(shape[1])) : 1.0f));
      tensor.stored = std::as_bytes(std::span(*values));
      tensor.read = [values](uint64_t first, std::span<float> out) -> Status {
        std::copy_n(values->begin() + static_cast<ptrdiff_t>(first), out.size(), out.begin());
        return {};
      };
      if (const auto type = types_.find(name); type != types_.end()) {
        tensor.stored_type = type->second.first;
        tensor.dtype = type->second.second;
      }
      package->owners.push_back(values);
      package->tensors.push_back(std::move(tensor));
    }
    return package;
  }

  ModelSpec spec;

 private:
  std::map<std::string, std::vector<uint64_t>> shapes_;
  std::map<std::string, std::pair<std::string, std::optional<DType>>> types_;
};

}  // namespace amphora::model::testing
