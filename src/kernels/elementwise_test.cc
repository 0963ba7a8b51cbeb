// Norms, rotary positions, activations: against double precision, and bit for bit across variants and
// threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "kernels/testing/support.h"

namespace amphora::kernels::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Distance in units of the last place of `wanted` as f32.
double ulps(float got, double wanted) {
  const float rounded = std::fabs(static_cast<float>(wanted));
  const double unit = static_cast<double>(std::nextafter(rounded, kInfinity)) - static_cast<double>(rounded);
  return std::fabs(static_cast<double>(got) - wanted) / unit;
}

/// Numbers of every size and sign, special ones among them, and a dense row around 0.
std::vector<float> interesting_floats() {
  std::vector<float> values = {0.0f,       -0.0f,   kInfinity, -kInfinity, kNan,    0x1p-149f,
                               -0x1p-149f, 3e38f,   -3e38f,    88.72f,     88.8f,   90.0f,
                               -87.4f,     -103.0f, -104.5f,   0.625f,     -0.625f, 1.0f};
  for (int i = -4000; i <= 4000; ++i) values.push_back(static_cast<float>(i) * 0.0251f);
  Random random(5);
  for (int i = 0; i < 4000; ++i)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(random.next() >> 32)));
  return values;
}

using Operation = std::function<void(const Executor&, std::vector<float>&)>;

struct Named {
  const char* name;
  Operation run;
};

std::vector<Named> operations() {
  return {
      {"silu_multiply",
       [](const Executor& e, std::vector<float>& x) {
         const std::vector<float> up(x.size(), 1.0f);
         silu_multiply(e, x.data(), up.data(), x.size());
       }},
      {"gelu_tanh_multiply",
       [](const Executor& e, std::vector<float>& x) {
         const std::vector<float> up(x.size(), 1.0f);
         gelu_tanh_multiply(e, x.data(), up.data(), x.size());
       }},
      {"softcap", [](const Executor& e, std::vector<float>& x) { softcap(e, x.data(), 1.0f, x.size()); }},
      {"scale", [](const Executor& e, std::vector<float>& x) { scale(e, x.data(), 0.3f, x.size()); }},
      {"add",
       [](const Executor& e, std::vector<float>& x) {
         const auto y = random_floats(3, x.size());
         add(e, x.data(), y.data(), x.size());
       }},
      {"rms_norm",
       [](const Executor& e, std::vector<float>& x) {
         const auto w = random_floats(4, x.size());
         rms_norm(e, x.data(), w.data(), 1, x.size(), 1e-6f, true, x.data());
       }},
  };
}

TEST(Elementwise, EveryVariantGivesTheBitsOfScalar) {
  ThreadPool pool(1);
  const auto all = interesting_floats();
  for (const Variant* variant : other_variants())
    for (const Named& operation : operations())
      for (const size_t count :
           {size_t{1}, size_t{7}, size_t{8}, size_t{15}, size_t{16}, size_t{17}, size_t{100}, all.size()})
        for (const size_t from : {size_t{0}, size_t{18}, size_t{4000}}) {
          if (from + count > all.size()) continue;
          std::vector<float> wanted(all.begin() + static_cast<std::ptrdiff_t>(from),
                                    all.begin() + static_cast<std::ptrdiff_t>(from + count));
          auto got = wanted;
          operation.run({&pool, &scalar()}, wanted);
          operation.run({&pool, variant}, got);
          ASSERT_TRUE(same_bits(got, wanted))
              << name_of(*variant) << " " << operation.name << " count " << count;
        }
}

TEST(Elementwise, ThreadsChangeNothing) {
  ThreadPool one(1), three(3);
  for (const Named& operation : operations()) {
    auto wanted = random_floats(8, 100'003, 3.0f), got = wanted;
    operation.run({&one, &best_variant()}, wanted);
    operation.run({&three, &best_variant()}, got);
    EXPECT_TRUE(same_bits(got, wanted)) << operation.name;
  }
}

// silu, gelu and tanh near their formulas. exp's relative error is at most 1.5 · 2^-23 and the argument's
// rounding is multiplied by its size; the rest are single roundings.
TEST(Elementwise, ActivationsAgreeWithTheirFormulas) {
  ThreadPool pool(1);
  const Executor executor = {&pool, &scalar()};
  std::vector<float> x;
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i) * 0.00437f);
  const std::vector<float> up(x.size(), 1.0f);
  auto silu = x, gelu = x, tanh = x;
  silu_multiply(executor, silu.data(), up.data(), x.size());
  gelu_tanh_multiply(executor, gelu.data(), up.data(), x.size());
  softcap(executor, tanh.data(), 1.0f, x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    ASSERT_LE(ulps(silu[i], v / (1 + std::exp(-v))), 4) << v;
    ASSERT_LE(ulps(tanh[i], std::tanh(v)), 2) << v;
    const double inner = 2 * std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v);
    const double wanted = v / (1 + std::exp(-inner));
    ASSERT_NEAR(gelu[i], wanted, (4 + 3 * std::fabs(inner)) * 0x1p-23 * std::fabs(wanted) + 0x1p-124) << v;
  }
}

