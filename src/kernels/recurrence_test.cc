// Short convolution, decay and delta rule: against plain loops in double precision, and bit for bit across
// variants, threads and batches.
#include "kernels/recurrence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/testing/support.h"

namespace amphora::kernels::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kRounding = 0x1p-24;  // relative error of one f32 rounding

std::vector<const Variant*> variants_here() {
  std::vector<const Variant*> result = other_variants();
  result.push_back(&scalar());
  return result;
}

/// How a sequence is fed: batches that add up to it.
std::vector<std::vector<size_t>> splits_of(size_t tokens) {
  std::vector<std::vector<size_t>> result = {{tokens}, std::vector<size_t>(tokens, 1)};
  if (tokens > 10) result.push_back({2, 1, 7, tokens - 10});
  return result;
}

struct Convolved {
  std::vector<float> out, history;
};

class ConvolutionScene {
 public:
  ConvolutionScene(size_t tokens, size_t channel_count, size_t tap_count)
      : channels(channel_count),
        taps(tap_count),
        x(random_floats(1, tokens * channels, 2.0f)),
        weights(random_floats(2, channels * taps)),
        history(random_floats(3, (taps - 1) * channels, 2.0f)) {}

  Convolved run(const Executor& executor, const std::vector<size_t>& batches) const {
    Convolved result = {std::vector<float>(x.size()), history};
    size_t token = 0;
    for (const size_t tokens : batches) {
      short_convolution(executor, &x[token * channels], weights.data(), tokens, channels, taps,
                        result.history.data(), &result.out[token * channels]);
      token += tokens;
    }
    return result;
  }
  /// The input `back` tokens before a token.
  double input(size_t token, size_t back, size_t channel) const {
    return token >= back ? x[(token - back) * channels + channel]
                         : history[(taps - 1 + token - back) * channels + channel];
  }

  const size_t channels, taps;
  std::vector<float> x, weights, history;
};

// A product of n terms that are each rounded once into the sum is off by at most n roundings of Σ|w · x|.
TEST(ShortConvolution, AgreesWithTheFormula) {
  ThreadPool pool(1);
  for (const size_t taps : Sizes{1, 2, 3, 4, 7})
    for (const size_t channels : Sizes{1, 15, 40, 300})
      for (const size_t tokens : Sizes{1, 2, 7, 130}) {
        const ConvolutionScene scene(tokens, channels, taps);
        const Convolved got = scene.run({&pool, &scalar()}, {tokens});
        for (size_t t = 0; t < tokens; ++t)
          for (size_t c = 0; c < channels; ++c) {
            double wanted = 0, magnitude = 0;
            for (size_t back = 0; back < taps; ++back) {
              const double term =
                  static_cast<double>(scene.weights[c * taps + taps - 1 - back]) * scene.input(t, back, c);
              wanted += term;
              magnitude += std::fabs(term);
            }
            ASSERT_NEAR(got.out[t * channels + c], wanted, static_cast<double>(taps) * kRounding * magnitude)
                << taps << " taps, token " << t << " of " << tokens << ", channel " << c;
          }
        for (size_t back = 1; back < taps; ++back)  // seen from the token after the last
          for (size_t c = 0; c < channels; ++c)
            ASSERT_EQ(got.history[(taps - 1 - back) * channels + c], scene.input(tokens, back, c))
                << taps << " taps, " << tokens << " tokens";
      }
}

TEST(ShortConvolution, VariantsThreadsAndBatchesChangeNothing) {
  ThreadPool one(1);
  for (const size_t channels : Sizes{5, 1000})
    for (const size_t taps : Sizes{1, 4})
      for (const size_t tokens : Sizes{1, 2, 7, 130}) {
        const ConvolutionScene scene(tokens, channels, taps);
        const Convolved wanted = scene.run({&one, &scalar()}, {tokens});
        for (const Variant* variant : variants_here())
          for (const size_t threads : Sizes{1, 3})
            for (const auto& batches : splits_of(tokens)) {
              ThreadPool pool(threads);
              const Convolved got = scene.run({&pool, variant}, batches);
              ASSERT_TRUE(same_bits(got.out, wanted.out)) << name_of(*variant) << " " << threads;
              ASSERT_TRUE(same_bits(got.history, wanted.history)) << name_of(*variant) << " " << threads;
            }
      }
}

