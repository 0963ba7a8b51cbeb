// Element types by hand-made payloads: layouts as the format page writes them, rounding, what is refused.
#include "quant/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/half.h"
#include "base/testing/test_data.h"
#include "quant/ladder.h"
#include "quant/testing/payloads.h"

namespace amphora::quant {
namespace {

using testing::bytes_of;
using testing::decode_all;
using testing::Dimensions;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using testing::numbers_of;

/// With widths for the types that need them, and an overlay for those that have one.
Result<ByteVector> encode_all(DType dtype, std::span<const float> values, const Dimensions& shape) {
  const std::vector<uint8_t> widths = testing::widths_in_turn(shape[0]);
  return testing::encode_all(dtype, values, shape, {.overlay_share = 0.1, .row_widths = widths});
}

const DType kComplete[] = {DType::kF32,     DType::kF16,  DType::kBF16, DType::kQ8Row,
                           DType::kQ4Block, DType::kVbit, DType::kQ82F, DType::kVbitRo,
                           DType::kQ4Tiled, DType::kQ1,   DType::kQ1S,  DType::kQ1T};

/// Those whose steps are no wider than those of 4 bits.
const DType kStepped[] = {DType::kF32,     DType::kF16,  DType::kBF16,   DType::kQ8Row,
                          DType::kQ4Block, DType::kQ82F, DType::kQ4Tiled};

TEST(Codecs, AreThoseOfThePageInIdOrder) {
  std::vector<std::pair<int, std::string_view>> found;
  for (const Codec& codec : codecs()) found.emplace_back(static_cast<int>(codec.dtype), codec.name);
  using P = std::pair<int, std::string_view>;
  EXPECT_THAT(found, ElementsAre(P{0, "f32"}, P{1, "f16"}, P{2, "bf16"}, P{3, "q8_row"}, P{4, "q4_block"},
                                 P{6, "u8"}, P{8, "vbit"}, P{9, "q8_2f"}, P{10, "vbit_ro"}, P{11, "q4_tiled"},
                                 P{12, "q1"}, P{13, "q1s"}, P{14, "q1t"}, P{15, "q4tp"}, P{16, "q2tp"}));
  for (const int unknown : {5, 7, 17, 99, 255})
    EXPECT_FALSE(find_codec(static_cast<uint8_t>(unknown))) << unknown;
}

TEST(Codecs, AreFoundByPageAndCommandLineName) {
  EXPECT_EQ(find_codec("q8")->dtype, DType::kQ8Row);
  EXPECT_EQ(find_codec("q8_row")->dtype, DType::kQ8Row);
  EXPECT_EQ(find_codec("q4")->dtype, DType::kQ4Block);
  EXPECT_EQ(find_codec("q4t")->dtype, DType::kQ4Tiled);
  EXPECT_EQ(find_codec("q8_2f")->dtype, DType::kQ82F);
  EXPECT_EQ(find_codec("vbit")->dtype, DType::kVbit);
  EXPECT_EQ(find_codec("vbit_ro")->dtype, DType::kVbitRo);
  EXPECT_EQ(find_codec("q1t")->dtype, DType::kQ1T);
  EXPECT_FALSE(find_codec(""));
  EXPECT_FALSE(find_codec("q5"));
  EXPECT_EQ(name_of(DType::kQ4TP), "q4tp");
}

TEST(Codecs, SizesAreThoseOfThePage) {
  const auto size = [](DType dtype, const Dimensions& shape) {
    return find_codec(dtype)->payload_bytes(shape);
  };
  EXPECT_EQ(size(DType::kF32, {}), 4u);
  EXPECT_EQ(size(DType::kF16, {3, 5}), 30u);
  EXPECT_EQ(size(DType::kBF16, {0, 5}), 0u);
  EXPECT_EQ(size(DType::kQ8Row, {3, 5}), 15u + 6);
  EXPECT_EQ(size(DType::kQ82F, {3, 5}), 15u + 6 + 10);
  EXPECT_EQ(size(DType::kQ4Block, {3, 11}), 2u * 16 + 2 * 2);  // 33 elements: two groups
  EXPECT_EQ(size(DType::kQ4Tiled, {3, 64}), 6u * 18);
  EXPECT_EQ(size(DType::kQ1, {3, 64}), 6u * 6);
  EXPECT_EQ(size(DType::kQ4TP, {3, 96}), 9u * 16 + 3 * 4 + 3 * 2);  // three codes of 5 bits: two bytes a row
  EXPECT_EQ(size(DType::kQ2TP, {3, 96}), 9u * 8 + 3 * 4 + 3 * 2);
  EXPECT_EQ(size(DType::kU8, {7}), 7u);
}

TEST(Codecs, SizesThatOverflowAreEmpty) {
  const uint64_t big = uint64_t{1} << 32;
  EXPECT_FALSE(find_codec(DType::kF32)->payload_bytes(Dimensions{big, big}));
  EXPECT_FALSE(
      find_codec(DType::kF32)->payload_bytes(Dimensions{big, big >> 2}));  // 2^62 elements of 4 bytes
  EXPECT_FALSE(find_codec(DType::kQ8Row)->payload_bytes(Dimensions{uint64_t{1} << 63, 1}));
  EXPECT_EQ(find_codec(DType::kF32)->payload_bytes(Dimensions{0, big, big, big}), 0u);
}

TEST(Codecs, PlaceRulesAreThoseOfThePage) {
  const auto allows = [](DType dtype, const Dimensions& shape, std::string_view name = "w") {
    return find_codec(dtype)->check_place(name, shape).has_value();
  };
  EXPECT_TRUE(allows(DType::kF32, {}));
  EXPECT_TRUE(allows(DType::kQ4Block, {3, 3, 7}));
  EXPECT_TRUE(allows(DType::kQ8Row, {3, 5}));
  EXPECT_FALSE(allows(DType::kQ8Row, {15}));
  EXPECT_FALSE(allows(DType::kQ82F, {1, 3, 5}));
  for (const DType dtype : {DType::kVbit, DType::kVbitRo, DType::kQ4Tiled, DType::kQ1, DType::kQ1S,
                            DType::kQ1T, DType::kQ4TP, DType::kQ2TP}) {
    EXPECT_TRUE(allows(dtype, {3, 64})) << name_of(dtype);
    EXPECT_FALSE(allows(dtype, {3, 33})) << name_of(dtype);
    EXPECT_FALSE(allows(dtype, {64})) << name_of(dtype);
  }
  EXPECT_TRUE(allows(DType::kQ1T, {1, 65504}));
  EXPECT_FALSE(allows(DType::kQ1T, {1, 65536}));
  EXPECT_TRUE(allows(DType::kU8, {5}, "te.config_json"));
  EXPECT_FALSE(allows(DType::kU8, {5}, "te.weight"));
  EXPECT_FALSE(allows(DType::kU8, {5, 1}, "te.config_json"));
}

TEST(Q8Row, DecodesCodeTimesScale) {
  // codes 1 −2 127 | −128 0 3, scales 0.5 and 2
  const ByteVector payload = bytes_of({1, 0xFE, 0x7F, 0x80, 0, 3, 0x00, 0x38, 0x00, 0x40});
  EXPECT_THAT(decode_all(DType::kQ8Row, payload, {2, 3}),
              ElementsAre(0.5f, -1.0f, 63.5f, -256.0f, 0.0f, 6.0f));
}

TEST(Q82F, DecodesCodeTimesRowTimesColumn) {
  // codes 1 −2 | 127 −128, rows 0.5 2, columns 4 0.25
  const ByteVector payload = bytes_of({1, 0xFE, 0x7F, 0x80, 0x00, 0x38, 0x00, 0x40, 0x00, 0x44, 0x00, 0x34});
  EXPECT_THAT(decode_all(DType::kQ82F, payload, {2, 2}), ElementsAre(2.0f, -0.25f, 1016.0f, -64.0f));
}

TEST(Q4Tiled, DecodesLowNibblesFirst) {
  ByteVector payload = bytes_of({0x00, 0x3C, 0xF0});  // scale 1, codes 0 and 15
  payload.resize(18, std::byte{0x88});
  const std::vector<float> values = decode_all(DType::kQ4Tiled, payload, {1, 32});
  EXPECT_EQ(values[0], -8.0f);
  EXPECT_EQ(values[1], 7.0f);
  EXPECT_EQ(values[2], 0.0f);
}

TEST(Q4Block, KeepsScalesBehindAllCodesAndPadsWithCode8) {
  std::vector<float> values(33, 0.0f);
  values[0] = 7.0f;
  values[32] = -3.5f;
  const auto payload = encode_all(DType::kQ4Block, values, {33});
  ASSERT_TRUE(payload);
  EXPECT_EQ(numbers_of(*payload)[0], 0x8F);   // 7 → 15, 0 → 8
  EXPECT_EQ(numbers_of(*payload)[16], 0x81);  // −3.5 / 0.5 = −7 → 1, padding 8
  EXPECT_THAT(numbers_of(Bytes(*payload).subspan(32)),
              ElementsAre(0x00, 0x3C, 0x00, 0x38));  // scales 1 and 0.5
  EXPECT_THAT(decode_all(DType::kQ4Block, *payload, {33}), ElementsAreArray(values));
}

TEST(Encoders, RoundTiesToEvenAfterRoundingTheScale) {
  // absmax 127: the scale is 1. 0.5 → 0, 1.5 → 2, 2.5 → 2, −0.5 → 0, −1.5 → −2
  const auto payload =
      encode_all(DType::kQ8Row, std::vector<float>{127, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f}, {1, 6});
  ASSERT_TRUE(payload);
  EXPECT_THAT(numbers_of(*payload), ElementsAre(127, 0, 2, 2, 0, 0xFE, 0x00, 0x3C));
}

TEST(Encoders, ScaleIsAtLeastTheSmallestNormalHalf) {
  for (const DType dtype : {DType::kQ8Row, DType::kQ4Tiled, DType::kQ4Block}) {
    const auto payload = encode_all(dtype, std::vector<float>(32, 0.0f), {1, 32});
    ASSERT_TRUE(payload);
    const Bytes scale = dtype == DType::kQ4Tiled ? Bytes(*payload).first(2) : Bytes(*payload).last(2);
    EXPECT_THAT(numbers_of(scale), ElementsAre(0x00, 0x04)) << name_of(dtype);
    EXPECT_THAT(decode_all(dtype, *payload, {1, 32}), ElementsAreArray(std::vector<float>(32, 0.0f)));
  }
}

TEST(Encoders, HalfAndBfloatRoundTiesToEven) {
  // 1 + 2^-11 and 1 + 3 · 2^-11 lie halfway between halves; 2^-25 · 3 between subnormals.
  const auto half =
      encode_all(DType::kF16, std::vector<float>{1 + 0x1p-11f, 1 + 3 * 0x1p-11f, 3 * 0x1p-25f}, {3});
  ASSERT_TRUE(half);
  EXPECT_THAT(numbers_of(*half), ElementsAre(0x00, 0x3C, 0x02, 0x3C, 0x02, 0x00));
  const auto bfloat = encode_all(DType::kBF16, std::vector<float>{1 + 0x1p-8f, 1 + 3 * 0x1p-8f}, {2});
  ASSERT_TRUE(bfloat);
  EXPECT_THAT(numbers_of(*bfloat), ElementsAre(0x80, 0x3F, 0x82, 0x3F));
}

TEST(Encoders, RefuseNanAndInfinityNamingTheFlatIndex) {
  for (const DType dtype : kComplete)
    for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                            -std::numeric_limits<float>::infinity()}) {
      std::vector<float> values(64, 1.0f);
      values[37] = bad;
      const auto payload = encode_all(dtype, values, {2, 32});
      ASSERT_FALSE(payload) << name_of(dtype);
      EXPECT_EQ(payload.error().fault, Fault::kRefused);
      EXPECT_THAT(payload.error().message, ::testing::HasSubstr("flat index 37")) << name_of(dtype);
    }
}

