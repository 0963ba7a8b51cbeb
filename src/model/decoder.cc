// Runs a plan: see decoder.h.
#include "model/decoder.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace amphora::model {

void Decoder::reserve(size_t tokens) {
  const auto grow = [tokens](std::vector<float>& buffer, size_t columns) {
    if (buffer.size() < tokens * columns) buffer.resize(tokens * columns);
  };
  grow(state_, plan_.hidden);
  grow(normed_, plan_.hidden);
  grow(queries_, plan_.most_heads * plan_.head_dim);
  grow(attended_, plan_.most_heads * plan_.head_dim);
  grow(keys_, plan_.kv_heads * plan_.head_dim);
  grow(values_, plan_.kv_heads * plan_.head_dim);
  grow(gate_, plan_.widest_ffn);
  grow(up_, plan_.widest_ffn);
}

uint64_t Decoder::scratch_bytes() const {
  uint64_t floats = 0;
  for (const auto* buffer : {&state_, &normed_, &queries_, &keys_, &values_, &attended_, &gate_, &up_,
                             &global_.cosines, &global_.sines, &local_.cosines, &local_.sines})
    floats += buffer->capacity();
  return floats * sizeof(float);
}

void Decoder::turn(const RopeFrequencies& frequencies, size_t first_position, size_t tokens,
                   Rotation& rotation) {
  rotation.half = frequencies.inverse.size();
  const size_t wanted = tokens * rotation.half;
  if (rotation.cosines.size() < wanted) {
    rotation.cosines.resize(wanted);
    rotation.sines.resize(wanted);
  }
  fill_rope(frequencies, first_position, tokens, rotation.cosines.data(), rotation.sines.data());
}

void Decoder::rotate(const Rotation& rotation, float* heads, size_t tokens, size_t count) const {
  kernels::rope(executor_, heads, tokens, count, plan_.head_dim, rotation.half, rotation.cosines.data(),
                rotation.sines.data());
}

void Decoder::normalise(const float* input, const std::vector<float>& weights, size_t rows, float* out) {
  kernels::rms_norm(executor_, input, weights.data(), rows, weights.size(), plan_.norm_eps,
                    plan_.norm_one_plus, out);
}

void Decoder::multiply(std::span<const kernels::Product> products, const float* input, size_t tokens) {
  if (observer_ != nullptr)
    for (const kernels::Product& product : products) observer_->observe(*product.weights, input, tokens);
  activations_.assign(executor_, input, tokens, products.front().weights->columns);
  kernels::matmul(executor_, products, activations_);
}

void Decoder::multiply(const Linear& linear, const float* input, size_t tokens, float* out) {
  const kernels::Product product{&linear.weights, out, linear.weights.rows};
  multiply({&product, 1}, input, tokens);
  if (!linear.bias.empty())
    kernels::add_bias(executor_, out, linear.bias.data(), tokens, linear.weights.rows);
}

void Decoder::embed(std::span<const uint32_t> ids) {
  for (size_t t = 0; t < ids.size(); ++t) {
    float* row = &state_[t * plan_.hidden];
    kernels::decode_row(plan_.embedding, ids[t], row);
    if (plan_.embedding_scale != 1)
      for (size_t i = 0; i < plan_.hidden; ++i) row[i] *= plan_.embedding_scale;
  }
}

