// Attention and the key-value cache: against the formula, and bit for bit across variants, batches, threads
// and windows.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/testing/support.h"

namespace amphora::kernels::testing {
namespace {

constexpr KvType kKvTypes[] = {KvType::kF32, KvType::kF16, KvType::kQ8};

struct Case {
  KvType type = KvType::kF16;
  size_t heads = 4, kv_heads = 2, head_dim = 64, value_dim = 64, positions = 150, window = 0;
  float softcap = 0;
  size_t capacity = 0;  ///< 0: more than the positions
};

/// A cache, what is to be stored in it, and the queries of all positions.
class Scene {
 public:
  explicit Scene(const Case& c) : case_(c), capacity_(c.capacity != 0 ? c.capacity : c.positions + 5) {
    const size_t places = capacity_ * c.kv_heads;
    keys_.resize(places * kv_bytes_per_position(c.type, c.head_dim), std::byte{0xFF});
    values_.resize(places * kv_bytes_per_position(c.type, c.value_dim),
                   std::byte{0xFF});  // NaN where nothing is stored
    key_floats_ = random_floats(1, c.positions * c.kv_heads * c.head_dim);
    value_floats_ = random_floats(2, c.positions * c.kv_heads * c.value_dim);
    queries_ = random_floats(3, c.positions * c.heads * c.head_dim, 2.0f);
  }

  KvView view() {
    return {case_.type, case_.kv_heads, case_.head_dim, case_.value_dim,
            capacity_,  keys_.data(),   values_.data()};
  }

  void fill(const Executor& executor) { fill(executor, 0, case_.positions); }
  void fill(const Executor& executor, size_t first_position, size_t tokens) {
    const size_t from = first_position * case_.kv_heads;
    kv_store(executor, view(), first_position, tokens, &key_floats_[from * case_.head_dim],
             &value_floats_[from * case_.value_dim]);
  }

  std::vector<float> attend(const Executor& executor, size_t first_position, size_t tokens) {
    std::vector<float> out(tokens * case_.heads * case_.value_dim, 5.0f);
    AttentionArguments a;
    a.queries = &queries_[first_position * case_.heads * case_.head_dim];
    a.tokens = tokens;
    a.heads = case_.heads;
    a.kv = view();
    a.first_position = first_position;
    a.window = case_.window;
    a.scale = 0.125f;
    a.softcap = case_.softcap;
    a.out = out.data();
    attention(executor, a);
    return out;
  }

  double query(size_t position, size_t head, size_t d) const {
    return queries_[(position * case_.heads + head) * case_.head_dim + d];
  }
  size_t width(bool key) const { return key ? case_.head_dim : case_.value_dim; }
  /// What the cache holds, read by other code than the kernels'.
  double cached(bool key, size_t kv_head, size_t position, size_t d) const {
    const auto& bytes = key ? keys_ : values_;
    const size_t dim = width(key);
    const std::byte* at =
        bytes.data() + (kv_head * capacity_ + position) * kv_bytes_per_position(case_.type, dim);
    const auto read = [&](size_t offset, size_t width) {
      uint32_t value = 0;
      for (size_t i = 0; i < width; ++i) value |= std::to_integer<uint32_t>(at[offset + i]) << (8 * i);
      return value;
    };
    switch (case_.type) {
      case KvType::kF32: return std::bit_cast<float>(read(4 * d, 4));
      case KvType::kF16: return half_to_float(static_cast<uint16_t>(read(2 * d, 2)));
      case KvType::kQ8:
        return static_cast<int8_t>(at[d]) *
               static_cast<double>(std::bit_cast<float>(read(dim + d / 32 * 4, 4)));
    }
    return 0;
  }
  double stored(bool key, size_t kv_head, size_t position, size_t d) const {
    return (key ? key_floats_ : value_floats_)[(position * case_.kv_heads + kv_head) * width(key) + d];
  }

