// Runs a plan: token ids in, hidden states and logits out. The arithmetic is all in kernels; the order of it
// is here.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "model/input_observer.h"
#include "model/kv_cache.h"
#include "model/plan.h"

namespace amphora::model {

/// Ids that are run together at most: enough to pay for unpacking the weights, few enough to stay in cache.
inline constexpr size_t kBlockTokens = 128;

/// Owns the activations between operations; they grow to the largest block and are then used again. Does not
/// check its input: ids are below the vocabulary and the cache has room.
class Decoder {
 public:
  Decoder(const Plan& plan, const kernels::Executor& executor) : plan_(plan), executor_(executor) {}

  /// Runs up to kBlockTokens ids at positions first_position … and stores their keys and values.
  /// `long_sequence` chooses the frequencies of LongRoPE.
  void run(std::span<const uint32_t> ids, size_t first_position, bool long_sequence, const KvCache& cache);
  /// Logits [count, vocabulary] after tokens first … of the last block.
  void logits(size_t first, size_t count, float* out);

  /// Shows `observer` every matrix's inputs from now on; null: nobody. It must outlive its use.
  void observe_inputs(InputObserver* observer) { observer_ = observer; }

  uint64_t scratch_bytes() const;

 private:
  void reserve(size_t tokens);
  void embed(std::span<const uint32_t> ids);
  void run_attention(const LayerPlan& layer, const kernels::KvView& kv, size_t tokens, size_t first_position);
  void run_ffn(const LayerPlan& layer, size_t tokens);
  /// Every product of the model: matrices that share their input.
  void multiply(std::span<const kernels::Product> products, const float* input, size_t tokens);
  void multiply(const Linear& linear, const float* input, size_t tokens, float* out);
  void normalise(const float* input, const std::vector<float>& weights, size_t rows, float* out);

  struct Rotation {
    size_t half = 0;
    std::vector<float> cosines, sines;  ///< [tokens, half]
  };
  void rotate(const Rotation& rotation, float* heads, size_t tokens, size_t count) const;
  static void turn(const RopeFrequencies& frequencies, size_t first_position, size_t tokens,
                   Rotation& rotation);

  const Plan& plan_;
  kernels::Executor executor_;
  InputObserver* observer_ = nullptr;
  kernels::Activations activations_;
  Rotation global_, local_;
  std::vector<float> state_;   ///< the residual stream [tokens, hidden]
  std::vector<float> normed_;  ///< [tokens, hidden]: a branch's input, then its output
  std::vector<float> queries_, keys_, values_, attended_, gate_, up_;
};

}  // namespace amphora::model
