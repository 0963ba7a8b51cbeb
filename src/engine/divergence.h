// How far one model's predictions are from another's, position by position: what a quantisation loses.
#pragma once

#include <cstdint>
#include <span>

#include "amphora/session.h"

namespace amphora {

/// Statistics over the positions of a text.
struct Divergence {
  uint64_t positions = 0;
  double kl_mean = 0;         ///< Kullback-Leibler divergence KL(reference ‖ candidate), nats
  double kl_99 = 0;           ///< its 99th percentile: 99 of 100 positions are at or below it
  double top1_agreement = 0;  ///< share of the positions where both would choose the same token, 0 … 1
  double ppl_ratio = 0;       ///< perplexity of the candidate over that of the reference, same tokens
};

/// Runs both over `ids`, cut into windows of the options' context (the smaller of both sessions' by default),
/// each from an empty cache; every position of a window but its last counts. kUsage: fewer than two ids,
/// vocabularies of different sizes, a stride (windows do not overlap here). Both sessions are left at the
/// end of the last window.
Result<Divergence> divergence(Session& reference, Session& candidate, std::span<const TokenId> ids,
                              const PerplexityOptions& options = {});

}  // namespace amphora
