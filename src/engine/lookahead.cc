// Speculative decoding: see lookahead.h.
#include "engine/lookahead.h"

#include <algorithm>

#include "base/stopwatch.h"
#include "engine/session_impl.h"

namespace amphora {
namespace {

/// With the token before them, what the kernels take without a half empty tile.
constexpr uint32_t kNgramDrafts = 7;
constexpr uint32_t kMtpDrafts = 2;
/// Ids that are looked up together, the longest run first.
constexpr size_t kLongestRun = 4, kShortestRun = 2;
/// Rounds after which they are judged; so many that were all wrong from the start are judged at once.
constexpr uint32_t kJudgedRounds = 4, kHopelessRounds = 2;
constexpr uint32_t kLongestPause = 1024;
/// The weight of a new measurement in the smoothed time of a token.
constexpr double kNewShare = 0.125;

uint32_t most_drafts(const SpeculationOptions& options) {
  switch (options.drafter) {
    case Drafter::kNone: return 0;
    case Drafter::kMtp: return options.drafts.value_or(kMtpDrafts);
    case Drafter::kNgram: return options.drafts.value_or(kNgramDrafts);
  }
  return 0;
}

}  // namespace

Status check_speculation(const SpeculationOptions& options, const Model& model) {
  if (options.drafter == Drafter::kMtp && !model.plan().mtp)
    return fail(
        Fault::kUsage,
        "the model has no predictor of further tokens (no model.mtp tensors): speculate with ngram or "
        "not at all");
  if (options.drafts && *options.drafts > kMostDrafts)
    return fail(Fault::kUsage, "at most " + std::to_string(kMostDrafts) + " tokens can be guessed at a time");
  return {};
}

std::vector<TokenId> find_continuation(std::span<const TokenId> ids, size_t count) {
  for (size_t length = kLongestRun; length >= kShortestRun; --length) {
    if (ids.size() <= length) continue;
    const auto last = ids.last(length);
    // Backwards: the latest occurrence is the likeliest to go on in the same way.
    for (size_t at = ids.size() - length; at-- > 0;) {
      if (!std::ranges::equal(ids.subspan(at, length), last)) continue;
      const auto following = ids.subspan(at + length);
      std::vector<TokenId> continuation;
      // What follows ends where the sequence ends; behind it the guesses repeat themselves.
      for (size_t i = 0; i < count; ++i)
        continuation.push_back(i < following.size() ? following[i] : continuation[i - following.size()]);
      return continuation;
    }
  }
  return {};
}

uint32_t DraftPolicy::wanted() {
  if (pause_ == 0) return length_;
  --pause_;
  return 0;
}

void DraftPolicy::note_plain(double seconds) {
  plain_seconds_ = plain_seconds_ == 0 ? seconds : plain_seconds_ + kNewShare * (seconds - plain_seconds_);
}

void DraftPolicy::note_round(size_t drafted, size_t accepted, double seconds) {
  drafted_ += drafted;
  accepted_ += accepted;
  ++rounds_;
  tokens_ += static_cast<uint32_t>(accepted) + 1;
  seconds_ += seconds;
  length_ = accepted == drafted ? std::min(most_, 2 * length_) : static_cast<uint32_t>(accepted) + 1;
  if (rounds_ >= kJudgedRounds || (rounds_ >= kHopelessRounds && tokens_ == rounds_)) judge();
}

void DraftPolicy::judge() {
  if (seconds_ > tokens_ * plain_seconds_) {
    pause_ = next_pause_;
    next_pause_ = std::min(2 * next_pause_, kLongestPause);
    length_ = std::min(most_, kFirstLength);
  } else {
    next_pause_ = kFirstPause;
  }
  rounds_ = tokens_ = 0;
  seconds_ = 0;
}

Lookahead::Lookahead(Session& session, const SpeculationOptions& options)
    : session_(session), drafter_(options.drafter), policy_(most_drafts(options)) {}

std::span<const TokenId> Lookahead::ids() const {
  const auto held = session_.ids();
  return held.first(held.size() - (ahead_.size() - taken_));
}

std::span<const float> Lookahead::logits_of(size_t row) const {
  const size_t vocabulary = session_.model().spec().vocab_size;
  return std::span(logits_).subspan(row * vocabulary, vocabulary);
}

void Lookahead::finish() {
  if (ahead_.empty()) return;
  const SteadyClock::time_point start = SteadyClock::now();
  session_.truncate(static_cast<uint32_t>(ids().size()));
  policy_.note_round(ahead_.size(), taken_, seconds_ + seconds_since(start));
  ahead_.clear();
  taken_ = 0;
}

std::vector<TokenId> Lookahead::draft(TokenId id, size_t count) {
  if (count == 0) return {};
  switch (drafter_) {
    case Drafter::kNone: return {};
    case Drafter::kMtp: return session_.impl().mtp->draft(id, count);
    case Drafter::kNgram: {
      std::vector<TokenId> all(session_.ids().begin(), session_.ids().end());
      all.push_back(id);
      return find_continuation(all, count);
    }
  }
  return {};
}

Result<std::span<const float>> Lookahead::run(TokenId id, std::span<const TokenId> drafts) {
  if (drafts.empty()) return session_.forward({&id, 1});
  std::vector<TokenId> block = {id};
  block.insert(block.end(), drafts.begin(), drafts.end());
  const size_t vocabulary = session_.model().spec().vocab_size;
  logits_.resize(block.size() * vocabulary);
  session_.impl().sequence.keep(Sequence::Checkpoint::kDraft);
  AMPHORA_TRY(session_.forward_each(block, [&](size_t index, std::span<const float> logits) -> Status {
    std::ranges::copy(logits, logits_.begin() + static_cast<ptrdiff_t>(index * vocabulary));
    return {};
  }));
  ahead_.assign(drafts.begin(), drafts.end());
  return logits_of(0);
}

Result<std::span<const float>> Lookahead::forward(TokenId id, uint64_t useful) {
  if (taken_ < ahead_.size() && ahead_[taken_] == id) {
    ++taken_;
    return logits_of(taken_);
  }
  finish();
  const uint64_t room = session_.context() - session_.position() - 1;
  const uint64_t most = std::min({uint64_t{policy_.wanted()}, useful, room});
  const SteadyClock::time_point start = SteadyClock::now();
  AMPHORA_ASSIGN(const auto logits, run(id, draft(id, most)));
  seconds_ = seconds_since(start);
  if (ahead_.empty()) policy_.note_plain(seconds_);
  return logits;
}

}  // namespace amphora