TEST(ShortConvolution, ANanReachesTheTokensThatSeeIt) {
  ThreadPool pool(1);
  ConvolutionScene scene(8, 20, 4);
  scene.x[2 * 20 + 17] = kNan;
  const Convolved got = scene.run({&pool, &best_variant()}, {8});
  for (size_t t = 0; t < 8; ++t)
    for (size_t c = 0; c < 20; ++c)
      EXPECT_EQ(std::isnan(got.out[t * 20 + c]), c == 17 && t >= 2 && t < 6) << t << " " << c;
}

struct DecayCase {
  size_t tokens, heads, channels;
  bool bounded;
};
constexpr DecayCase kDecayCases[] = {{1, 32, 1, false}, {130, 5, 1, false}, {7, 3, 20, false},
                                     {2, 4, 128, true}, {130, 17, 1, true}, {70, 4, 128, false}};
constexpr float kLowerBound = -5;

std::vector<float> decays(const Executor& executor, const DecayCase& c, std::vector<float> x) {
  auto rates = random_floats(5, c.heads, 4.0f);
  for (float& rate : rates) rate = std::fabs(rate);
  const auto bias = random_floats(6, c.heads * c.channels, 3.0f);
  delta_decay(executor, x.data(), rates.data(), bias.data(), c.tokens, c.heads, c.channels,
              c.bounded ? &kLowerBound : nullptr);
  return x;
}

TEST(DeltaDecay, AgreesWithTheFormula) {
  ThreadPool pool(1);
  for (const DecayCase& c : kDecayCases) {
    const auto x = random_floats(7, c.tokens * c.heads * c.channels, 20.0f);
    const auto rates = random_floats(5, c.heads, 4.0f), bias = random_floats(6, c.heads * c.channels, 3.0f);
    const auto got = decays({&pool, &scalar()}, c, x);
    for (size_t i = 0; i < x.size(); ++i) {
      const size_t in_token = i % (c.heads * c.channels), head = in_token / c.channels;
      const double rate = std::fabs(static_cast<double>(rates[head]));
      const double y = static_cast<double>(x[i]) + static_cast<double>(bias[in_token]);
      // The sum's rounding moves softplus by at most itself, and σ(rate · y) by a quarter of the argument's
      // two roundings; softplus is within 2.5 ulp (5 roundings) and σ within 3 ulp, a product is rounded, and
      // exp is within 1 ulp.
      const double exponent = c.bounded ? kLowerBound / (1 + std::exp(-rate * y))
                                        : -rate * (std::max(y, 0.0) + std::log1p(std::exp(-std::fabs(y))));
      const double moved = rate * std::fabs(y) * (c.bounded ? -kLowerBound * 0.5 : 1.0);
      const double roundings = 7 * std::fabs(exponent) + moved + 2;
      const double wanted = std::exp(exponent);
      ASSERT_NEAR(got[i], wanted, roundings * kRounding * wanted + 0x1p-149) << i << " of " << x.size();
    }
  }
}

