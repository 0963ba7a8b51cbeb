// Speculation changes nothing but the number of runs: the same ids with and without it, greedy or sampled,
// over attention, windows and recurrent layers.
#include "engine/lookahead.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/sampler.h"
#include "engine/session_impl.h"
#include "engine/testing/tiny_session.h"

namespace amphora {
namespace {

using model::testing::TinyPackage;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void add_attention_layer(TinyPackage& tiny, const std::string& prefix) {
  tiny.add(prefix + "input_layernorm.weight", {64});
  tiny.add(prefix + "self_attn.q_proj.weight", {64, 64});
  tiny.add(prefix + "self_attn.k_proj.weight", {32, 64});
  tiny.add(prefix + "self_attn.v_proj.weight", {32, 64});
  tiny.add(prefix + "self_attn.o_proj.weight", {64, 64});
  tiny.add(prefix + "post_attention_layernorm.weight", {64});
  tiny.add(prefix + "mlp.gate_proj.weight", {96, 64});
  tiny.add(prefix + "mlp.up_proj.weight", {96, 64});
  tiny.add(prefix + "mlp.down_proj.weight", {64, 96});
}

void add_predictor(TinyPackage& tiny) {
  tiny.add("model.mtp.eh_proj.weight", {64, 128});
  for (const char* name : {"enorm", "hnorm", "norm"})
    tiny.add(std::string("model.mtp.") + name + ".weight", {64});
  add_attention_layer(tiny, "model.mtp.layers.0.");
}

/// Layer 0 becomes a gated DeltaNet of 2 key and 4 value heads of 8 dimensions.
void make_recurrent(TinyPackage& tiny) {
  for (const char* part : {"q", "k", "v", "o"})
    tiny.remove(std::string("model.layers.0.self_attn.") + part + "_proj.weight");
  const std::string prefix = "model.layers.0.linear_attn.";
  tiny.add(prefix + "in_proj_qkv.weight", {64, 64});
  tiny.add(prefix + "in_proj_z.weight", {32, 64});
  tiny.add(prefix + "in_proj_a.weight", {4, 64});
  tiny.add(prefix + "in_proj_b.weight", {4, 64});
  tiny.add(prefix + "conv1d.weight", {64, 1, 4});
  tiny.add(prefix + "A_log", {4});
  tiny.add(prefix + "dt_bias", {4});
  tiny.add(prefix + "norm.weight", {8});
  tiny.add(prefix + "out_proj.weight", {64, 32});
  tiny.spec.layer_types[0] = LayerType::kLinearAttention;
  tiny.spec.linear_core = LinearCoreSpec();
  tiny.spec.linear_core->num_heads = 4;
  tiny.spec.linear_core->value_head_dim = 8;
  tiny.spec.linear_num_key_heads = 2;
  tiny.spec.linear_key_head_dim = 8;
  tiny.spec.linear_conv_kernel_dim = 4;
}

void make_windowed(TinyPackage& tiny) {
  tiny.spec.layer_types[0] = LayerType::kSlidingAttention;
  tiny.spec.sliding_window = 20;
}

/// Ids that a session generates after a prompt, with the guesses that it took.
struct Generated {
  std::vector<TokenId> ids;
  uint64_t drafted = 0, accepted = 0;
};

Generated generate_ids(Session& session, std::span<const TokenId> prompt, size_t count,
                       const SpeculationOptions& speculation, const SamplingOptions& sampling) {
  Generated generated;
  session.reset();
  session.impl().use_mtp(speculation.drafter == Drafter::kMtp);
  auto logits = session.forward(prompt);
  session.mark();
  engine::Sampler sampler(sampling);
  Lookahead lookahead(session, speculation);
  while (logits) {
    generated.ids.push_back(sampler.sample(*logits, lookahead.ids()));
    if (generated.ids.size() == count) break;
    logits = lookahead.forward(generated.ids.back(), count - generated.ids.size() - 1);
  }
  if (!logits) ADD_FAILURE() << logits.error().message;
  lookahead.finish();
  EXPECT_EQ(session.position(), prompt.size() + count - 1) << "nothing that was not asked for";
  generated.drafted = lookahead.policy().drafted();
  generated.accepted = lookahead.policy().accepted();
  return generated;
}

/// Prompts that differ, some of them with repetition in them.
std::vector<TokenId> prompt_number(size_t number) {
  std::vector<TokenId> ids = testing::some_ids(3 + number % 29);
  for (TokenId& id : ids) id = static_cast<TokenId>((id + number * 17) % 80);
  if (number % 3 == 0) ids.insert(ids.end(), ids.begin(), ids.end());
  return ids;
}

class SpeculationOver : public ::testing::TestWithParam<const char*> {
 protected:
  static TinyPackage package() {
    TinyPackage tiny;
    add_predictor(tiny);
    if (std::string_view(GetParam()) == "recurrent") make_recurrent(tiny);
    if (std::string_view(GetParam()) == "windowed") make_windowed(tiny);
    return tiny;
  }
};

TEST_P(SpeculationOver, TwoHundredPromptsGiveTheSameIds) {
  const auto session = testing::open_session(package());
  uint64_t accepted = 0;
  for (size_t number = 0; number < 200; ++number) {
    const auto prompt = prompt_number(number);
    SamplingOptions sampling;
    if (number % 2 == 1) sampling = {.temperature = 0.8, .top_k = 4, .repeat_penalty = 1.1, .seed = number};
    const auto plain = generate_ids(*session, prompt, 64, {}, sampling);
    for (const Drafter drafter : {Drafter::kMtp, Drafter::kNgram}) {
      const auto speculated = generate_ids(*session, prompt, 64, {.drafter = drafter}, sampling);
      ASSERT_EQ(speculated.ids, plain.ids) << "prompt " << number;
      accepted += speculated.accepted;
    }
  }
  EXPECT_GT(accepted, 100u) << "guesses that are never right would prove nothing";
}

INSTANTIATE_TEST_SUITE_P(Layers, SpeculationOver, ::testing::Values("attention", "windowed", "recurrent"));

TEST(Speculation, AnyNumberOfGuessesGivesTheSameIds) {
  TinyPackage tiny;
  add_predictor(tiny);
  const auto session = testing::open_session(tiny);
  const auto prompt = prompt_number(3);
  const auto plain = generate_ids(*session, prompt, 100, {}, {});
  for (const uint32_t drafts : {0u, 1u, 2u, 3u, 64u})
    for (const Drafter drafter : {Drafter::kMtp, Drafter::kNgram}) {
      const auto speculated = generate_ids(*session, prompt, 100, {drafter, drafts}, {});
      EXPECT_EQ(speculated.ids, plain.ids) << drafts;
      EXPECT_EQ(speculated.drafted == 0, drafts == 0) << drafts;
    }
}

TEST(Speculation, IsRefusedWithoutAPredictorAndBeyondTheMostGuesses) {
  const auto session = testing::open_session(TinyPackage());
  const Status missing = check_speculation({.drafter = Drafter::kMtp}, session->model());
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().fault, Fault::kUsage);
  EXPECT_THAT(missing.error().message, HasSubstr("no predictor"));
  EXPECT_TRUE(check_speculation({.drafter = Drafter::kNgram}, session->model()));
  EXPECT_TRUE(check_speculation({Drafter::kNgram, 64}, session->model()));
  EXPECT_FALSE(check_speculation({Drafter::kNgram, 65}, session->model()));
}

TEST(FindContinuation, TakesTheLatestOccurrenceOfTheLongestRun) {
  EXPECT_THAT(find_continuation(std::vector<TokenId>{1, 2, 7, 8, 1, 2, 9, 1, 2}, 2), ElementsAre(9, 1));
  EXPECT_THAT(find_continuation(std::vector<TokenId>{5, 1, 2, 7, 3, 1, 2, 9, 5, 1, 2}, 1), ElementsAre(7))
      << "three ids in common count for more than the later two";
  EXPECT_THAT(find_continuation(std::vector<TokenId>{1, 2, 3, 1, 2}, 8), ElementsAre(3, 1, 2, 3, 1, 2, 3, 1))
      << "a period goes on";
  EXPECT_THAT(find_continuation(std::vector<TokenId>{4, 4, 4, 4, 4, 4}, 3), ElementsAre(4, 4, 4));
  EXPECT_THAT(find_continuation(std::vector<TokenId>{1, 2, 3, 4}, 3), IsEmpty());
  EXPECT_THAT(find_continuation(std::vector<TokenId>{1, 2, 3, 2}, 3), IsEmpty()) << "one id is too little";
  EXPECT_THAT(find_continuation(std::vector<TokenId>{}, 3), IsEmpty());
}

/// The guesses that the policy asks for in turn over some tokens without any being noted.
std::vector<uint32_t> wanted_in_turn(DraftPolicy& policy, size_t tokens) {
  std::vector<uint32_t> wanted(tokens);
  for (uint32_t& one : wanted) one = policy.wanted();
  return wanted;
}

/// A policy that has measured 1 s for a token without guesses.
DraftPolicy measured_policy(uint32_t most) {
  DraftPolicy policy(most);
  EXPECT_THAT(wanted_in_turn(policy, 3), Each(0u)) << "first what guesses are measured against";
  for (int token = 0; token < 3; ++token) policy.note_plain(1);
  return policy;
}

TEST(DraftPolicy, GivesUpForLongerAndLonger) {
  DraftPolicy policy = measured_policy(4);
  for (const size_t pause : {64, 128, 256, 512, 1024, 1024}) {
    EXPECT_EQ(policy.wanted(), 2u);
    policy.note_round(2, 0, 1.5);
    EXPECT_EQ(policy.wanted(), 1u) << "after a wrong one fewer at a time";
    policy.note_round(1, 0, 1.25);  // two rounds that were all wrong are enough
    EXPECT_THAT(wanted_in_turn(policy, pause), Each(0u));
  }
  EXPECT_EQ(policy.wanted(), 2u);
  for (int round = 0; round < 4; ++round) policy.note_round(2, 2, 2);
  EXPECT_EQ(policy.wanted(), 4u) << "guesses that pay go on";
  for (int round = 0; round < 2; ++round) policy.note_round(4, 0, 2);
  EXPECT_THAT(wanted_in_turn(policy, 64), Each(0u)) << "and the next pause is short again";
  EXPECT_EQ(policy.wanted(), 2u);
  EXPECT_EQ(policy.drafted(), 6u * 3 + 4 * 2 + 2 * 4);
  EXPECT_EQ(policy.accepted(), 8u);
}

TEST(DraftPolicy, CountsTimeNotOnlyRightGuesses) {
  DraftPolicy policy = measured_policy(2);
  for (int round = 0; round < 4; ++round) policy.note_round(2, 1, 1.9);  // 8 tokens in 7.6 s
  EXPECT_EQ(policy.wanted(), 2u);
  for (int round = 0; round < 4; ++round) policy.note_round(2, 1, 2.1);  // 8 tokens in 8.4 s
  EXPECT_THAT(wanted_in_turn(policy, 64), Each(0u));
}

TEST(DraftPolicy, AsksForMoreAtATimeWhileAllAreRight) {
  DraftPolicy policy = measured_policy(9);
  std::vector<uint32_t> wanted;
  for (const size_t accepted : {2, 4, 8, 9, 5, 6, 0}) {
    wanted.push_back(policy.wanted());
    policy.note_round(wanted.back(), accepted, 0.1);
  }
  wanted.push_back(policy.wanted());
  EXPECT_THAT(wanted, ElementsAre(2, 4, 8, 9, 9, 6, 9, 1));
  EXPECT_EQ(DraftPolicy(0).wanted(), 0u);
}

}  // namespace
}  // namespace amphora