TEST(Encoders, RefuseWhatTheTypeCannotHoldNamingTheFlatIndex) {
  struct Limit {
    DType dtype;
    float fits, too_large;
  };
  const Limit kLimits[] = {
      {DType::kF16, 65519.0f, 65520.0f},             // the first that rounds to infinity
      {DType::kBF16, 0x1.FEFFFEp127f, 0x1.FFp127f},  // halfway to 2^128 rounds up
      {DType::kQ8Row, 127 * 65504.0f, 127 * 65600.0f},
      {DType::kQ4Block, 7 * 65504.0f, 7 * 65600.0f},
      {DType::kQ4Tiled, 7 * 65504.0f, 7 * 65600.0f},
      {DType::kQ82F, 65504.0f, 2 * 65600.0f},  // two rows: the column's root mean square is 1/√2 of it
  };
  for (const Limit& limit : kLimits) {
    std::vector<float> values(64, 0.0f);
    values[37] = -limit.fits;
    EXPECT_TRUE(encode_all(limit.dtype, values, {2, 32})) << name_of(limit.dtype);
    values[37] = -limit.too_large;
    const auto payload = encode_all(limit.dtype, values, {2, 32});
    ASSERT_FALSE(payload) << name_of(limit.dtype);
    EXPECT_THAT(payload.error().message, ::testing::HasSubstr("flat index 37")) << name_of(limit.dtype);
  }
}

