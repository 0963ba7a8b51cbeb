// Generation: prompt in, streamed text out. See amphora/session.h.
#include <algorithm>

#include "amphora/session.h"
#include "base/stopwatch.h"
#include "engine/lookahead.h"
#include "engine/prompt.h"
#include "engine/sampler.h"
#include "engine/session_impl.h"
#include "engine/stop_matcher.h"

namespace amphora {
namespace {

/// Ids that are run between two looks at the interrupt.
constexpr size_t kPromptBlock = 128;

/// Runs what the session does not hold yet of the prompt. Empty if interrupted.
Result<std::optional<std::span<const float>>> run_prompt(Session& session, std::span<const TokenId> rest,
                                                         const std::stop_token& interrupt) {
  while (rest.size() > kPromptBlock) {
    if (interrupt.stop_requested()) return std::nullopt;
    AMPHORA_TRY(session.prefill(rest.first(kPromptBlock)));
    if (auto& mtp = session.impl().mtp) mtp->feed();
    rest = rest.subspan(kPromptBlock);
  }
  if (interrupt.stop_requested()) return std::nullopt;
  return session.forward(rest);
}

/// From ids to the text that may be shown.
class TextStream {
 public:
  TextStream(const Vocabulary& vocabulary, const std::vector<std::string>& stops)
      : decoder_(vocabulary.tokenizer(), /*skip_special=*/true), matcher_(stops) {}

  Result<std::string> push(TokenId id) {
    AMPHORA_ASSIGN(const std::string text, decoder_.push(id));
    return matcher_.push(text);
  }
  /// What was held back. Of a text that was `cut` short, a last character that is not whole is left out.
  Result<std::string> finish(bool cut) {
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    AMPHORA_ASSIGN(std::string text, decoder_.finish());
    while (cut && text.ends_with(kReplacement)) text.resize(text.size() - kReplacement.size());
    return matcher_.push(text) + matcher_.finish();
  }
  bool stopped() const { return matcher_.stopped(); }

 private:
  text::StreamDecoder decoder_;
  engine::StopMatcher matcher_;
};

Status check_request(const Session& session, std::span<const TokenId> prompt,
                     const GenerateOptions& options) {
  AMPHORA_TRY(check_sampling(options.sampling));
  AMPHORA_TRY(check_speculation(options.speculation, session.model()));
  if (std::ranges::any_of(options.stop, &std::string::empty))
    return fail(Fault::kUsage, "a stop string is empty");
  if (prompt.empty()) return fail(Fault::kUsage, "the prompt has no tokens");
  if (prompt.size() > session.context())
    return fail(Fault::kUsage, "the prompt has " + std::to_string(prompt.size()) + " tokens, the context " +
                                   std::to_string(session.context()) + " positions");
  return {};
}

}  // namespace

std::string_view name_of(Finish finish) {
  switch (finish) {
    case Finish::kStop: return "stop";
    case Finish::kLength: return "length";
    case Finish::kInterrupted: return "interrupted";
  }
  return "";
}

double GenerateResult::prefill_tokens_per_second() const {
  return prefill_seconds > 0 ? (prompt_tokens - cached_tokens) / prefill_seconds : 0;
}

double GenerateResult::decode_tokens_per_second() const {
  return decode_seconds > 0 && ids.size() > 1 ? static_cast<double>(ids.size() - 1) / decode_seconds : 0;
}

Result<GenerateResult> generate(Session& session, const Vocabulary& vocabulary,
                                std::span<const TokenId> prompt, const GenerateOptions& options,
                                const std::function<void(const GeneratedPiece&)>& on_piece) {
  const SteadyClock::time_point start = SteadyClock::now();
  AMPHORA_TRY(check_request(session, prompt, options));

  GenerateResult result;
  result.prompt_tokens = static_cast<uint32_t>(prompt.size());
  // What the session holds of the prompt stays, but the last id must run: its logits are needed.
  const auto held = session.ids();
  const auto common = std::ranges::mismatch(held, prompt.first(prompt.size() - 1)).in1 - held.begin();
  result.cached_tokens = static_cast<uint32_t>(common);
  session.truncate(result.cached_tokens);
  session.impl().use_mtp(options.speculation.drafter == Drafter::kMtp);

  AMPHORA_ASSIGN(auto logits, run_prompt(session, prompt.subspan(result.cached_tokens), options.interrupt));
  session.mark();
  result.prefill_seconds = seconds_since(start);

  engine::Sampler sampler(options.sampling);
  const bool plain_greedy = options.sampling.temperature == 0 && options.sampling.repeat_penalty == 1;
  TextStream stream(vocabulary, options.stop);
  Lookahead lookahead(session, options.speculation);
  SteadyClock::time_point first_token = start;
  const auto deliver = [&](std::optional<TokenId> id, const std::string& text) {
    result.text += text;
    if (on_piece && (id || !text.empty())) on_piece({id, text});
  };

  for (;;) {
    if (!logits || options.interrupt.stop_requested()) {
      result.finish = Finish::kInterrupted;
      break;
    }
    if (options.max_tokens && result.ids.size() >= *options.max_tokens) {
      result.finish = Finish::kLength;
      break;
    }
    const TokenId id = plain_greedy ? session.argmax(*logits) : sampler.sample(*logits, lookahead.ids());
    if (result.ids.empty()) {
      first_token = SteadyClock::now();
      result.first_token_seconds = seconds_since(start);
    }
    if (!options.ignore_eos && vocabulary.is_stop(id)) {
      result.finish = Finish::kStop;
      break;
    }
    result.ids.push_back(id);
    AMPHORA_ASSIGN(const std::string text, stream.push(id));
    deliver(id, text);
    result.decode_seconds = seconds_since(first_token);
    if (stream.stopped()) {
      result.finish = Finish::kStop;
      break;
    }
    const uint64_t room = session.context() - lookahead.ids().size();
    const uint64_t wanted = options.max_tokens.value_or(~uint32_t{0}) - result.ids.size();
    if (room == 0 || wanted == 0) {
      result.finish = Finish::kLength;
      break;
    }
    AMPHORA_ASSIGN(logits, lookahead.forward(id, wanted - 1));
  }
  lookahead.finish();
  result.drafted = lookahead.policy().drafted();
  result.accepted = lookahead.policy().accepted();
  AMPHORA_ASSIGN(const std::string rest, stream.finish(result.finish != Finish::kStop));
  deliver(std::nullopt, rest);
  if (stream.stopped()) result.finish = Finish::kStop;
  return result;
}

}  // namespace amphora
