// q1, q1s and q1t: signs, base-3 codes and overlays.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/testing/test_data.h"
#include "quant/testing/payloads.h"

namespace amphora::quant {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace testing;

/// −16 … 15, three of them replaced by +100, −100, +100.
std::vector<float> sample_group() {
  std::vector<float> values;
  for (int i = -16; i < 16; ++i) values.push_back(static_cast<float>(i));
  values[3] = 100;
  values[20] = -100;
  values[21] = 100;
  return values;
}

std::vector<int> encoded(DType dtype, double share) {
  const auto payload = encode_all(dtype, sample_group(), {1, 32}, {.overlay_share = share});
  return payload ? numbers_of(*payload) : std::vector<int>{};
}

// The literals of the next three tests are what the strict reference in Python gave for the same group.
TEST(Q1, EncodesToTheBytesOfTheReference) {
  EXPECT_THAT(encoded(DType::kQ1, 0), ElementsAre(44, 76, 8, 0, 239, 255));
}

TEST(Q1S, EncodesToTheBytesOfTheReference) {
  EXPECT_THAT(encoded(DType::kQ1S, 1.0 / 32),
              ElementsAre(0, 75, 8, 0, 239, 255, 1, 0, 0, 0, 3, 0, 0, 0, 64, 86));
  EXPECT_THAT(encoded(DType::kQ1S, 2.0 / 32),
              ElementsAre(145, 73, 8, 0, 239, 255, 2, 0, 0, 0, 3, 0, 0, 0, 64, 86, 20, 0, 0, 0, 64, 214));
}

TEST(Q1T, EncodesToTheBytesOfTheReference) {
  EXPECT_THAT(encoded(DType::kQ1T, 0), ElementsAre(172, 80, 215, 0, 0, 0, 5, 108, 4, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_THAT(encoded(DType::kQ1T, 2.0 / 32), ElementsAre(56, 76, 188, 80, 0, 0, 84, 121, 4, 0, 0, 0, 0, 2, 0,
                                                          0, 0, 3, 0, 64, 86, 20, 0, 64, 214));
}

TEST(Overlays, MayHoldAWholeGroup) {
  // The group has no weight left for its scale: the floor 2^-14; all codes of q1t are 0.
  for (const DType dtype : {DType::kQ1S, DType::kQ1T}) {
    const auto payload = encode_all(dtype, sample_group(), {1, 32}, {.overlay_share = 1});
    ASSERT_TRUE(payload);
    EXPECT_THAT(numbers_of(Bytes(*payload).first(2)), ElementsAre(0, 4)) << name_of(dtype);
    EXPECT_EQ(decode_all(dtype, *payload, {1, 32}), sample_group()) << name_of(dtype);
    EXPECT_TRUE(find_codec(dtype)->check_tables(*payload, Dimensions{1, 32}));
    EXPECT_TRUE(find_codec(dtype)->check_payload(*payload, Dimensions{1, 32}));
  }
}

TEST(Overlays, HaveTheDefaultShareOfThePage) {
  const Dimensions shape{10, 64};  // 640 weights: 6.4 of them
  EXPECT_EQ(encoded_bytes(*find_codec(DType::kQ1S), shape, {}), 20u * 6 + 4 + 6 * 6);
  EXPECT_EQ(encoded_bytes(*find_codec(DType::kQ1T), shape, {}), 20u * 9 + 4 * 11);
  EXPECT_EQ(encoded_bytes(*find_codec(DType::kQ1T), shape, {.overlay_share = 0.01}),
            20u * 9 + 4 * 11 + 4 * 6);
}

TEST(Overlays, RefuseSharesThatAreNone) {
  for (const DType dtype : {DType::kQ1S, DType::kQ1T})
    for (const double bad : {-0.5, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
      EXPECT_FALSE(encoded_bytes(*find_codec(dtype), Dimensions{1, 32}, {.overlay_share = bad}));
      EXPECT_FALSE(encode_all(dtype, sample_group(), {1, 32}, {.overlay_share = bad})) << bad;
    }
}

TEST(Overlays, RefuseMoreThanTheirFieldsCount) {
  const Dimensions too_many{(uint64_t{1} << 27) + 1, 32};  // 2^32 + 32 weights
  const auto q1s = find_codec(DType::kQ1S)->encode({}, too_many, {.overlay_share = 0}, {});
  ASSERT_FALSE(q1s);
  EXPECT_THAT(q1s.error().message, HasSubstr("q1s numbers weights with 32 bits"));
  EXPECT_FALSE(encoded_bytes(*find_codec(DType::kQ1S), too_many, {}));
  const Dimensions all_but_one{uint64_t{1} << 27, 32};
  const auto full = find_codec(DType::kQ1S)->encode({}, all_but_one, {.overlay_share = 1}, {});
  ASSERT_FALSE(full);
  EXPECT_THAT(full.error().message, HasSubstr("q1s counts overlay entries with 32 bits"));
  const auto q1t = find_codec(DType::kQ1T)->encode({}, too_many, {.overlay_share = 1}, {});
  ASSERT_FALSE(q1t);
  EXPECT_THAT(q1t.error().message, HasSubstr("q1t counts overlay entries with 32 bits"));
}

TEST(Overlays, RefuseAnOutlierThatF16CannotHold) {
  std::vector<float> values = sample_group();
  values[9] = -65520;
  for (const DType dtype : {DType::kQ1S, DType::kQ1T}) {
    const auto payload = encode_all(dtype, values, {1, 32}, {.overlay_share = 0.05});
    ASSERT_FALSE(payload);
    EXPECT_EQ(payload.error().fault, Fault::kRefused);
    EXPECT_THAT(payload.error().message, HasSubstr("flat index 9"));
  }
}

TEST(Q1, EncodesDifficultGroupsToFiniteValues) {
  std::vector<std::vector<float>> groups(4, std::vector<float>(64, 0.0f));
  std::ranges::fill(groups[1], -0.3f);
  std::ranges::fill(groups[2], 1e-6f);
  groups[2][40] = 6e4f;
  for (size_t i = 0; i < 64; ++i) groups[3][i] = static_cast<float>(i) * 0x1p-149f;
  for (const DType dtype : {DType::kQ1, DType::kQ1S, DType::kQ1T})
    for (const std::vector<float>& group : groups) {
      const auto payload = encode_all(dtype, group, {2, 32}, {.overlay_share = 0.02});
      ASSERT_TRUE(payload) << name_of(dtype);
      for (const float value : decode_all(dtype, *payload, {2, 32}))
        EXPECT_TRUE(std::isfinite(value)) << name_of(dtype);
    }
}

TEST(Q1, ScaleBeyondF16IsRefused) {
  for (const DType dtype : {DType::kQ1, DType::kQ1T}) {
    std::vector<float> values(32, 65504.0f);
    EXPECT_TRUE(encode_all(dtype, values, {1, 32}));
    std::ranges::fill(values, 65520.0f);
    values[5] = 65600.0f;
    const auto payload = encode_all(dtype, values, {1, 32});
    ASSERT_FALSE(payload);
    EXPECT_THAT(payload.error().message, HasSubstr("flat index 5"));
  }
}

/// One row of 32: scale 2, all bits set, then the overlay.
ByteVector q1s_row(const std::vector<std::pair<uint32_t, uint16_t>>& entries) {
  ByteVector payload =
      bytes_of({0x00, 0x40, 0xFF, 0xFF, 0xFF, 0xFF, static_cast<int>(entries.size()), 0, 0, 0});
  for (const auto& [index, value] : entries) {
    for (int i = 0; i < 4; ++i) payload.push_back(static_cast<std::byte>(index >> 8 * i));
    for (int i = 0; i < 2; ++i) payload.push_back(static_cast<std::byte>(value >> 8 * i));
  }
  return payload;
}

/// One row of 32: scale 2, the seven code bytes alike, then the overlay.
ByteVector q1t_row(int codes, const std::vector<std::pair<uint16_t, uint16_t>>& entries) {
  ByteVector payload = bytes_of({0x00, 0x40, codes, codes, codes, codes, codes, codes, codes, 0, 0, 0, 0,
                                 static_cast<int>(entries.size()), 0, 0, 0});
  for (const auto& [column, value] : entries)
    for (const uint16_t field : {column, value})
      for (int i = 0; i < 2; ++i) payload.push_back(static_cast<std::byte>(field >> 8 * i));
  return payload;
}

TEST(Q1S, OverlayReplacesTheBase) {
  const std::vector<float> values = decode_all(DType::kQ1S, q1s_row({{0, 0x3C00}, {31, 0xC200}}), {1, 32});
  EXPECT_EQ(values[0], 1.0f);
  EXPECT_EQ(values[31], -3.0f);
  EXPECT_THAT(std::span(values).subspan(1, 30), Each(2.0f));
}

TEST(Q1T, CodesAreBase3LeastSignificantFirst) {
  // 5 = 12 in base 3: −s, +s, 0, 0, 0
  const std::vector<float> values = decode_all(DType::kQ1T, q1t_row(5, {{2, 0x3C00}}), {1, 32});
  EXPECT_THAT(std::span(values).first(7), ElementsAre(-2.0f, 2.0f, 1.0f, 0.0f, 0.0f, -2.0f, 2.0f));
  EXPECT_THAT(std::span(values).last(2), ElementsAre(-2.0f, 2.0f));
}

/// Decodes every range of a payload that only the tables' check has passed; the sanitizers watch.
void decode_every_range(DType dtype, const ByteVector& payload) {
  ASSERT_TRUE(find_codec(dtype)->check_tables(payload, Dimensions{1, 32}));
  ASSERT_FALSE(find_codec(dtype)->check_payload(payload, Dimensions{1, 32}));
  for (uint64_t first = 0; first <= 32; ++first)
    for (uint64_t count = 0; first + count <= 32; ++count)
      decode_range(dtype, payload, {1, 32}, first, count);
}

TEST(Q1S, StaysWithinItsBytesWhateverTheOverlaySays) {
  for (const auto& entries :
       std::vector<std::vector<std::pair<uint32_t, uint16_t>>>{{{32, 0}},
                                                               {{0xFFFFFFFF, 0}},
                                                               {{5, 0}, {5, 0}},
                                                               {{9, 0}, {3, 0}},
                                                               {{31, 0}, {0, 0}, {0xFFFFFFFF, 0}},
                                                               {{0xFFFFFFFF, 0}, {0, 0}, {1, 0}}})
    decode_every_range(DType::kQ1S, q1s_row(entries));
}

TEST(Q1T, StaysWithinItsBytesWhateverTheOverlaySays) {
  for (const auto& entries :
       std::vector<std::vector<std::pair<uint16_t, uint16_t>>>{{{32, 0}},
                                                               {{0xFFFF, 0}},
                                                               {{5, 0}, {5, 0}},
                                                               {{9, 0}, {3, 0}},
                                                               {{31, 0}, {0, 0}, {0xFFFF, 0}},
                                                               {{0xFFFF, 0}, {0, 0}, {1, 0}}})
    decode_every_range(DType::kQ1T, q1t_row(0, entries));
}

TEST(Q1T, ReadsBytesAbove242AsTheFormulaHasIt) {
  // 255 = 100110 in base 3: the digits 0 1 1 0 0, as the sixth is not asked for.
  const ByteVector payload = q1t_row(255, {});
  const std::vector<float> values = decode_all(DType::kQ1T, payload, {1, 32});
  EXPECT_THAT(std::span(values).first(5), ElementsAre(0.0f, 2.0f, 2.0f, 0.0f, 0.0f));
  decode_every_range(DType::kQ1T, payload);
}

}  // namespace
}  // namespace amphora::quant
