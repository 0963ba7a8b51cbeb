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

/// For operations on rows; what is left over stays as it is.
size_t columns_of(const std::vector<float>& x) { return std::min<size_t>(x.size(), 37); }
size_t rows_in(const std::vector<float>& x) { return x.size() / columns_of(x); }

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
      {"silu", [](const Executor& e, std::vector<float>& x) { silu(e, x.data(), x.size()); }},
      {"sigmoid", [](const Executor& e, std::vector<float>& x) { sigmoid(e, x.data(), x.size()); }},
      {"softplus", [](const Executor& e, std::vector<float>& x) { softplus(e, x.data(), x.size()); }},
      {"multiply",
       [](const Executor& e, std::vector<float>& x) {
         const auto y = random_floats(3, x.size());
         multiply(e, x.data(), y.data(), x.size());
       }},
      {"sigmoid_multiply",
       [](const Executor& e, std::vector<float>& x) {
         const auto gate = random_floats(3, x.size(), 9.0f);
         sigmoid_multiply(e, x.data(), gate.data(), x.size());
       }},
      {"add_scaled",
       [](const Executor& e, std::vector<float>& x) {
         const auto y = random_floats(3, x.size());
         add_scaled(e, x.data(), y.data(), 0.7f, x.size());
       }},
      {"scale_rows",
       [](const Executor& e, std::vector<float>& x) {
         const auto factors = random_floats(3, rows_in(x));
         scale_rows(e, x.data(), factors.data(), rows_in(x), columns_of(x));
       }},
      {"softmax",
       [](const Executor& e, std::vector<float>& x) { softmax(e, x.data(), rows_in(x), columns_of(x)); }},
      {"l2_norm",
       [](const Executor& e, std::vector<float>& x) {
         l2_norm(e, x.data(), rows_in(x), columns_of(x), 1e-6f, 0.3f);
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

TEST(Elementwise, SiluAndSigmoidAgreeWithTheirFormulas) {
  ThreadPool pool(1);
  const Executor executor = {&pool, &scalar()};
  std::vector<float> x;
  for (int i = -20000; i <= 20000; ++i) x.push_back(static_cast<float>(i) * 0.00437f);
  auto curved = x, gate = x;
  silu(executor, curved.data(), x.size());
  sigmoid(executor, gate.data(), x.size());
  std::vector<float> gated(x.size(), 3.0f);
  sigmoid_multiply(executor, gated.data(), x.data(), x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i], wanted = 1 / (1 + std::exp(-v));
    ASSERT_LE(ulps(curved[i], v * wanted), 4) << v;
    ASSERT_LE(ulps(gate[i], wanted), 3) << v;
    ASSERT_EQ(gated[i], 3.0f * gate[i]) << v;
  }
}

// exp is within 1 ulp, and what log(1 + u) makes of u's relative error is no more than it; its own ulp and
// the sum's rounding come on top.
TEST(Elementwise, SoftplusAgreesWithItsFormulaOverTheWholeRange) {
  ThreadPool pool(1);
  std::vector<float> x;
  for (int i = -30000; i <= 30000; ++i) x.push_back(static_cast<float>(i) * 0.00345f);
  for (double size = 0x1p-149; size < 0x1p127; size *= 1.37) {
    x.push_back(static_cast<float>(size));
    x.push_back(static_cast<float>(-size));
  }
  auto got = x;
  softplus({&pool, &scalar()}, got.data(), got.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    ASSERT_LE(ulps(got[i], std::max(v, 0.0) + std::log1p(std::exp(-std::fabs(v)))), 2.5) << v;
  }
}

TEST(Elementwise, SumsAndProductsOfVectors) {
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    ThreadPool pool(1);
    const Executor executor = {&pool, variant};
    const std::vector<float> y = {3, -1, 0.25f, kInfinity, 0, kNan};
    std::vector<float> x = {2, 5, -8, 1, kInfinity, 1};
    multiply(executor, x.data(), y.data(), x.size());
    EXPECT_TRUE(same_bits(x, {6, -5, -2, kInfinity, kNan, kNan}));
    x = {1, 2, 3, 4, 5, 6};
    const std::vector<float> factors = {-1, 0.5f};
    scale_rows(executor, x.data(), factors.data(), 2, 3);
    EXPECT_TRUE(same_bits(x, {-1, -2, -3, 2, 2.5f, 3}));
    // (1 + 2^-12)² is 1 + 2^-11 + 2^-24; a product rounded by itself would lose the last term.
    x = {-1 - 0x1p-11f, 10};
    const std::vector<float> added = {1 + 0x1p-12f, 0};
    add_scaled(executor, x.data(), added.data(), 1 + 0x1p-12f, 2);
    EXPECT_TRUE(same_bits(x, {0x1p-24f, 10}));
  }
}

