// Chooses the next token from logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "amphora/session.h"

namespace amphora::engine {

/// e^x for x <= 0, from additions and multiplications in a fixed order: the same bits on every machine,
/// within 1e-15 of the true value relative to it; 0 below -708.
double exp_of_negative(double x);

/// Draws token after token for one generation. Logits that are NaN are never chosen.
class Sampler {
 public:
  /// The options have passed check_sampling().
  explicit Sampler(const SamplingOptions& options) : options_(options) {}

  /// `recent`: the sequence so far, of which the penalty looks at the end. Not empty: `logits`.
  TokenId sample(std::span<const float> logits, std::span<const TokenId> recent);

 private:
  struct Candidate {
    TokenId id;
    float logit;
    double weight;  ///< e^((logit - largest) / temperature)
  };
  void collect(std::span<const float> logits, std::span<const TokenId> recent);
  void keep_top_k();
  void keep_top_p();
  TokenId draw();

  SamplingOptions options_;
  uint64_t drawn_ = 0;
  std::vector<Candidate> candidates_;
  std::vector<TokenId> recent_ids_;
};

}  // namespace amphora::engine