TEST(DeltaDecay, VariantsThreadsAndBatchesChangeNothing) {
  ThreadPool one(1);
  for (const DecayCase& c : kDecayCases) {
    const size_t row = c.heads * c.channels;
    const auto x = random_floats(7, c.tokens * row, 20.0f);
    const auto wanted = decays({&one, &scalar()}, c, x);
    for (const Variant* variant : variants_here())
      for (const size_t threads : Sizes{1, 3}) {
        ThreadPool pool(threads);
        ASSERT_TRUE(same_bits(decays({&pool, variant}, c, x), wanted)) << name_of(*variant);
        DecayCase single = c;
        single.tokens = 1;
        for (size_t token = 0; token < c.tokens; ++token) {
          const auto at = static_cast<std::ptrdiff_t>(token * row),
                     end = at + static_cast<std::ptrdiff_t>(row);
          ASSERT_TRUE(same_bits(decays({&pool, variant}, single, {x.begin() + at, x.begin() + end}),
                                {wanted.begin() + at, wanted.begin() + end}))
              << name_of(*variant) << " token " << token;
        }
      }
  }
}

TEST(DeltaDecay, OfLargeAndSpecialNumbers) {
  ThreadPool pool(1);
  const std::vector<float> rates = {2, 2, 2, 2, 2, 0}, bias(6);
  for (const Variant* variant : variants_here()) {
    std::vector<float> x = {-kInfinity, kInfinity, -1e30f, 1e30f, kNan, 5};
    auto bounded = x;
    delta_decay({&pool, variant}, x.data(), rates.data(), bias.data(), 1, 6, 1, nullptr);
    EXPECT_TRUE(same_bits(x, {1, 0, 1, 0, kNan, 1})) << name_of(*variant);
    const float bound = -2;
    delta_decay({&pool, variant}, bounded.data(), rates.data(), bias.data(), 1, 6, 1, &bound);
    const float least = 0x1.152aaap-3f, middle = 0x1.78b564p-2f;  // e^-2, e^-1
    EXPECT_TRUE(same_bits(bounded, {1, least, 1, least, kNan, middle})) << name_of(*variant);
  }
}

struct DeltaCase {
  size_t tokens, key_heads, value_heads, key_dim, value_dim, decay_channels;
};
std::vector<DeltaCase> delta_cases() {
  std::vector<DeltaCase> result;
  for (const size_t tokens : Sizes{1, 2, 7, 130}) {
    result.push_back({tokens, 2, 4, 16, 40, 1});
    result.push_back({tokens, 2, 4, 16, 40, 16});
    result.push_back({tokens, 3, 3, 20, 17, 1});
    result.push_back({tokens, 1, 3, 9, 5, 9});
    result.push_back({tokens, 1, 1, 24, 200, 24});
  }
  result.push_back({20, 1, 2, 128, 128, 1});
  result.push_back({20, 2, 2, 128, 128, 128});
  return result;
}

struct Moved {
  std::vector<float> out, state;
};

/// Inputs as a layer gives them: keys of length 1, decays in (0, 1], beta in (0, 1).
class DeltaScene {
 public:
  explicit DeltaScene(const DeltaCase& sizes)
      : c(sizes),
        queries(random_floats(1, c.tokens * c.key_heads * c.key_dim, 0.3f)),
        keys(random_floats(2, c.tokens * c.key_heads * c.key_dim)),
        values(random_floats(3, c.tokens * c.value_heads * c.value_dim, 2.0f)),
        decay(random_floats(4, c.tokens * c.value_heads * c.decay_channels)),
        beta(random_floats(5, c.tokens * c.value_heads)),
        state(random_floats(6, c.value_heads * c.key_dim * c.value_dim)) {
    for (size_t first = 0; first < keys.size(); first += c.key_dim) {
      float squares = 0;
      for (size_t i = 0; i < c.key_dim; ++i) squares += keys[first + i] * keys[first + i];
      for (size_t i = 0; i < c.key_dim; ++i) keys[first + i] /= std::sqrt(squares);
    }
    for (float& value : decay) value = 1 - std::fabs(value) * 0.3f;
    for (float& value : beta) value = std::fabs(value) * 0.9f;
  }

