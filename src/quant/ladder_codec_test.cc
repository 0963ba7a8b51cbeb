// q4tp and q2tp by payloads that the reference encoder made; logarithms, ladders and codes by themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/testing/test_data.h"
#include "quant/codec.h"
#include "quant/ladder.h"

namespace amphora::quant {
namespace {

using Dimensions = std::vector<uint64_t>;

std::string hex_of(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<int>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<int>(byte) & 15];
  }
  return text;
}

/// [2, 96]; the third group is zero.
std::vector<float> weights() {
  std::vector<float> values;
  for (int i = 0; i < 192; ++i)
    values.push_back(i / 32 == 2 ? 0.0f
                                 : std::ldexp(static_cast<float>(i * 37 % 101 - 50) / 64, -(i / 32 * 5 % 7)));
  return values;
}

struct Golden {
  DType dtype;
  const char* payload;                            ///< hexadecimal
  std::vector<std::pair<size_t, float>> decoded;  ///< of some flat indices
};

/// By the reference's encoder and decoder.
std::vector<Golden> goldens() {
  return {{DType::kQ4TP,
           "612bd8945e1ac7834df9b6723ce8a56f3bc7945e2ab7834de9a6723cd8a56e3b88888888888888888888888888888888"
           "935e1ab6824de9a5713cd8946f2bc7835efab6724de9a5613cd8945e2bc7834dfab6723de9a5612cd8945f1bc7834efa"
           "00cb983595c82a313f021f30",
           {{0, -0x1.9062acp-1f},
            {1, -0x1.c99558p-3f},
            {31, -0x1.c99558p-3f},
            {32, 0x1.713758p-7f},
            {63, -0x1.33ae2p-6f},
            {64, 0.0f},
            {95, 0.0f},
            {96, -0x1.1e2262p-2f},
            {97, 0x1.c9d09ep-5f},
            {130, 0x1.c8f6dap-9f},
            {191, 0x1.7ea1ep-5f}}},
          {DType::kQ2TP,
           "248d278de349e379d27992749e249e2700000000000000007892349e249e278de749e649d27992789e349e249d2789e7"
           "00cbbe36f1c62a319f023f34",
           {{0, -0x1.2b881cp-1f},
            {1, -0x1.8f6024p-3f},
            {31, -0x1.8f6024p-3f},
            {32, 0x1.012102p-7f},
            {63, -0x1.81b184p-6f},
            {64, 0.0f},
            {95, 0.0f},
            {96, -0x1.664288p-2f},
            {97, 0x1.ddae0cp-4f},
            {130, 0x1.0a9c7ap-8f},
            {191, 0x1.7eb3cep-5f}}}};
}

Result<ByteVector> encode(DType dtype, std::span<const float> values, const Dimensions& shape) {
  const Codec& codec = *find_codec(dtype);
  ByteVector payload(*codec.payload_bytes(shape));
  AMPHORA_TRY(codec.encode(values, shape, {}, payload));
  return payload;
}

TEST(LadderTypes, EncodeToTheBytesOfTheReference) {
  for (const Golden& golden : goldens()) {
    const auto payload = encode(golden.dtype, weights(), {2, 96});
    ASSERT_TRUE(payload) << payload.error().message;
    EXPECT_EQ(hex_of(*payload), golden.payload) << name_of(golden.dtype);
  }
}

TEST(LadderTypes, DecodeToTheValuesOfTheReference) {
  for (const Golden& golden : goldens()) {
    const auto payload = encode(golden.dtype, weights(), {2, 96});
    ASSERT_TRUE(payload);
    for (const auto& [index, wanted] : golden.decoded) {
      float found = 0;
      find_codec(golden.dtype)->decode(*payload, Dimensions{2, 96}, index, std::span(&found, 1));
      EXPECT_EQ(found, wanted) << name_of(golden.dtype) << " " << index;
    }
  }
}

TEST(LadderTypes, AnyRangeEqualsThePartOfTheWhole) {
  const Dimensions shape{3, 96};
  const std::vector<float> values = amphora::testing::random_floats(/*seed=*/8, 3 * 96);
  for (const DType dtype : {DType::kQ4TP, DType::kQ2TP}) {
    const auto payload = encode(dtype, values, shape);
    ASSERT_TRUE(payload);
    std::vector<float> whole(288);
    find_codec(dtype)->decode(*payload, shape, 0, whole);
    for (size_t first = 0; first < whole.size(); first += 5)
      for (const size_t count : {0, 1, 2, 33, 97, 200}) {
        if (first + count > whole.size()) continue;
        std::vector<float> part(count);
        find_codec(dtype)->decode(*payload, shape, first, part);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<ptrdiff_t>(first)))
            << name_of(dtype) << " " << first << "+" << count;
      }
  }
}

