// Sessions: the same ids give the same bits however they are fed, and misuse is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "amphora/session.h"
#include "engine/testing/tiny_session.h"
#include "kernels/kernels.h"
#include "model/testing/tiny_package.h"

namespace amphora {
namespace {

using model::testing::TinyPackage;
using ::testing::HasSubstr;
using testing::some_ids;

std::shared_ptr<const Model> load(const TinyPackage& tiny) {
  auto model = Model::load(tiny.take());
  if (!model) ADD_FAILURE() << model.error().message;
  return *model;
}

std::unique_ptr<Session> open(const std::shared_ptr<const Model>& model, const SessionOptions& options = {}) {
  auto session = Session::create(model, options);
  if (!session) ADD_FAILURE() << session.error().message;
  return *std::move(session);
}

/// Logits after the last of the ids, fed in pieces of this size.
std::vector<float> logits_in_pieces(Session& session, std::span<const TokenId> ids, size_t piece) {
  std::span<const float> logits;
  for (size_t first = 0; first < ids.size(); first += piece) {
    const auto result = session.forward(ids.subspan(first, std::min(piece, ids.size() - first)));
    if (!result) ADD_FAILURE() << result.error().message;
    logits = *result;
  }
  return {logits.begin(), logits.end()};
}

/// A Gemma-like model with a sliding window, whose matrices are of this type.
TinyPackage windowed(DType dtype) {
  TinyPackage tiny;
  tiny.spec.layer_types[0] = LayerType::kSlidingAttention;
  tiny.spec.sliding_window = 20;
  tiny.spec.rope_local_base_freq = 1000;
  tiny.quantise(dtype);
  return tiny;
}

TEST(Session, BlocksAndThreadsDoNotChangeABit) {
  const auto ids = some_ids(140);  // more than one block, more than one window
  for (const DType dtype : {DType::kF32, DType::kQ8Row, DType::kQ4Tiled}) {
    const auto model = load(windowed(dtype));
    for (const bool exact : {false, true}) {
      for (const kernels::Variant* variant : kernels::variants()) {
        if (!kernels::runs_here(*variant)) continue;
        SessionOptions options{
            .threads = 1, .exact = exact, .kernels = std::string(kernels::name_of(*variant))};
        const auto wanted = logits_in_pieces(*open(model, options), ids, ids.size());
        const auto where = options.kernels + (exact ? " exact" : " fast") + " type " +
                           std::to_string(static_cast<int>(dtype));
        for (const size_t piece : {size_t{1}, size_t{33}})
          EXPECT_EQ(logits_in_pieces(*open(model, options), ids, piece), wanted)
              << where << ", pieces of " << piece;
        for (const size_t threads : {size_t{2}, size_t{3}}) {
          options.threads = threads;
          EXPECT_EQ(logits_in_pieces(*open(model, options), ids, ids.size()), wanted)
              << where << ", more threads";
          EXPECT_EQ(logits_in_pieces(*open(model, options), std::span(ids), 50), wanted)
              << where << ", more threads, pieces";
        }
      }
    }
  }
}

TEST(Session, EveryCacheTypeIsIndependentOfBlocks) {
  const auto ids = some_ids(70);
  const auto model = load(windowed(DType::kQ8Row));
  std::vector<std::vector<float>> results;
  for (const KvType kv : {KvType::kF32, KvType::kF16, KvType::kQ8}) {
    const SessionOptions options{.threads = 2, .kv = kv};
    results.push_back(logits_in_pieces(*open(model, options), ids, ids.size()));
    EXPECT_EQ(logits_in_pieces(*open(model, options), ids, 1), results.back()) << static_cast<int>(kv);
  }
  EXPECT_NE(results[0], results[1]);
  EXPECT_NE(results[1], results[2]);
}

TEST(Session, TheWindowHidesWhatLiesBeforeIt) {
  TinyPackage tiny;
  tiny.spec.layer_types.assign(2, LayerType::kSlidingAttention);
  tiny.spec.sliding_window = 5;
  const auto model = load(tiny);
  // Two layers of window 5: the last position sees 9 ids, itself included.
  auto ids = some_ids(20);
  const auto wanted = logits_in_pieces(*open(model), ids, ids.size());
  ids[10] = (ids[10] + 1) % 80;
  EXPECT_EQ(logits_in_pieces(*open(model), ids, ids.size()), wanted);
  ids[11] = (ids[11] + 1) % 80;
  EXPECT_NE(logits_in_pieces(*open(model), ids, ids.size()), wanted);
}

TEST(Session, ForwardEachGivesTheLogitsOfEveryPosition) {
  const auto ids = some_ids(140);
  const auto model = load(windowed(DType::kQ8Row));
  const auto one_by_one = open(model);
  const auto at_once = open(model);
  size_t wanted_index = 0;
  const auto status = at_once->forward_each(ids, [&](size_t index, std::span<const float> logits) -> Status {
    EXPECT_EQ(index, wanted_index);
    const auto wanted = one_by_one->forward({&ids[wanted_index++], 1});
    EXPECT_TRUE(std::ranges::equal(logits, *wanted)) << index;
    return {};
  });
  ASSERT_TRUE(status);
  EXPECT_EQ(wanted_index, ids.size());
  EXPECT_EQ(at_once->position(), ids.size());
}

TEST(Session, ForwardEachPassesOnAnError) {
  const auto session = open(load(TinyPackage()));
  const auto status = session->forward_each(some_ids(3), [](size_t index, std::span<const float>) -> Status {
    return index == 1 ? fail(Fault::kRefused, "enough") : Status{};
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "enough");
}

TEST(Session, TruncatingIsAsIfTheRestHadNeverBeen) {
  const auto ids = some_ids(60);
  const auto session = open(load(windowed(DType::kF32)));
  const auto wanted = logits_in_pieces(*session, std::span(ids).first(40), 40);
  ASSERT_TRUE(session->prefill(std::span(ids).subspan(40)));
  session->truncate(100);
  EXPECT_EQ(session->position(), 60u);
  session->truncate(30);
  EXPECT_TRUE(std::ranges::equal(session->ids(), std::span(ids).first(30)));
  EXPECT_EQ(logits_in_pieces(*session, std::span(ids).subspan(30, 10), 3), wanted);
  session->reset();
  EXPECT_EQ(logits_in_pieces(*session, std::span(ids).first(40), 11), wanted);
}

TEST(Session, LongRopeDependsOnTheLengthAlone) {
  TinyPackage tiny;
  tiny.spec.longrope = LongRopeSpec{.short_factors = std::vector<float>(8, 1.0f),
                                    .long_factors = {1, 1, 2, 2, 3, 3, 4, 4},
                                    .original_max_position_embeddings = 32,
                                    .attention_factor = 1.1};
  const auto model = load(tiny);
  const auto ids = some_ids(50);
  const auto whole = logits_in_pieces(*open(model), ids, 50);
  EXPECT_EQ(logits_in_pieces(*open(model), ids, 1), whole);
  const auto session = open(model);
  ASSERT_TRUE(session->prefill(ids));
  session->truncate(10);
  const auto back = logits_in_pieces(*session, std::span(ids).subspan(10, 20), 20);
  const auto only_short = logits_in_pieces(*open(model), std::span(ids).first(30), 30);
  EXPECT_EQ(back, only_short);
  tiny.spec.longrope->long_factors.assign(8, 1.0f);
  EXPECT_NE(logits_in_pieces(*open(load(tiny)), ids, 50), whole);
}

TEST(Session, RefusesIdsThatItCannotRun) {
  const auto session = open(load(TinyPackage()), {.context = 10});
  ASSERT_TRUE(session->prefill(some_ids(4)));
  const auto too_many = session->forward(some_ids(7));
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().fault, Fault::kUsage);
  EXPECT_THAT(too_many.error().message, HasSubstr("11 tokens do not fit into a context of 10 positions"));
  EXPECT_EQ(session->forward({}).error().fault, Fault::kUsage);
  const std::vector<TokenId> outside{1, 80};
  EXPECT_THAT(session->forward(outside).error().message,
              HasSubstr("token id 80 is outside the vocabulary of 80"));
  EXPECT_EQ(session->position(), 4u) << "nothing was appended";
  EXPECT_TRUE(session->forward(some_ids(6)));
}

TEST(Session, RefusesOptionsThatMakeNoSense) {
  const auto model = load(TinyPackage());
  const auto unknown = Session::create(model, {.kernels = "abacus"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().fault, Fault::kUsage);
  EXPECT_THAT(unknown.error().message, HasSubstr("scalar"));
  EXPECT_EQ(Session::create(model, {.threads = 1'000'000}).error().fault, Fault::kUsage);
}

TEST(Session, SaysWhatItRunsOn) {
  const auto model = load(TinyPackage());
  const auto fast = open(model, {.threads = 2, .kernels = "scalar"});
  EXPECT_EQ(fast->context(), 400u);
  EXPECT_EQ(fast->threads(), 2u);
  EXPECT_EQ(fast->kernels(), "scalar");
  EXPECT_EQ(fast->kv_type(), KvType::kF16);
  EXPECT_EQ(open(model, {.exact = true})->kv_type(), KvType::kF32);
  EXPECT_EQ(open(model, {.exact = true, .kv = KvType::kF16})->kv_type(), KvType::kF16);
  ASSERT_TRUE(fast->prefill(some_ids(3)));
  const MemoryUse memory = fast->memory();
  EXPECT_EQ(memory.kv_used, 3u * 2 * 2 * 2 * 16 * 2);
  EXPECT_GE(memory.kv_reserved, 400u * 2 * 2 * 2 * 16 * 2);
  EXPECT_EQ(memory.weights_mapped, model->mapped_bytes());
  EXPECT_GT(memory.scratch, 0u);
}

TEST(Session, CopiesOfWeightsChangeNoBit) {
  const auto model = load(TinyPackage());
  const auto copying = open(model, {.threads = 2}),
             mapped = open(model, {.threads = 2, .copy_weights = false});
  for (uint32_t id = 1; id < 12; ++id) {
    const auto wanted = *mapped->forward(std::span(&id, 1)), got = *copying->forward(std::span(&id, 1));
    EXPECT_TRUE(std::ranges::equal(got, wanted)) << id;
  }
  EXPECT_GT(copying->memory().weights_copied, 0u);
  EXPECT_EQ(mapped->memory().weights_copied, 0u);
  // Another session of the model shares them.
  EXPECT_EQ(open(model)->memory().weights_copied, copying->memory().weights_copied);
  EXPECT_EQ(open(model, {.exact = true})->memory().weights_copied, 0u);
}

TEST(Session, ArgmaxTakesTheLowerOfEquals) {
  const auto session = open(load(TinyPackage()));
  const std::vector<float> logits{1, 5, 2, 5};
  EXPECT_EQ(session->argmax(logits), 1u);
}

}  // namespace
}  // namespace amphora
