// Generation on a tiny random model: limits, stops, streaming, caching, sampling.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "amphora/session.h"
#include "base/testing/test_data.h"
#include "engine/prompt.h"

namespace amphora {
namespace {

using amphora::testing::test_data;
using ::testing::HasSubstr;

/// The first prompt of the golden file of tiny/llama and the reference's continuation.
const std::vector<TokenId> kPrompt{1,   434, 154, 118, 390, 378, 400, 137, 77,
                                   199, 428, 429, 460, 492, 365, 422, 448};

class Generate : public ::testing::Test {
 protected:
  void SetUp() override { open({}); }

  void open(const std::vector<TokenId>& stop_ids, uint32_t context = 0) {
    const auto opened = open_package(test_data("hf/tiny/llama"));
    ASSERT_TRUE(opened) << opened.error().message;
    auto package = std::make_shared<Package>(**opened);
    package->tokenizer.eos_token_ids = stop_ids;
    const auto model = Model::load(package);
    ASSERT_TRUE(model) << model.error().message;
    auto vocabulary = Vocabulary::load(package);
    ASSERT_TRUE(vocabulary) << vocabulary.error().message;
    vocabulary_ = *vocabulary;
    auto session = Session::create(*model, {.threads = 2, .context = context});
    ASSERT_TRUE(session) << session.error().message;
    session_ = *std::move(session);
  }

