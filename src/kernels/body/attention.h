// One block of attention, and keys and values in and out of their cache types. Included after a lanes_*.h.
#pragma once

#include <cstddef>

#include "kernels/body/elementwise.h"
#include "kernels/body/halves.h"
#include "kernels/body/quantise.h"
#include "kernels/unroll.h"

namespace amphora::kernels::AMPHORA_VARIANT {

AMPHORA_TARGET inline void load_kv_q8(const std::byte* from, size_t width, float* out) {
  for (size_t first = 0; first < width; first += kGroup) {
    float scale = 0;
    std::memcpy(&scale, from + width + first / kGroup * sizeof scale, sizeof scale);
    const size_t end = width - first < kGroup ? width : first + kGroup;
    size_t at = first;
    for (; at + kLanes <= end; at += kLanes)
      store(out + at, mul(load_i8(reinterpret_cast<const int8_t*>(from) + at), broadcast(scale)));
    for (; at < end; ++at) out[at] = static_cast<float>(reinterpret_cast<const int8_t*>(from)[at]) * scale;
  }
}

AMPHORA_TARGET inline void load_kv(KvType type, const std::byte* from, size_t count, size_t width,
                                   float* out) {
  const size_t bytes = kv_bytes_per_position(type, width);
  switch (type) {
    case KvType::kF32: std::memcpy(out, from, count * bytes); break;
    case KvType::kF16: decode_halves(from, count * width, out); break;
    case KvType::kQ8:
      for (size_t i = 0; i < count; ++i) load_kv_q8(from + i * bytes, width, out + i * width);
      break;
  }
}

AMPHORA_TARGET inline void store_kv(KvType type, const float* from, size_t width, std::byte* out) {
  switch (type) {
    case KvType::kF32: std::memcpy(out, from, width * sizeof(float)); break;
    case KvType::kF16: {
      size_t at = 0;
      for (; at + kLanes <= width; at += kLanes) store_f16(out + at * 2, load(from + at));
      for (; at < width; ++at) {
        const uint16_t half = float_to_half(from[at]);
        std::memcpy(out + at * 2, &half, sizeof half);
      }
      break;
    }
    case KvType::kQ8:
      for (size_t first = 0; first < width; first += kGroup) {
        const size_t count = width - first < kGroup ? width - first : kGroup;
        int8_t codes[kGroup];
        float scale = 0;
        int32_t unused = 0;
        quantise(from + first, nullptr, count, 1, codes, &scale, &unused);
        std::memcpy(out + first, codes, count);
        std::memcpy(out + width + first / kGroup * sizeof scale, &scale, sizeof scale);
      }
      break;
  }
}

/// Lane l of a score sums dimensions l, l + 16, … in order.
template <size_t kHeads, size_t kKeys>
AMPHORA_INLINE void score_tile(const float* queries, const float* keys, size_t head_dim, float scale,
                               float* scores) {
  Lanes sums[kHeads][kKeys];
  AMPHORA_UNROLL
  for (size_t h = 0; h < kHeads; ++h) {
    AMPHORA_UNROLL
    for (size_t k = 0; k < kKeys; ++k) sums[h][k] = broadcast(0.0f);
  }
  size_t at = 0;
  for (; at + kLanes <= head_dim; at += kLanes) {
    Lanes key[kKeys];
    AMPHORA_UNROLL
    for (size_t k = 0; k < kKeys; ++k) key[k] = load(keys + k * head_dim + at);
    AMPHORA_UNROLL
    for (size_t h = 0; h < kHeads; ++h) {
      const Lanes query = load(queries + h * head_dim + at);
      AMPHORA_UNROLL
      for (size_t k = 0; k < kKeys; ++k) sums[h][k] = fma(query, key[k], sums[h][k]);
    }
  }
  if (const size_t rest = head_dim - at; rest != 0) {
    AMPHORA_UNROLL
    for (size_t h = 0; h < kHeads; ++h) {
      const Lanes query = load_first(queries + h * head_dim + at, rest);
      AMPHORA_UNROLL
      for (size_t k = 0; k < kKeys; ++k)
        sums[h][k] = fma(query, load_first(keys + k * head_dim + at, rest), sums[h][k]);
    }
  }
  AMPHORA_UNROLL
  for (size_t h = 0; h < kHeads; ++h) {
    AMPHORA_UNROLL
    for (size_t k = 0; k < kKeys; ++k) scores[h * kAttentionBlock + k] = sum(sums[h][k]) * scale;
  }
}

template <size_t kHeads>
AMPHORA_TARGET void scores_of_heads(const float* queries, const float* keys, size_t count, size_t head_dim,
                                    float scale, float* scores) {
  size_t at = 0;
  for (; at + kAttentionKeys <= count; at += kAttentionKeys)
    score_tile<kHeads, kAttentionKeys>(queries, keys + at * head_dim, head_dim, scale, scores + at);
  for (; at < count; ++at) score_tile<kHeads, 1>(queries, keys + at * head_dim, head_dim, scale, scores + at);
}

AMPHORA_TARGET inline void attention_scores(const float* queries, size_t heads, const float* keys,
                                            size_t count, size_t head_dim, float scale, float cap,
                                            float* scores) {
  size_t head = 0;
  for (; head + kAttentionHeads <= heads; head += kAttentionHeads)
    scores_of_heads<kAttentionHeads>(queries + head * head_dim, keys, count, head_dim, scale,
                                     scores + head * kAttentionBlock);
  for (; head < heads; ++head)
    scores_of_heads<1>(queries + head * head_dim, keys, count, head_dim, scale,
                       scores + head * kAttentionBlock);
  if (cap != 0)
    for (head = 0; head < heads; ++head) softcap(scores + head * kAttentionBlock, cap, count);
}

AMPHORA_TARGET inline void attention_weights(float* scores, size_t first, size_t last, float* maximum,
                                             float* total) {
  const float lowest = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < first; ++i) scores[i] = lowest;
  for (size_t i = last; i < kAttentionBlock; ++i) scores[i] = lowest;
  Lanes best = load(scores);
  for (size_t at = kLanes; at < kAttentionBlock; at += kLanes) best = max(best, load(scores + at));
  *maximum = largest(best);
  const Lanes shift = broadcast(*maximum);
  Lanes sums = broadcast(0.0f);
  for (size_t at = 0; at < kAttentionBlock; at += kLanes) {
    const Lanes weight = exp_of(sub(load(scores + at), shift));
    sums = add(sums, weight);
    store(scores + at, weight);
  }
  *total = sum(sums);
}

