// Cuts of a sequence whose windows or recurrent state have lost their past.
#include <gtest/gtest.h>

#include "engine/testing/tiny_session.h"

namespace amphora {
namespace {

using testing::open_session;
using testing::some_ids;

/// A window of 20 positions in layer 0, whose ring keeps 320 (20, 128 of a block, 128 spare, in steps of 64).
model::testing::TinyPackage windowed() {
  model::testing::TinyPackage tiny;
  tiny.spec.layer_types[0] = LayerType::kSlidingAttention;
  tiny.spec.sliding_window = 20;
  return tiny;
}

std::vector<float> logits_after(Session& session, std::span<const TokenId> ids) {
  const auto logits = session.forward(ids);
  if (!logits) {
    ADD_FAILURE() << logits.error().message;
    return {};
  }
  return {logits->begin(), logits->end()};
}

// After 600 positions the ring has lost those before 280. The first cut may stay; the second, though short,
// may not.
TEST(Sequence, TwoCutsAreAsOne) {
  const auto ids = some_ids(600);
  const auto begun = std::span(ids).first(200), next = std::span(ids).subspan(200, 10);
  const auto fresh = open_session(windowed(), 700);
  ASSERT_TRUE(fresh->prefill(begun));
  const auto wanted = logits_after(*fresh, next);

  const auto session = open_session(windowed(), 700);
  ASSERT_TRUE(session->prefill(ids));
  session->truncate(400);
  session->truncate(200);
  EXPECT_EQ(logits_after(*session, next), wanted);
}

// A mark from which the ring has moved away is of no use, however near the end the cut is.
TEST(Sequence, AMarkThatTheRingHasLeftIsNotTakenUp) {
  auto tiny = windowed();
  for (const std::string name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    tiny.remove("model.layers.1.self_attn." + name + ".weight");
  tiny.spec.layer_types[1] = LayerType::kShortConv;
  tiny.add("model.layers.1.short_conv.in_proj.weight", {192, 64});
  tiny.add("model.layers.1.short_conv.conv.weight", {64, 3});
  tiny.add("model.layers.1.short_conv.out_proj.weight", {64, 64});
  const auto ids = some_ids(600);
  const auto next = std::span(ids).subspan(590);
  const auto fresh = open_session(tiny, 700);
  ASSERT_TRUE(fresh->prefill(std::span(ids).first(590)));
  const auto wanted = logits_after(*fresh, next);

  const auto session = open_session(tiny, 700);
  ASSERT_TRUE(session->prefill(std::span(ids).first(100)));
  session->mark();
  ASSERT_TRUE(session->prefill(std::span(ids).subspan(100)));
  session->truncate(590);
  EXPECT_EQ(logits_after(*session, next), wanted);
}

}  // namespace
}  // namespace amphora
