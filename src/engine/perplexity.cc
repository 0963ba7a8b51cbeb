// Perplexity of a sequence: see amphora/session.h.
#include <algorithm>
#include <cmath>

#include "amphora/session.h"
#include "engine/token_ids.h"

namespace amphora {
namespace {

/// -ln softmax(logits)[id], in double.
double negative_log_likelihood(std::span<const float> logits, TokenId id) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum) - logits[id];
}

/// Mean and variance of a stream of numbers (Welford).
class Moments {
 public:
  void add(double value) {
    ++count_;
    const double distance = value - mean_;
    mean_ += distance / static_cast<double>(count_);
    squares_ += distance * (value - mean_);
  }
  uint64_t count() const { return count_; }
  double mean() const { return mean_; }
  double standard_error() const {
    if (count_ < 2) return 0;
    const auto count = static_cast<double>(count_);
    return std::sqrt(squares_ / (count - 1) / count);
  }

 private:
  uint64_t count_ = 0;
  double mean_ = 0, squares_ = 0;
};

}  // namespace

Result<Perplexity> perplexity(Session& session, std::span<const TokenId> ids,
                              const PerplexityOptions& options) {
  const size_t context = options.context == 0 ? session.context() : options.context;
  const size_t stride = options.stride == 0 ? context : options.stride;
  if (ids.size() < 2) return fail(Fault::kUsage, "perplexity needs a text of at least two tokens");
  if (context < 2) return fail(Fault::kUsage, "perplexity needs a window of at least two positions");
  if (context > session.context())
    return fail(Fault::kUsage, "a window of " + std::to_string(context) +
                                   " positions does not fit into a context of " +
                                   std::to_string(session.context()));
  if (stride > context)
    return fail(Fault::kUsage, "a stride of " + std::to_string(stride) +
                                   " would skip tokens between windows of " + std::to_string(context));

  AMPHORA_TRY(check_token_ids(ids, session.model().spec().vocab_size));
  Moments nll;
  size_t scored = 1;  // tokens before this index are done with
  for (size_t start = 0; scored < ids.size(); start += stride) {
    const auto window = ids.subspan(start, std::min(context, ids.size() - start));
    session.reset();
    // What an earlier window has scored only needs to be run, and the last token has nothing to predict.
    const size_t known = scored > start + 1 ? scored - start - 1 : 0;
    const auto scoring = window.first(window.size() - 1).subspan(known);
    if (known > 0) AMPHORA_TRY(session.prefill(window.first(known)));
    if (!scoring.empty()) {
      AMPHORA_TRY(session.forward_each(scoring, [&](size_t index, std::span<const float> logits) -> Status {
        if (options.interrupt.stop_requested()) return fail(Fault::kRefused, "interrupted");
        const size_t next = start + known + index + 1;
        nll.add(negative_log_likelihood(logits, ids[next]));
        if (options.progress) options.progress(next + 1, ids.size());
        return {};
      }));
    }
    scored = start + window.size();
  }

  Perplexity result;
  result.tokens = nll.count();
  result.nll_mean = nll.mean();
  result.ppl = std::exp(nll.mean());
  result.ppl_stderr = result.ppl * nll.standard_error();
  return result;
}

}  // namespace amphora