void Decoder::run_attention(const LayerPlan& layer, const kernels::KvView& kv, size_t tokens,
                            size_t first_position) {
  normalise(state_.data(), layer.attention_norm, tokens, normed_.data());
  const std::array products{kernels::Product{&layer.q.weights, queries_.data(), layer.q.weights.rows},
                            kernels::Product{&layer.k.weights, keys_.data(), layer.k.weights.rows},
                            kernels::Product{&layer.v.weights, values_.data(), layer.v.weights.rows}};
  multiply(products, normed_.data(), tokens);
  if (!layer.q.bias.empty()) {
    kernels::add_bias(executor_, queries_.data(), layer.q.bias.data(), tokens, layer.q.weights.rows);
    kernels::add_bias(executor_, keys_.data(), layer.k.bias.data(), tokens, layer.k.weights.rows);
    kernels::add_bias(executor_, values_.data(), layer.v.bias.data(), tokens, layer.v.weights.rows);
  }
  if (!layer.q_norm.empty()) {
    normalise(queries_.data(), layer.q_norm, tokens * layer.heads, queries_.data());
    normalise(keys_.data(), layer.k_norm, tokens * plan_.kv_heads, keys_.data());
  }
  const Rotation& rotation = layer.local ? local_ : global_;
  rotate(rotation, queries_.data(), tokens, layer.heads);
  rotate(rotation, keys_.data(), tokens, plan_.kv_heads);
  kernels::kv_store(executor_, kv, first_position, tokens, keys_.data(), values_.data());

  kernels::AttentionArguments arguments;
  arguments.queries = queries_.data();
  arguments.tokens = tokens;
  arguments.heads = layer.heads;
  arguments.kv = kv;
  arguments.first_position = first_position;
  arguments.window = layer.local ? plan_.window : 0;
  arguments.scale = plan_.attention_scale;
  arguments.softcap = plan_.attention_softcap;
  arguments.out = attended_.data();
  kernels::attention(executor_, arguments);

  multiply(layer.o, attended_.data(), tokens, normed_.data());
  if (!layer.attention_output_norm.empty())
    normalise(normed_.data(), layer.attention_output_norm, tokens, normed_.data());
  kernels::add(executor_, state_.data(), normed_.data(), tokens * plan_.hidden);
}

void Decoder::run_ffn(const LayerPlan& layer, size_t tokens) {
  const size_t width = layer.gate.weights.rows;
  normalise(state_.data(), layer.ffn_norm, tokens, normed_.data());
  const std::array products{kernels::Product{&layer.gate.weights, gate_.data(), width},
                            kernels::Product{&layer.up.weights, up_.data(), width}};
  multiply(products, normed_.data(), tokens);
  if (!layer.gate.bias.empty())
    kernels::add_bias(executor_, gate_.data(), layer.gate.bias.data(), tokens, width);
  if (!layer.up.bias.empty()) kernels::add_bias(executor_, up_.data(), layer.up.bias.data(), tokens, width);
  switch (plan_.activation) {
    case Activation::kSilu:
      kernels::silu_multiply(executor_, gate_.data(), up_.data(), tokens * width);
      break;
    case Activation::kGeluTanh:
      kernels::gelu_tanh_multiply(executor_, gate_.data(), up_.data(), tokens * width);
      break;
  }
  multiply(layer.down, gate_.data(), tokens, normed_.data());
  if (!layer.ffn_output_norm.empty())
    normalise(normed_.data(), layer.ffn_output_norm, tokens, normed_.data());
  kernels::add(executor_, state_.data(), normed_.data(), tokens * plan_.hidden);
}

void Decoder::run(std::span<const uint32_t> ids, size_t first_position, bool long_sequence,
                  const KvCache& cache) {
  const size_t tokens = ids.size();
  reserve(tokens);
  const RopePlan& rope = plan_.rope;
  turn(long_sequence && rope.long_global ? *rope.long_global : rope.global, first_position, tokens, global_);
  if (plan_.window != 0)
    turn(long_sequence && rope.long_local ? *rope.long_local : rope.local, first_position, tokens, local_);
  embed(ids);
  for (size_t index = 0; index < plan_.layers.size(); ++index) {
    run_attention(plan_.layers[index], cache.layer(index), tokens, first_position);
    run_ffn(plan_.layers[index], tokens);
  }
}

void Decoder::logits(size_t first, size_t count, float* out) {
  normalise(&state_[first * plan_.hidden], plan_.final_norm, count, normed_.data());
  const kernels::Product product{&plan_.head, out, plan_.vocabulary};
  multiply({&product, 1}, normed_.data(), count);
  const float scale = plan_.logit_scale, softcap = plan_.logit_softcap;
  if (scale == 1 && softcap == 0) return;
  constexpr size_t kChunk = 4096;
  const size_t total = count * plan_.vocabulary;
  executor_.pool->run((total + kChunk - 1) / kChunk, [&](size_t chunk) {
    const size_t end = std::min(total, (chunk + 1) * kChunk);
    for (size_t i = chunk * kChunk; i < end; ++i) {
      out[i] *= scale;
      if (softcap != 0) out[i] = softcap * std::tanh(out[i] / softcap);
    }
  });
}

}  // namespace amphora::model