TEST(Encoders, StayWithinHalfAStepOfEveryValue) {
  const Dimensions shape{3, 96};
  const std::vector<float> values = amphora::testing::random_floats(/*seed=*/7, 3 * 96);
  for (const DType dtype : kStepped) {
    const auto payload = encode_all(dtype, values, shape);
    ASSERT_TRUE(payload);
    const std::vector<float> decoded = decode_all(dtype, *payload, shape);
    // The widest step of any type here is that of 4 bits: absmax/7; half of it, and the scale's own rounding
    // at the end.
    float largest = 0;
    for (const float value : values) largest = std::max(largest, std::fabs(value));
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_NEAR(decoded[i], values[i], largest / 14 + largest * 0x1p-10f) << name_of(dtype) << " " << i;
  }
}

TEST(Decoders, AnyRangeEqualsThePartOfTheWhole) {
  const Dimensions shape{3, 64};
  const std::vector<float> values = amphora::testing::random_floats(/*seed=*/8, 3 * 64);
  for (const DType dtype : kComplete) {
    const auto payload = encode_all(dtype, values, shape);
    ASSERT_TRUE(payload) << name_of(dtype);
    const std::vector<float> whole = decode_all(dtype, *payload, shape);
    for (size_t first = 0; first <= whole.size(); ++first)
      for (size_t count = 0; first + count <= whole.size(); ++count) {
        const std::vector<float> part = testing::decode_range(dtype, *payload, shape, first, count);
        ASSERT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<ptrdiff_t>(first)))
            << name_of(dtype) << " " << first << "+" << count;
      }
  }
}