TEST(Elementwise, SoftplusSigmoidAndSiluOfLargeAndSpecialNumbers) {
  ThreadPool pool(1);
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    const Executor executor = {&pool, variant};
    const std::vector<float> x = {0.0f, 100.0f, -100.0f, -200.0f, 1e30f, -1e30f, kInfinity, -kInfinity, kNan};
    auto plus = x, gate = x, curved = x;
    softplus(executor, plus.data(), x.size());
    sigmoid(executor, gate.data(), x.size());
    silu(executor, curved.data(), x.size());
    // log 2; e^-100 = 26.55 · 2^-149
    EXPECT_TRUE(same_bits(plus, {0x1.62e43p-1f, 100, 27 * 0x1p-149f, 0, 1e30f, 0, kInfinity, 0, kNan}));
    EXPECT_TRUE(same_bits(gate, {0.5f, 1, 0, 0, 1, 0, 1, 0, kNan}));
    EXPECT_TRUE(same_bits(curved, {0, 100, -0.0f, -0.0f, 1e30f, -0.0f, kInfinity, kNan, kNan}));
  }
}

TEST(Softmax, AgreesWithTheFormula) {
  ThreadPool pool(1);
  for (const size_t columns : Sizes{1, 2, 15, 16, 17, 64, 128, 257}) {
    auto x = random_floats(columns, 3 * columns, 12.0f);
    for (size_t i = 0; i < columns; ++i) x[2 * columns + i] -= 1000;  // a row far below 0
    if (columns > 2) x[1] = x[columns - 1] = -kInfinity;
    auto got = x;
    softmax({&pool, &scalar()}, got.data(), 3, columns);
    for (size_t row = 0; row < 3; ++row) {
      const float* const from = &x[row * columns];
      const double largest = *std::max_element(from, from + columns);
      double total = 0;
      for (size_t i = 0; i < columns; ++i) total += std::exp(static_cast<double>(from[i]) - largest);
      for (size_t i = 0; i < columns; ++i) {
        const double distance = largest - static_cast<double>(from[i]);
        const double wanted = std::exp(-distance) / total;
        // The difference's rounding, up to 24 of them in a row of exponents, weighs as much as it is large;
        // exp is within 1 ulp, in the sum as well, which has columns / 16 + 4 roundings; then the quotient.
        const double roundings = 24 + 2 + 24 + 2 + static_cast<double>(columns) / 16 + 4 + 1;
        ASSERT_NEAR(got[row * columns + i], wanted, roundings * 0x1p-24 * wanted) << columns;
      }
    }
  }
}

TEST(Softmax, KeepsZerosAndNans) {
  ThreadPool pool(1);
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    std::vector<float> x(20, -kInfinity);
    x[3] = x[18] = -1e30f;
    softmax({&pool, variant}, x.data(), 1, x.size());
    std::vector<float> wanted(20, 0.0f);
    wanted[3] = wanted[18] = 0.5f;
    EXPECT_TRUE(same_bits(x, wanted)) << name_of(*variant);
    for (const float bad : {kNan, kInfinity})
      for (const size_t place : Sizes{0, 15, 16, 19}) {
        x = random_floats(1, 20);
        x[place] = bad;
        softmax({&pool, variant}, x.data(), 1, x.size());
        EXPECT_TRUE(std::isnan(x[place])) << name_of(*variant);
        // An infinity takes all the weight, so the others are 0; a NaN is in the sum of all.
        EXPECT_TRUE(std::isnan(x[7]) || bad == kInfinity) << name_of(*variant);
      }
  }
}

TEST(L2Norm, AgreesWithTheFormula) {
  ThreadPool pool(1);
  for (const size_t columns : Sizes{1, 15, 16, 64, 128, 1027})
    for (const float eps : {1e-6f, 1e-12f}) {
      const auto x = random_floats(columns, 2 * columns, 5.0f);
      auto got = x;
      l2_norm({&pool, &scalar()}, got.data(), 2, columns, eps, 0.25f);
      for (size_t row = 0; row < 2; ++row) {
        double squares = 0;
        for (size_t i = 0; i < columns; ++i)
          squares += std::pow(static_cast<double>(x[row * columns + i]), 2);
        const double factor = 0.25 / std::sqrt(squares + static_cast<double>(eps));
        // Half the sum's relative error (columns / 16 + 4 roundings), the sum with eps, root, quotient,
        // product.
        const double relative = (static_cast<double>(columns) / 32 + 6) * 0x1p-24;
        for (size_t i = 0; i < columns; ++i) {
          const double wanted = static_cast<double>(x[row * columns + i]) * factor;
          ASSERT_NEAR(got[row * columns + i], wanted, relative * std::fabs(wanted)) << columns;
        }
      }
    }
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

TEST(Variants, AreThoseForProcessorsOfTheBuildsKind) {
  std::vector<std::string_view> names;
  for (const Variant* variant : variants()) names.push_back(name_of(*variant));
#if defined(__x86_64__)
  const std::vector<std::string_view> wanted = {"avx512", "avx2", "scalar"};
#elif defined(__aarch64__)
  const std::vector<std::string_view> wanted = {"neon", "scalar"};
#else
  const std::vector<std::string_view> wanted = {"scalar"};
#endif
  EXPECT_EQ(names, wanted);
}

}  // namespace
}  // namespace amphora::kernels::testing