template <size_t kHeads, size_t kVectors>
AMPHORA_INLINE void value_tile(const float* weights, const float* values, size_t count, size_t value_dim,
                               float* out) {
  Lanes sums[kHeads][kVectors];
  AMPHORA_UNROLL
  for (size_t h = 0; h < kHeads; ++h) {
    AMPHORA_UNROLL
    for (size_t v = 0; v < kVectors; ++v) sums[h][v] = load(out + h * value_dim + v * kLanes);
  }
  for (size_t i = 0; i < count; ++i) {
    Lanes value[kVectors];
    AMPHORA_UNROLL
    for (size_t v = 0; v < kVectors; ++v) value[v] = load(values + i * value_dim + v * kLanes);
    AMPHORA_UNROLL
    for (size_t h = 0; h < kHeads; ++h) {
      const Lanes weight = broadcast(weights[h * kAttentionBlock + i]);
      AMPHORA_UNROLL
      for (size_t v = 0; v < kVectors; ++v) sums[h][v] = fma(weight, value[v], sums[h][v]);
    }
  }
  AMPHORA_UNROLL
  for (size_t h = 0; h < kHeads; ++h) {
    AMPHORA_UNROLL
    for (size_t v = 0; v < kVectors; ++v) store(out + h * value_dim + v * kLanes, sums[h][v]);
  }
}

template <size_t kHeads>
AMPHORA_TARGET void values_of_heads(const float* weights, const float* values, size_t count, size_t value_dim,
                                    float* out) {
  constexpr size_t kStep = kAttentionVectors * kLanes;
  size_t at = 0;
  for (; at + kStep <= value_dim; at += kStep)
    value_tile<kHeads, kAttentionVectors>(weights, values + at, count, value_dim, out + at);
  for (; at + kLanes <= value_dim; at += kLanes)
    value_tile<kHeads, 1>(weights, values + at, count, value_dim, out + at);
  if (const size_t rest = value_dim - at; rest != 0)
    for (size_t h = 0; h < kHeads; ++h) {
      Lanes sums = load_first(out + h * value_dim + at, rest);
      for (size_t i = 0; i < count; ++i)
        sums = fma(broadcast(weights[h * kAttentionBlock + i]), load_first(values + i * value_dim + at, rest),
                   sums);
      store_first(out + h * value_dim + at, sums, rest);
    }
}

AMPHORA_TARGET inline void attention_values(const float* weights, size_t heads, const float* values,
                                            size_t count, size_t value_dim, float* out) {
  size_t head = 0;
  for (; head + kAttentionHeads <= heads; head += kAttentionHeads)
    values_of_heads<kAttentionHeads>(weights + head * kAttentionBlock, values, count, value_dim,
                                     out + head * value_dim);
  for (; head < heads; ++head)
    values_of_heads<1>(weights + head * kAttentionBlock, values, count, value_dim, out + head * value_dim);
}

AMPHORA_TARGET inline void attention_merge(float* out, float old_factor, const float* block, float new_factor,
                                           size_t count) {
  const Lanes a = broadcast(old_factor), b = broadcast(new_factor);
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes)
    store(out + at, fma(load(block + at), b, mul(load(out + at), a)));
  if (const size_t rest = count - at; rest != 0)
    store_first(out + at, fma(load_first(block + at, rest), b, mul(load_first(out + at, rest), a)), rest);
}

}  // namespace amphora::kernels::AMPHORA_VARIANT