  Moved run(const Executor& executor, const std::vector<size_t>& batches) const {
    Moved result = {std::vector<float>(values.size()), state};
    size_t token = 0;
    for (const size_t tokens : batches) {
      run_batch(executor, token, tokens, result);
      token += tokens;
    }
    return result;
  }
  void run_batch(const Executor& executor, size_t token, size_t tokens, Moved& moved) const {
    DeltaRuleArguments a;
    a.queries = &queries[token * c.key_heads * c.key_dim];
    a.keys = &keys[token * c.key_heads * c.key_dim];
    a.values = &values[token * c.value_heads * c.value_dim];
    a.decay = &decay[token * c.value_heads * c.decay_channels];
    a.beta = &beta[token * c.value_heads];
    a.tokens = tokens;
    a.key_heads = c.key_heads;
    a.value_heads = c.value_heads;
    a.key_dim = c.key_dim;
    a.value_dim = c.value_dim;
    a.decay_channels = c.decay_channels;
    a.state = moved.state.data();
    a.out = &moved.out[token * c.value_heads * c.value_dim];
    delta_rule(executor, a);
  }

  const DeltaCase c;
  std::vector<float> queries, keys, values, decay, beta, state;
};

/// One token and one column of one head in double precision: S = decay · S; d = beta · (v - kᵀ S); S += k ⊗
/// d; out = qᵀ S, each with what the f32 roundings can move it by.
struct ColumnStep {
  ColumnStep(const DeltaScene& scene, const std::vector<float>& before, size_t token, size_t head,
             size_t column)
      : state(scene.c.key_dim), state_bound(scene.c.key_dim) {
    const DeltaCase& c = scene.c;
    const size_t key_head = head / (c.value_heads / c.key_heads), at = token * c.value_heads + head;
    const float* const key = &scene.keys[(token * c.key_heads + key_head) * c.key_dim];
    const float* const query = &scene.queries[(token * c.key_heads + key_head) * c.key_dim];
    const auto rows = static_cast<double>(c.key_dim);
    double read = 0, read_size = 0;
    for (size_t i = 0; i < c.key_dim; ++i) {
      const double decay = scene.decay[at * c.decay_channels + (c.decay_channels == 1 ? 0 : i)];
      state[i] = decay * static_cast<double>(before[(head * c.key_dim + i) * c.value_dim + column]);
      read += static_cast<double>(key[i]) * state[i];
      read_size += std::fabs(static_cast<double>(key[i]) * state[i]);
    }
    const double beta = scene.beta[at];
    const double change = beta * (static_cast<double>(scene.values[at * c.value_dim + column]) - read);
    // Of the read product: one rounding per row and that of the decay; of the change: difference and product.
    const double change_bound = beta * (rows + 1) * kRounding * read_size + 2 * kRounding * std::fabs(change);
    double out_size = 0;
    for (size_t i = 0; i < c.key_dim; ++i) {
      const double k = key[i], q = query[i];
      state_bound[i] = kRounding * std::fabs(state[i]);
      state[i] += k * change;
      state_bound[i] += std::fabs(k) * change_bound + kRounding * std::fabs(state[i]);
      out += q * state[i];
      out_bound += std::fabs(q) * state_bound[i];
      out_size += std::fabs(q * state[i]);
    }
    out_bound += rows * kRounding * out_size;
    out_bound *= 1.0001;  // products of roundings
    for (double& bound : state_bound) bound *= 1.0001;
  }

  std::vector<double> state, state_bound;
  double out = 0, out_bound = 0;
};