TEST(LadderTypes, OfNoRowsOrNoColumnsEncode) {
  for (const DType dtype : {DType::kQ4TP, DType::kQ2TP})
    for (const Encoder encoder : {Encoder::kPlain, Encoder::kSearch}) {
      const Codec& codec = *find_codec(dtype);
      EXPECT_EQ(codec.payload_bytes(Dimensions{0, 64}), 0u);
      EXPECT_TRUE(codec.encode({}, Dimensions{0, 64}, {.encoder = encoder}, {}));
      ByteVector payload(8, std::byte{0xFF});
      EXPECT_EQ(codec.payload_bytes(Dimensions{2, 0}), 8u);
      EXPECT_TRUE(codec.encode({}, Dimensions{2, 0}, {.encoder = encoder}, payload));
      EXPECT_EQ(hex_of(payload), "0000000000000000");
      EXPECT_TRUE(codec.check_payload(payload, Dimensions{2, 0}));
    }
}

TEST(Log2OfHalf, IsCorrectlyRounded) {
  // Python's decimal with 50 digits
  EXPECT_EQ(log2_of_half(0x0401), -0x1.bff476cd645e0p+3);
  EXPECT_EQ(log2_of_half(0x3C01), 0x1.712653743f454p-10);
  EXPECT_EQ(log2_of_half(0x3BFF), -0x1.716b8d86bc285p-11);
  EXPECT_EQ(log2_of_half(0x3D55), 0x1.a8a33f17b442bp-2);
  EXPECT_EQ(log2_of_half(0x7BFF), 0x1.fffa3a51c9e51p+3);
  for (int exponent = -14; exponent <= 15; ++exponent)
    EXPECT_EQ(log2_of_half(static_cast<uint16_t>((exponent + 15) << 10)), exponent);
}

TEST(Log2OfHalf, IsNextToTheLibrarysEverywhere) {
  for (uint16_t half = 0x0400; half < 0x7C00; ++half) {
    const double usual = std::log2(static_cast<double>(half_to_float(half))), found = log2_of_half(half);
    EXPECT_TRUE(found == usual || std::nextafter(usual, found) == found) << half;
  }
}

TEST(FitLadder, ReachesTheGreatestLevelFromTheHalfNextToTheLeast) {
  // −3.3 in f16 is −3.30078125; (−1.1 + 3.30078125) / 31 = 0.0709929…, the f16 above it 0x2C8C = 0.07104…
  const LadderParameters parameters = fit_ladder(std::vector<double>{-2.0, -3.3, -1.1});
  EXPECT_EQ(parameters.low, 0xC29A);
  EXPECT_EQ(parameters.step, 0x2C8C);
  EXPECT_EQ(nearest_rung(-3.3, parameters), 0);
  EXPECT_EQ(nearest_rung(-1.1, parameters), 31);
  EXPECT_EQ(nearest_rung(-2.0, parameters), 18);  // 1.30078… / 0.07104… = 18.31
  EXPECT_EQ(nearest_rung(-9.0, parameters), 0);
  EXPECT_EQ(nearest_rung(9.0, parameters), 31);
}

TEST(FitLadder, OfEqualLevelsHasNoStep) {
  const LadderParameters parameters = fit_ladder(std::vector<double>{-14, -14});
  EXPECT_EQ(parameters.low, 0xCB00);
  EXPECT_EQ(parameters.step, 0);
  EXPECT_EQ(nearest_rung(-3, parameters), 0);
}

TEST(LadderRow, CodesAreReadAsTheyAreWritten) {
  const Dimensions shape{2, 11 * 32};  // 55 bits: seven bytes
  const LadderLayout layout(shape, 16);
  ByteVector payload(*ladder_payload_bytes(shape, 16), std::byte{0xFF});
  const std::vector<uint8_t> codes{31, 0, 1, 16, 30, 7, 8, 21, 10, 15, 19};
  store_ladder_row(payload, layout, 1, {0xC000, 0x2000}, codes);
  for (size_t group = 0; group < codes.size(); ++group)
    EXPECT_EQ(rung_code(payload.data() + layout.codes_offset(1), group), codes[group]) << group;
  EXPECT_EQ(hex_of(Bytes(payload).last(7)), "1f04e80faaea4d");
  EXPECT_EQ(hex_of(Bytes(payload).subspan(2 * 11 * 16 + 4, 4)), "00c00020");
}

}  // namespace
}  // namespace amphora::quant