TEST(PayloadChecks, NameTheFirstScaleThatIsNotFinite) {
  struct Place {
    DType dtype;
    size_t offset;
  };
  // Shape [2, 64]: the second scale of each type.
  const Place kPlaces[] = {{DType::kQ8Row, 128 + 2},  {DType::kQ82F, 128 + 2}, {DType::kQ82F, 128 + 4 + 2},
                           {DType::kQ4Block, 64 + 2}, {DType::kQ4Tiled, 18},   {DType::kQ1, 6},
                           {DType::kQ4TP, 64 + 2},    {DType::kQ2TP, 32 + 2}};
  const Dimensions shape{2, 64};
  for (const Place& place : kPlaces) {
    const Codec& codec = *find_codec(place.dtype);
    ByteVector payload(*codec.payload_bytes(shape));
    ASSERT_TRUE(codec.check_payload(payload, shape)) << codec.name;
    payload[place.offset + 1] = std::byte{0x7C};  // infinity
    const Status status = codec.check_payload(payload, shape);
    ASSERT_FALSE(status) << codec.name;
    EXPECT_EQ(status.error().offset, place.offset) << codec.name;
    EXPECT_EQ(status.error().code, "Parse");
  }
}

TEST(U8, HoldsBytesOnly) {
  const auto payload = encode_all(DType::kU8, std::vector<float>{0, 123, 255}, {3});
  ASSERT_TRUE(payload);
  EXPECT_THAT(numbers_of(*payload), ElementsAre(0, 123, 255));
  EXPECT_THAT(decode_all(DType::kU8, *payload, {3}), ElementsAre(0.0f, 123.0f, 255.0f));
  for (const float bad : {-1.0f, 0.5f, 256.0f})
    EXPECT_FALSE(encode_all(DType::kU8, std::vector<float>{bad}, {1})) << bad;
}

TEST(Ladder, StepsAreRoundedProducts) {
  const auto rungs = ladder(0.0f, 0.5f);
  EXPECT_EQ(rungs[0], 1.0f);
  const float ratio = 1.41421354f;  // 2^0.5 in binary32
  EXPECT_EQ(rungs[1], ratio);
  EXPECT_EQ(rungs[2], ratio * ratio);
  EXPECT_EQ(ladder(-14.0f, 0.0f)[31], 0x1p-14f);
}

TEST(Ladder, Exp2IsExactAtWholeNumbersAndNearElsewhere) {
  for (int k = -149; k <= 127; ++k) EXPECT_EQ(ladder_exp2(static_cast<float>(k)), std::ldexp(1.0f, k)) << k;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = half_to_float(static_cast<uint16_t>(bits));
    if (!(std::fabs(x) < 126)) continue;
    const double wanted = std::exp2(static_cast<double>(x));
    EXPECT_NEAR(ladder_exp2(x), wanted, wanted * 0x1.01p-24)
        << x;  // half a unit in the last place and a little
  }
  EXPECT_EQ(ladder_exp2(65504.0f), std::numeric_limits<float>::infinity());
  EXPECT_EQ(ladder_exp2(-65504.0f), 0.0f);
}

}  // namespace
}  // namespace amphora::quant