  /// The formula in double precision, over what the cache holds.
  std::vector<double> formula(size_t position, size_t head) const {
    const size_t kv_head = head / (case_.heads / case_.kv_heads);
    const size_t first = case_.window != 0 && position + 1 > case_.window ? position + 1 - case_.window : 0;
    std::vector<double> scores, out(case_.value_dim);
    for (size_t p = first; p <= position; ++p) {
      double score = 0;
      for (size_t d = 0; d < case_.head_dim; ++d)
        score += query(position, head, d) * cached(true, kv_head, p, d);
      score *= 0.125;
      if (case_.softcap != 0) score = case_.softcap * std::tanh(score / case_.softcap);
      scores.push_back(score);
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (double& score : scores) total += score = std::exp(score - largest);
    for (size_t p = first; p <= position; ++p)
      for (size_t d = 0; d < case_.value_dim; ++d)
        out[d] += scores[p - first] / total * cached(false, kv_head, p, d);
    return out;
  }

 private:
  Case case_;
  size_t capacity_;
  ByteVector keys_, values_;
  std::vector<float> key_floats_, value_floats_, queries_;
};

std::vector<Case> cases() {
  std::vector<Case> result;
  for (const KvType type : kKvTypes) {
    const auto add = [&](Case c) {
      c.type = type;
      result.push_back(c);
    };
    add({});
    add({.heads = 7, .kv_heads = 1, .positions = 200});
    add({.heads = 3, .kv_heads = 3, .head_dim = 80, .value_dim = 80, .positions = 70, .window = 64});
    add({.heads = 4, .kv_heads = 1, .head_dim = 256, .value_dim = 256, .positions = 131, .window = 7});
    add({.heads = 8, .kv_heads = 2, .head_dim = 20, .value_dim = 20, .positions = 129, .softcap = 3.0f});
    add({.heads = 1, .kv_heads = 1, .head_dim = 8, .value_dim = 8, .positions = 65});
    add({.heads = 4, .kv_heads = 2, .head_dim = 96, .value_dim = 64, .positions = 140});
    add({.heads = 6, .kv_heads = 2, .head_dim = 16, .value_dim = 41, .positions = 100, .window = 33});
  }
  return result;
}

// Scores here are within ±16, so their roundings (dim / 16 + 8 of 2^-24 each, times Σ|q·k|·scale ≤ 100)
// change a weight by less than 1e-4 of itself; so much of Σ weight·|value| ≤ 5 bounds the result.
TEST(Attention, ScalarAgreesWithTheFormula) {
  ThreadPool pool(1);
  for (const Case& c : cases()) {
    Scene scene(c);
    const Executor executor = {&pool, &scalar()};
    scene.fill(executor);
    const auto out = scene.attend(executor, 0, c.positions);
    for (const size_t position : {size_t{0}, size_t{1}, size_t{62}, size_t{63}, size_t{64}, c.positions - 1})
      for (size_t head = 0; head < c.heads; ++head) {
        const auto wanted = scene.formula(position, head);
        for (size_t d = 0; d < c.value_dim; ++d)
          ASSERT_NEAR(out[(position * c.heads + head) * c.value_dim + d], wanted[d], 2e-5)
              << "type " << static_cast<int>(c.type) << " dim " << c.head_dim << " position " << position;
      }
  }
}

TEST(Attention, EveryVariantGivesTheBitsOfScalar) {
  ThreadPool pool(1);
  for (const Variant* variant : other_variants())
    for (const Case& c : cases()) {
      Scene reference(c), scene(c);
      reference.fill({&pool, &scalar()});
      scene.fill({&pool, variant});
      ASSERT_TRUE(same_bits(scene.attend({&pool, variant}, 0, c.positions),
                            reference.attend({&pool, &scalar()}, 0, c.positions)))
          << name_of(*variant) << " type " << static_cast<int>(c.type) << " dim " << c.head_dim;
    }
}

TEST(Attention, BatchesAndThreadsChangeNothing) {
  for (const Case& c : cases()) {
    ThreadPool one(1);
    Scene scene(c);
    const Executor alone = {&one, &best_variant()};
    scene.fill(alone);
    const auto all = scene.attend(alone, 0, c.positions);
    const size_t row = c.heads * c.value_dim;
    for (const size_t threads : Sizes{1, 2, 3, 5}) {
      ThreadPool pool(threads);
      const Executor executor = {&pool, &best_variant()};
      ASSERT_TRUE(same_bits(scene.attend(executor, 0, c.positions), all)) << threads << " threads";
      for (const size_t tokens : Sizes{1, 2, 9})
        for (const size_t first : {size_t{0}, size_t{55}, c.positions - tokens}) {
          const auto from = all.begin() + static_cast<std::ptrdiff_t>(first * row);
          const std::vector<float> wanted(from, from + static_cast<std::ptrdiff_t>(tokens * row));
          ASSERT_TRUE(same_bits(scene.attend(executor, first, tokens), wanted))
              << threads << " threads, " << tokens << " tokens from " << first << " dim " << c.head_dim;
        }
    }
  }
}

// The ring forgets what no token of a batch sees any more; the full cache keeps all.
TEST(Attention, ARingGivesTheBitsOfAFullCache) {
  struct Ring {
    size_t window, batch, capacity;  // capacity ≥ window + batch - 1
  };
  for (const size_t threads : Sizes{1, 3})
    for (const KvType type : kKvTypes)
      for (const Ring& r : {Ring{64, 1, 64}, Ring{7, 1, 64}, Ring{60, 5, 64}, Ring{65, 64, 128},
                            Ring{100, 29, 128}, Ring{1, 64, 64}, Ring{150, 9, 192}}) {
        Case c = {.type = type, .head_dim = 32, .value_dim = 48, .positions = 300, .window = r.window};
        Scene full(c);
        c.capacity = r.capacity;
        Scene ring(c);
        ThreadPool pool(threads);
        const Executor executor = {&pool, &best_variant()};
        for (size_t first = 0; first < c.positions; first += r.batch) {
          const size_t tokens = std::min(r.batch, c.positions - first);
          full.fill(executor, first, tokens);
          ring.fill(executor, first, tokens);
          ASSERT_TRUE(same_bits(ring.attend(executor, first, tokens), full.attend(executor, first, tokens)))
              << "window " << r.window << ", batches of " << r.batch << " at " << first;
        }
      }
}

/// Attention over a cache whose kv heads lie on pages of their own.
class PagedScene {
 public:
  static constexpr size_t kHeads = 12, kKvHeads = 3, kWidth = 64, kPositions = 160;
  PagedScene() : keys_(kKvHeads * kHeadBytes), values_(kKvHeads * kHeadBytes) {
    ThreadPool pool(1);
    const auto floats = random_floats(1, kPositions * kKvHeads * kWidth);
    kv_store({&pool, &scalar()}, view(), 0, kPositions, floats.data(), floats.data());
  }
  void forbid(size_t kv_head) {
    for (GuardedBytes* bytes : {&keys_, &values_})
      ASSERT_EQ(bytes->forbid(kv_head * kHeadBytes, (kv_head + 1) * kHeadBytes),
                kHeadBytes / GuardedBytes::kPage);
  }
  std::vector<float> attend(const Executor& executor, size_t tokens, const uint8_t* live_heads) const {
    const auto queries = random_floats(3, tokens * kHeads * kWidth);
    std::vector<float> out(queries.size(), 5.0f);
    AttentionArguments a;
    a.queries = queries.data();
    a.tokens = tokens;
    a.heads = kHeads;
    a.kv = view();
    a.first_position = kPositions - tokens;
    a.scale = 0.125f;
    a.live_heads = live_heads;
    a.out = out.data();
    attention(executor, a);
    return out;
  }