  GenerateResult run(const GenerateOptions& options,
                     const std::function<void(const GeneratedPiece&)>& on_piece = {},
                     std::span<const TokenId> prompt = kPrompt) {
    auto result = generate(*session_, *vocabulary_, prompt, options, on_piece);
    if (!result) {
      ADD_FAILURE() << result.error().message;
      return {};
    }
    return *result;
  }

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::unique_ptr<Session> session_;
};

TEST_F(Generate, StopsAtTheLimitAndCounts) {
  const auto result = run({.max_tokens = 10});
  EXPECT_EQ(result.finish, Finish::kLength);
  EXPECT_EQ(result.ids.size(), 10u);
  EXPECT_EQ(result.prompt_tokens, 17u);
  EXPECT_EQ(result.cached_tokens, 0u);
  EXPECT_GT(result.prefill_tokens_per_second(), 0);
  EXPECT_GT(result.decode_tokens_per_second(), 0);
  EXPECT_GE(result.first_token_seconds, result.prefill_seconds);
  EXPECT_TRUE(run({.max_tokens = 0}).ids.empty());
}

TEST_F(Generate, RunsToTheEndOfTheContext) {
  open({}, 20);
  const auto result = run({});
  EXPECT_EQ(result.finish, Finish::kLength);
  EXPECT_EQ(result.ids.size(), 4u) << "three more positions, and one token after the last";
  open({}, 17);
  EXPECT_EQ(run({}).ids.size(), 1u);
}

TEST_F(Generate, PiecesAddUpToTheTextOfTheIds) {
  std::string streamed;
  std::vector<TokenId> ids;
  const auto result =
      run({.max_tokens = 60, .sampling = {.temperature = 1.5, .seed = 5}}, [&](const GeneratedPiece& piece) {
        streamed += piece.text;
        if (piece.id) ids.push_back(*piece.id);
      });
  EXPECT_EQ(streamed, result.text);
  EXPECT_EQ(ids, result.ids);
  EXPECT_TRUE(vocabulary_->tokenizer()->decode(result.ids, /*skip_special=*/true)->starts_with(result.text));
}

TEST_F(Generate, ALimitInsideACharacterGivesTheTextBeforeIt) {
  const std::string replacement = "\xEF\xBF\xBD";
  std::string before;
  size_t cut = 0;
  for (uint32_t count = 1; count < 40; ++count) {
    const auto result = run({.max_tokens = count, .sampling = {.temperature = 1.5, .seed = 5}});
    const auto whole = vocabulary_->tokenizer()->decode(result.ids, /*skip_special=*/true);
    ASSERT_TRUE(whole);
    EXPECT_TRUE(result.text.starts_with(before)) << "a longer run begins with the shorter one";
    before = result.text;
    if (*whole == result.text) continue;
    EXPECT_EQ(*whole, result.text + replacement);
    ++cut;
  }
  EXPECT_GT(cut, 0u) << "no limit fell inside a character";
}

TEST_F(Generate, StopIdsEndItAndAreNotPartOfIt) {
  const auto whole = run({.max_tokens = 24});
  const TokenId stop = whole.ids[9];
  const auto first = static_cast<size_t>(std::ranges::find(whole.ids, stop) - whole.ids.begin());
  open({7, stop});
  const auto result = run({.max_tokens = 24});
  EXPECT_EQ(result.finish, Finish::kStop);
  EXPECT_EQ(result.ids, std::vector(whole.ids.begin(), whole.ids.begin() + static_cast<ptrdiff_t>(first)));
  EXPECT_EQ(run({.max_tokens = 24, .ignore_eos = true}).ids, whole.ids);
}

TEST_F(Generate, StopStringsEndItWhereTheyBegin) {
  const auto whole = run({.max_tokens = 60, .sampling = {.temperature = 1, .seed = 2}});
  ASSERT_GT(whole.text.size(), 30u);
  for (size_t at = 10; at + 5 < 30; ++at) {
    const std::string stop = whole.text.substr(at, 5);
    std::string streamed;
    const auto result =
        run({.max_tokens = 60, .sampling = {.temperature = 1, .seed = 2}, .stop = {"not there", stop}},
            [&](const GeneratedPiece& piece) { streamed += piece.text; });
    EXPECT_EQ(result.finish, Finish::kStop);
    EXPECT_EQ(result.text, whole.text.substr(0, whole.text.find(stop)));
    EXPECT_EQ(streamed, result.text);
  }
}

TEST_F(Generate, KeepsWhatTheSessionHoldsOfThePrompt) {
  const auto first = run({.max_tokens = 6});
  std::vector<TokenId> longer(kPrompt);
  longer.insert(longer.end(), first.ids.begin(), first.ids.end());
  longer.push_back(100);
  const auto second = run({.max_tokens = 6}, {}, longer);
  EXPECT_EQ(second.cached_tokens, 22u) << "the prompt and all generated ids but the last";
  const auto again = run({.max_tokens = 6}, {}, longer);
  EXPECT_EQ(again.cached_tokens, longer.size() - 1);
  EXPECT_EQ(again.ids, second.ids);
  session_->reset();
  EXPECT_EQ(run({.max_tokens = 6}, {}, longer).ids, second.ids) << "a cache changes nothing";
  longer[3] = 5;
  EXPECT_EQ(run({.max_tokens = 1}, {}, longer).cached_tokens, 3u);
}

TEST_F(Generate, TheSeedDecidesTheSequence) {
  const auto with_seed = [&](uint64_t seed) {
    return run({.max_tokens = 20, .sampling = {.temperature = 1, .seed = seed}}).ids;
  };
  const auto first = with_seed(1);
  EXPECT_EQ(with_seed(1), first);
  EXPECT_NE(with_seed(2), first);
}

TEST_F(Generate, AnInterruptEndsItBetweenTokens) {
  std::stop_source source;
  size_t seen = 0;
  const auto result = run({.max_tokens = 50, .interrupt = source.get_token()}, [&](const GeneratedPiece&) {
    if (++seen == 3) source.request_stop();
  });
  EXPECT_EQ(result.finish, Finish::kInterrupted);
  EXPECT_EQ(result.ids.size(), 3u);
  session_->reset();
  const auto before = run({.interrupt = source.get_token()});
  EXPECT_EQ(before.finish, Finish::kInterrupted);
  EXPECT_TRUE(before.ids.empty());
}

TEST_F(Generate, RefusesRequestsThatMakeNoSense) {
  open({}, 16);
  const auto fails = [&](std::span<const TokenId> prompt, const GenerateOptions& options) {
    const auto result = generate(*session_, *vocabulary_, prompt, options);
    if (result) return Error{};
    EXPECT_EQ(result.error().fault, Fault::kUsage);
    return result.error();
  };
  EXPECT_THAT(fails(kPrompt, {}).message, HasSubstr("the prompt has 17 tokens, the context 16 positions"));
  EXPECT_THAT(fails({}, {}).message, HasSubstr("no tokens"));
  const auto prompt = std::span(kPrompt).first(4);
  EXPECT_THAT(fails(prompt, {.stop = {"a", ""}}).message, HasSubstr("stop string is empty"));
  EXPECT_THAT(fails(prompt, {.sampling = {.top_p = 2}}).message, HasSubstr("top-p"));
}

}  // namespace
}  // namespace amphora
