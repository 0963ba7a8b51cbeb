// Both models run the same few positions in turn, so that only those positions' distributions are in memory.
#include "engine/divergence.h"

#include "engine/token_ids.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace amphora {
namespace {

/// Positions whose distributions are kept: a vocabulary may have a quarter of a million entries.
constexpr size_t kBlock = 16;

/// Natural logarithms of softmax(logits), in double. [vocabulary]
void log_probabilities(std::span<const float> logits, std::vector<double>& out) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  const double shift = largest + std::log(sum);
  out.resize(logits.size());
  std::ranges::transform(logits, out.begin(), [&](float logit) { return logit - shift; });
}

double kl(std::span<const double> reference, std::span<const double> candidate) {
  double sum = 0;
  for (size_t i = 0; i < reference.size(); ++i) sum += std::exp(reference[i]) * (reference[i] - candidate[i]);
  return std::max(sum, 0.0);  // what rounding leaves of equal distributions may be below zero
}

auto best(std::span<const double> values) {
  return std::ranges::max_element(values) - values.begin();  // the first of equals
}

class Comparison {
 public:
  Comparison(Session& reference, Session& candidate, std::span<const TokenId> ids,
             const PerplexityOptions& options)
      : reference_(reference), candidate_(candidate), ids_(ids), options_(options) {}

  Status run_window(size_t start, size_t count) {
    reference_.reset();
    candidate_.reset();
    for (size_t done = 0; done + 1 < count; done += kBlock)
      AMPHORA_TRY(run_block(start + done, std::min(kBlock, count - 1 - done)));
    return {};
  }

  Divergence result() {
    Divergence result;
    result.positions = kl_.size();
    const auto count = static_cast<double>(kl_.size());
    for (const double each : kl_) result.kl_mean += each / count;
    std::ranges::sort(kl_);
    const auto rank = static_cast<size_t>(std::ceil(0.99 * count));
    result.kl_99 = kl_[rank - 1];
    result.top1_agreement = static_cast<double>(agreeing_) / count;
    result.ppl_ratio = std::exp(nll_difference_ / count);
    return result;
  }

 private:
  Status run_block(size_t start, size_t count) {
    if (options_.interrupt.stop_requested()) return fail(Fault::kRefused, "interrupted");
    const auto block = ids_.subspan(start, count);
    AMPHORA_TRY(reference_.forward_each(block, [&](size_t index, std::span<const float> logits) -> Status {
      log_probabilities(logits, reference_block_[index]);
      return {};
    }));
    AMPHORA_TRY(candidate_.forward_each(block, [&](size_t index, std::span<const float> logits) -> Status {
      log_probabilities(logits, candidate_now_);
      add(reference_block_[index], candidate_now_, ids_[start + index + 1]);
      return {};
    }));
    if (options_.progress) options_.progress(start + count, ids_.size());
    return {};
  }

  void add(std::span<const double> reference, std::span<const double> candidate, TokenId next) {
    kl_.push_back(kl(reference, candidate));
    agreeing_ += best(reference) == best(candidate) ? 1 : 0;
    nll_difference_ += reference[next] - candidate[next];
  }

  Session& reference_;
  Session& candidate_;
  std::span<const TokenId> ids_;
  const PerplexityOptions& options_;
  std::vector<double> reference_block_[kBlock];
  std::vector<double> candidate_now_;
  std::vector<double> kl_;
  uint64_t agreeing_ = 0;
  double nll_difference_ = 0;
};

}  // namespace

Result<Divergence> divergence(Session& reference, Session& candidate, std::span<const TokenId> ids,
                              const PerplexityOptions& options) {
  const uint32_t vocabulary = reference.model().spec().vocab_size;
  if (vocabulary != candidate.model().spec().vocab_size)
    return fail(Fault::kUsage, "models with vocabularies of " + std::to_string(vocabulary) + " and " +
                                   std::to_string(candidate.model().spec().vocab_size) +
                                   " tokens cannot be compared");
  if (ids.size() < 2) return fail(Fault::kUsage, "a comparison needs a text of at least two tokens");
  if (options.stride != 0) return fail(Fault::kUsage, "a comparison has no stride");
  const uint32_t room = std::min(reference.context(), candidate.context());
  const size_t window = options.context == 0 ? room : options.context;
  if (window < 2 || window > room)
    return fail(Fault::kUsage, "a window of " + std::to_string(window) +
                                   " positions does not fit into a context of " + std::to_string(room));

  AMPHORA_TRY(check_token_ids(ids, vocabulary));
  Comparison comparison(reference, candidate, ids, options);
  for (size_t start = 0; start + 1 < ids.size(); start += window)
    AMPHORA_TRY(comparison.run_window(start, std::min(window, ids.size() - start)));
  return comparison.result();
}

}  // namespace amphora
