// A package in memory, with random f32 weights, for tests that need no files.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "amphora/package.h"
#include "base/testing/test_data.h"
#include "quant/codec.h"

namespace amphora::model::testing {

/// Starts as a Llama of two layers (hidden 64, 4 heads of 16 over 2 KV heads, FFN 96, vocabulary 80, untied
/// head). Change the specification or the tensors, then take the package.
class TinyPackage {
 public:
  TinyPackage() {
    spec.arch_name = "tiny";
    spec.hidden_size = 64;
    spec.intermediate_size = 96;
    spec.num_layers = 2;
    spec.num_attention_heads = 4;
    spec.num_kv_heads = 2;
    spec.head_dim = 16;
    spec.vocab_size = 80;
    spec.layer_types.assign(2, LayerType::kFullAttention);
    spec.rms_norm_eps = 1e-5;
    spec.max_position_embeddings = 400;
    spec.norm_style = NormStyle::kPlain;
    add("model.embed_tokens.weight", {80, 64});
    add("lm_head.weight", {80, 64});
    add("model.norm.weight", {64});
    for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
      add(layer + "input_layernorm.weight", {64});
      add(layer + "self_attn.q_proj.weight", {64, 64});
      add(layer + "self_attn.k_proj.weight", {32, 64});
      add(layer + "self_attn.v_proj.weight", {32, 64});
      add(layer + "self_attn.o_proj.weight", {64, 64});
      add(layer + "post_attention_layernorm.weight", {64});
      add(layer + "mlp.gate_proj.weight", {96, 64});
      add(layer + "mlp.up_proj.weight", {96, 64});
      add(layer + "mlp.down_proj.weight", {64, 96});
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

  /// Encodes every matrix in this type, as a conversion would.
  void quantise(DType dtype) { matrix_type_ = dtype; }

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
      package->owners.push_back(values);
      if (is_matrix && matrix_type_ != DType::kF32) {
        const quant::Codec* codec = quant::find_codec(matrix_type_);
        auto payload = std::make_shared<ByteVector>(codec->payload_bytes(shape).value());
        if (!codec->encode(*values, shape, {}, *payload)) std::abort();
        tensor.dtype = matrix_type_;
        tensor.stored = *payload;
        package->owners.push_back(payload);
      }
      if (const auto type = types_.find(name); type != types_.end()) {
        tensor.stored_type = type->second.first;
        tensor.dtype = type->second.second;
      }
      package->tensors.push_back(std::move(tensor));
    }
    return package;
  }

  ModelSpec spec;

 private:
  std::map<std::string, std::vector<uint64_t>> shapes_;
  std::map<std::string, std::pair<std::string, std::optional<DType>>> types_;
  DType matrix_type_ = DType::kF32;
};

}  // namespace amphora::model::testing