 private:
  static constexpr size_t kHeadBytes = kPositions * kWidth * 2;
  static_assert(kHeadBytes % GuardedBytes::kPage == 0);
  KvView view() const {
    return {KvType::kF16, kKvHeads, kWidth, kWidth, kPositions, keys_.data(), values_.data()};
  }
  GuardedBytes keys_, values_;
};

TEST(Attention, DeadHeadsAreZeroAndTheirCacheIsNotTouched) {
  const uint8_t live[PagedScene::kHeads] = {1, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 0};
  PagedScene scene;
  for (const size_t tokens : Sizes{1, 2, 30}) {
    ThreadPool one(1);
    auto wanted = scene.attend({&one, &scalar()}, tokens, nullptr);
    for (size_t i = 0; i < wanted.size(); ++i)
      if (!live[i / PagedScene::kWidth % PagedScene::kHeads]) wanted[i] = 0;
    PagedScene without;
    without.forbid(1);
    for (const Variant* variant : variants()) {
      if (!runs_here(*variant)) continue;
      for (const size_t threads : Sizes{1, 4}) {
        ThreadPool pool(threads);
        EXPECT_TRUE(same_bits(without.attend({&pool, variant}, tokens, live), wanted))
            << name_of(*variant) << ", " << tokens << " tokens, " << threads << " threads";
      }
    }
  }
}

TEST(KvStore, KeepsValuesWithinTheTypesPrecision) {
  ThreadPool pool(1);
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    for (const Case& c : cases()) {
      Scene scene(c);
      scene.fill({&pool, variant});
      for (const bool key : {true, false})
        for (size_t head = 0; head < c.kv_heads; ++head)
          for (const size_t position : {size_t{0}, c.positions - 1})
            for (size_t d = 0; d < scene.width(key); ++d) {
              const double wanted = scene.stored(key, head, position, d),
                           got = scene.cached(key, head, position, d);
              double bound = 0;  // f32 is kept as it is
              if (c.type == KvType::kF16) bound = std::fabs(wanted) * 0x1p-11 + 0x1p-25;
              if (c.type ==
                  KvType::kQ8)  // half a step of the group's scale, which is its largest value / 127
                for (size_t i = d / 32 * 32; i < std::min(scene.width(key), d / 32 * 32 + 32); ++i)
                  bound = std::max(bound, std::fabs(scene.stored(key, head, position, i)) / 254 * 1.0001);
              ASSERT_NEAR(got, wanted, bound) << name_of(*variant);
            }
    }
  }
}

TEST(KvStore, SizesOfAPosition) {
  EXPECT_EQ(kv_bytes_per_position(KvType::kF32, 64), 256u);
  EXPECT_EQ(kv_bytes_per_position(KvType::kF16, 64), 128u);
  EXPECT_EQ(kv_bytes_per_position(KvType::kQ8, 64), 72u);
  EXPECT_EQ(kv_bytes_per_position(KvType::kQ8, 80), 92u);
  EXPECT_EQ(kv_bytes_per_position(KvType::kQ8, 16), 20u);
}

}  // namespace
}  // namespace amphora::kernels::testing