TEST(Elementwise, ActivationsOfLargeAndSpecialNumbers) {
  ThreadPool pool(1);
  const Executor executor = {&pool, &best_variant()};
  std::vector<float> x = {0.0f, 200.0f, -200.0f, 1e30f, -1e30f, kInfinity, kNan};
  const std::vector<float> up(x.size(), 2.0f);
  auto silu = x, gelu = x, cap = x;
  silu_multiply(executor, silu.data(), up.data(), x.size());
  gelu_tanh_multiply(executor, gelu.data(), up.data(), x.size());
  softcap(executor, cap.data(), 3.0f, x.size());
  EXPECT_TRUE(same_bits(silu, {0.0f, 400.0f, -0.0f, 2e30f, -0.0f, kInfinity, kNan}));
  EXPECT_TRUE(same_bits(gelu, {0.0f, 400.0f, -0.0f, 2e30f, -0.0f, kInfinity, kNan}));
  EXPECT_TRUE(same_bits(cap, {0.0f, 3.0f, -3.0f, 3.0f, -3.0f, 3.0f, kNan}));
}

TEST(RmsNorm, AgreesWithTheFormula) {
  ThreadPool pool(1);
  for (const size_t columns : Sizes{1, 15, 16, 64, 640, 1027})
    for (const bool one_plus : {false, true}) {
      const auto x = random_floats(columns, 2 * columns, 5.0f), w = random_floats(columns + 1, columns);
      std::vector<float> out(x.size());
      rms_norm({&pool, &scalar()}, x.data(), w.data(), 2, columns, 1e-6f, one_plus, out.data());
      for (size_t row = 0; row < 2; ++row) {
        double squares = 0;
        for (size_t i = 0; i < columns; ++i)
          squares += std::pow(static_cast<double>(x[row * columns + i]), 2);
        const double factor = 1 / std::sqrt(squares / static_cast<double>(columns) + 1e-6);
        // Half the sum's relative error (columns / 16 + 4 roundings), and six roundings of the rest.
        const double relative = (static_cast<double>(columns) / 32 + 8) * 0x1p-24;
        for (size_t i = 0; i < columns; ++i) {
          const double gain = one_plus ? 1.0 + static_cast<double>(w[i]) : static_cast<double>(w[i]);
          const double wanted = static_cast<double>(x[row * columns + i]) * factor * gain;
          ASSERT_NEAR(out[row * columns + i], wanted, relative * std::fabs(wanted) + 0x1p-24 * 1e-6)
              << columns;
        }
      }
    }
}

TEST(Rope, RotatesHalfSplitPairsAndLeavesTheRest) {
  ThreadPool pool(2);
  for (const size_t half : Sizes{1, 4, 16, 20, 32, 64}) {
    constexpr size_t kTokens = 3, kHeads = 2;
    const size_t dim = 2 * half + 3;
    const auto x = random_floats(half, kTokens * kHeads * dim);
    const auto c = random_floats(half + 1, kTokens * half), s = random_floats(half + 2, kTokens * half);
    auto wanted = x;
    for (size_t t = 0; t < kTokens; ++t)
      for (size_t h = 0; h < kHeads; ++h)
        for (size_t i = 0; i < half; ++i) {  // every step rounded, as torch does it
          const size_t at = (t * kHeads + h) * dim + i;
          const volatile float ac = x[at] * c[t * half + i], bs = x[at + half] * s[t * half + i];
          const volatile float bc = x[at + half] * c[t * half + i], as = x[at] * s[t * half + i];
          wanted[at] = ac - bs;
          wanted[at + half] = bc + as;
        }
    for (const Variant* variant : variants()) {
      if (!runs_here(*variant)) continue;
      auto got = x;
      rope({&pool, variant}, got.data(), kTokens, kHeads, dim, half, c.data(), s.data());
      EXPECT_TRUE(same_bits(got, wanted)) << name_of(*variant) << " half " << half;
    }
  }
}

TEST(AddBias, AddsTheSameRowToEveryToken) {
  ThreadPool pool(2);
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    std::vector<float> x = {1, 2, 3, 10, 20, 30};
    const std::vector<float> bias = {0.5f, -1, 4};
    add_bias({&pool, variant}, x.data(), bias.data(), 2, 3);
    EXPECT_EQ(x, (std::vector<float>{1.5f, 1, 7, 10.5f, 19, 34}));
  }
}

TEST(Argmax, IsTheLowestIndexOfTheLargest) {
  ThreadPool pool(1);
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    const Executor executor = {&pool, variant};
    for (const size_t count : Sizes{1, 2, 15, 16, 17, 40, 1000})
      for (size_t place = 0; place < count; place += count / 7 + 1) {
        auto x = random_floats(count, count);
        x[place] = 50;
        x[count - 1] = std::max(x[count - 1], place % 2 ? 50.0f : -9.0f);
        EXPECT_EQ(argmax(executor, x.data(), count), place) << name_of(*variant) << " " << count;
      }
    std::vector<float> special = {kNan, -kInfinity, -5, kNan, -2, -2};
    EXPECT_EQ(argmax(executor, special.data(), special.size()), 4u);
    std::vector<float> lowest(20, -kInfinity);
    EXPECT_EQ(argmax(executor, lowest.data(), lowest.size()), 0u);
    std::vector<float> nothing(20, kNan);
    EXPECT_EQ(argmax(executor, nothing.data(), nothing.size()), 0u);
    std::vector<float> zeros(20, -0.0f);
    zeros[7] = 0.0f;
    EXPECT_EQ(argmax(executor, zeros.data(), zeros.size()), 0u) << "-0 equals 0";
  }
}

TEST(Variants, AreListedFastestFirstAndFoundByName) {
  ASSERT_FALSE(variants().empty());
  EXPECT_EQ(name_of(*variants().back()), "scalar");
  EXPECT_TRUE(runs_here(*variants().back()));
  for (const Variant* variant : variants()) EXPECT_EQ(find_variant(name_of(*variant)), variant);
  EXPECT_EQ(find_variant("avx1024"), nullptr);
  EXPECT_TRUE(runs_here(best_variant()));
}

}  // namespace
}  // namespace amphora::kernels::testing