// Token by token, each from the state that the kernel gave: the bounds do not add up over the sequence.
TEST(DeltaRule, EveryStepAgreesWithTheFormula) {
  ThreadPool pool(1);
  for (const DeltaCase& c : delta_cases()) {
    const DeltaScene scene(c);
    Moved moved = {std::vector<float>(scene.values.size()), scene.state};
    for (size_t token = 0; token < c.tokens; ++token) {
      const std::vector<float> before = moved.state;
      scene.run_batch({&pool, &best_variant()}, token, 1, moved);
      for (size_t head = 0; head < c.value_heads; ++head)
        for (size_t column = 0; column < c.value_dim; ++column) {
          const ColumnStep wanted(scene, before, token, head, column);
          ASSERT_NEAR(moved.out[(token * c.value_heads + head) * c.value_dim + column], wanted.out,
                      wanted.out_bound)
              << "token " << token << " head " << head << " column " << column;
          for (size_t i = 0; i < c.key_dim; ++i)
            ASSERT_NEAR(moved.state[(head * c.key_dim + i) * c.value_dim + column], wanted.state[i],
                        wanted.state_bound[i])
                << "token " << token << " head " << head << " column " << column << " row " << i;
        }
    }
  }
}

TEST(DeltaRule, VariantsThreadsAndBatchesChangeNothing) {
  ThreadPool one(1);
  for (const DeltaCase& c : delta_cases()) {
    const DeltaScene scene(c);
    const Moved wanted = scene.run({&one, &scalar()}, {c.tokens});
    for (const Variant* variant : variants_here())
      for (const size_t threads : Sizes{1, 2, 5})
        for (const auto& batches : splits_of(c.tokens)) {
          ThreadPool pool(threads);
          const Moved got = scene.run({&pool, variant}, batches);
          ASSERT_TRUE(same_bits(got.out, wanted.out))
              << name_of(*variant) << ", " << threads << " threads, " << batches.size() << " batches of "
              << c.tokens << ", value_dim " << c.value_dim;
          ASSERT_TRUE(same_bits(got.state, wanted.state))
              << name_of(*variant) << ", " << threads << " threads, " << batches.size() << " batches of "
              << c.tokens << ", value_dim " << c.value_dim;
        }
  }
}

// S = (1, 2) decays to (1/2, 1); the key reads 1/2; d = (3 - 1/2) / 2; S = (7/4, 1).
TEST(DeltaRule, AnExampleByHand) {
  ThreadPool pool(1);
  const std::vector<float> query = {1, 1}, key = {1, 0}, value = {3}, decay = {0.5f}, beta = {0.5f};
  for (const Variant* variant : variants_here()) {
    std::vector<float> state = {1, 2}, out = {0};
    delta_rule({&pool, variant}, {query.data(), key.data(), value.data(), decay.data(), beta.data(), 1, 1, 1,
                                  2, 1, 1, state.data(), out.data()});
    EXPECT_EQ(state, (std::vector<float>{1.75f, 1}));
    EXPECT_EQ(out, (std::vector<float>{2.75f}));
  }
}

TEST(DeltaRule, ANanOrInfinityStaysInItsColumnAndIsNotLost) {
  ThreadPool pool(1);
  const DeltaCase c = {6, 1, 2, 16, 40, 1};
  for (const float bad : {kNan, kInfinity, -kInfinity})
    for (const size_t column : Sizes{0, 31, 39}) {
      DeltaScene scene(c);
      scene.values[(2 * c.value_heads + 1) * c.value_dim + column] = bad;
      const Moved got = scene.run({&pool, &best_variant()}, {c.tokens});
      for (size_t i = 0; i < got.out.size(); ++i) {
        const size_t token = i / c.value_dim / c.value_heads, head = i / c.value_dim % c.value_heads;
        EXPECT_EQ(std::isfinite(got.out[i]), !(token >= 2 && head == 1 && i % c.value_dim == column)) << i;
      }
    }
}

TEST(DeltaRule, NoTokensIsNoWork) {
  ThreadPool pool(1);
  const DeltaScene scene({1, 1, 1, 8, 8, 1});
  Moved moved = {std::vector<float>(scene.values.size(), 3.0f), scene.state};
  scene.run_batch({&pool, &best_variant()}, 0, 0, moved);
  EXPECT_TRUE(same_bits(moved.state, scene.state));
  EXPECT_TRUE(same_bits(moved.out, std::vector<float>(8, 3.0f)));
}

}  // namespace
}  // namespace amphora::kernels::testing
