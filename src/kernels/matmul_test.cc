// Matrix products: against plain double-precision sums, and bit for bit across variants, batches and threads.
#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/testing/support.h"

namespace amphora::kernels::testing {
namespace {

constexpr double kRounding = 0x1p-24;  // relative error of one f32 rounding

/// What the codes of a q8_2f matrix stand for is x · column field; 1 for other types.
double column_factor(const Matrix& m, size_t column) {
  if (m.dtype != DType::kQ82F) return 1;
  const std::byte* const at = m.payload.data() + m.rows * m.columns + 2 * m.rows + 2 * column;
  return half_to_float(
      static_cast<uint16_t>(std::to_integer<unsigned>(at[0]) | std::to_integer<unsigned>(at[1]) << 8));
}

/// What |kernel - exact| cannot exceed, for one row and token: half a step of the activations' codes where
/// they are quantised, and one rounding of f32 per column of Σ|w · x|.
double bound_of(const Matrix& m, size_t row, const float* x, Numerics numerics) {
  const bool float_weights = m.dtype == DType::kF32 || m.dtype == DType::kF16 || m.dtype == DType::kBF16 ||
                             (m.dtype == DType::kQ4Block && m.columns % 32 != 0);
  const bool quantised = numerics == Numerics::kFast && !float_weights;
  double bound = 0;
  for (size_t group = 0; group < m.columns; group += 32) {
    const size_t end = std::min<size_t>(m.columns, group + 32);
    double largest = 0;
    for (size_t c = group; c < end; ++c)
      largest = std::max(largest, std::fabs(static_cast<double>(x[c]) * column_factor(m, c)));
    const double half_step = quantised ? largest / 254 : 0;
    for (size_t c = group; c < end; ++c) {
      const double w = std::fabs(weight_at(m, row, c)), factor = column_factor(m, c);
      const double rounding = static_cast<double>(m.columns + 8) * kRounding;
      bound += w / factor * half_step * (1 + rounding) + w * std::fabs(static_cast<double>(x[c])) * rounding;
    }
  }
  return bound;
}

void expect_near_exact(const Matrix& m, const std::vector<float>& x, size_t tokens,
                       const std::vector<float>& got, Numerics numerics) {
  for (size_t t = 0; t < tokens; ++t)
    for (size_t r = 0; r < m.rows; ++r) {
      double exact = 0;
      for (size_t c = 0; c < m.columns; ++c)
        exact += weight_at(m, r, c) * static_cast<double>(x[t * m.columns + c]);
      ASSERT_NEAR(got[t * m.rows + r], exact, bound_of(m, r, &x[t * m.columns], numerics))
          << "dtype " << static_cast<int>(m.dtype) << " columns " << m.columns << " row " << r << " token "
          << t;
    }
}

constexpr size_t kColumns[] = {1, 7, 31, 32, 33, 64, 65, 96, 127, 128, 160, 200, 224, 640};

TEST(Matmul, ScalarAgreesWithTheFormula) {
  ThreadPool pool(1);
  for (const Numerics numerics : {Numerics::kFast, Numerics::kExact})
    for (const DType dtype : kDTypes)
      for (const size_t columns : kColumns) {
        if (!can_have(dtype, columns)) continue;
        const OwnedMatrix m = random_matrix(columns, dtype, 5, columns);
        const auto x = random_floats(columns + 1, 2 * columns);
        expect_near_exact(m.matrix, x, 2, product({&pool, &scalar(), numerics}, m.matrix, x, 2), numerics);
      }
}

// With activations that are integers and reach 127 in every group, their codes are themselves and their
// scales 1: the products are integers that f32 holds, whatever the order.
TEST(Matmul, IntegerProductsAreExactMinus128Included) {
  ThreadPool pool(1);
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    for (const size_t columns : Sizes{32, 64, 96, 100, 128, 640}) {
      constexpr size_t kRows = 9, kTokens = 17;
      OwnedMatrix m = random_matrix(columns, DType::kQ8Row, kRows, columns);
      for (size_t c = 0; c < columns; ++c) m.payload[c] = std::byte{0x80};  // row 0: -128 throughout
      for (size_t r = 0; r < kRows; ++r)
        store_little_endian(m.payload.get() + kRows * columns + 2 * r, uint16_t{0x3C00});
      Random random(columns);
      std::vector<float> x(kTokens * columns);
      for (size_t i = 0; i < x.size(); ++i)
        x[i] = i % columns % 32 == 5 || i % columns == columns - 1
                   ? (i % 2 ? 127.0f : -127.0f)
                   : static_cast<float>(random.below(255)) - 127.0f;
      for (size_t i = 0; i < columns; ++i) x[i] = -127;  // token 0: the largest sums
      std::vector<float> wanted;
      for (size_t t = 0; t < kTokens; ++t)
        for (size_t r = 0; r < kRows; ++r) {
          int sum = 0;
          for (size_t c = 0; c < columns; ++c)
            sum += static_cast<int8_t>(m.payload[r * columns + c]) * static_cast<int>(x[t * columns + c]);
          wanted.push_back(static_cast<float>(sum));
        }
      EXPECT_TRUE(same_bits(product({&pool, variant}, m.matrix, x, kTokens), wanted)) << name_of(*variant);
      std::vector<float> first(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(columns));
      EXPECT_EQ(product({&pool, variant}, m.matrix, first, 1)[0], static_cast<float>(128 * 127 * columns));
    }
  }
}

TEST(Matmul, EveryVariantGivesTheBitsOfScalar) {
  ThreadPool pool(1);
  for (const Variant* variant : other_variants())
    for (const Numerics numerics : {Numerics::kFast, Numerics::kExact})
      for (const DType dtype : kDTypes)
        for (const size_t columns : kColumns) {
          if (!can_have(dtype, columns)) continue;
          for (const size_t rows : Sizes{1, 3, 4, 17, 33})
            for (const size_t tokens : Sizes{1, 2, 5, 8, 17, 35}) {
              if (rows * tokens * columns > 60'000 && rows != 17) continue;  // slow, and shows little more
              const uint64_t seed = columns * 1000 + rows * 100 + tokens;
              const OwnedMatrix m = random_matrix(seed, dtype, rows, columns);
              auto x = random_floats(seed, tokens * columns);
              const auto wanted = product({&pool, &scalar(), numerics}, m.matrix, x, tokens);
              ASSERT_TRUE(same_bits(product({&pool, variant, numerics}, m.matrix, x, tokens), wanted))
                  << name_of(*variant) << " dtype " << static_cast<int>(dtype) << " columns " << columns
                  << " rows " << rows << " tokens " << tokens;
            }
        }
}

TEST(Matmul, EveryVariantGivesTheBitsOfScalarAtExtremes) {
  ThreadPool pool(1);
  for (const Variant* variant : other_variants())
    for (const DType dtype : kDTypes)
      for (const Range weights : {Range::kUsual, Range::kTiny, Range::kHuge})
        for (const float size : {0.0f, 0x1p-149f, 0x1p-130f, 0x1p-118f, 1e-20f, 1e20f, 1e38f, INFINITY, NAN})
          for (const size_t tokens : Sizes{1, 3, 19}) {
            constexpr size_t kWidth = 160;
            const OwnedMatrix m = random_matrix(tokens, dtype, 7, kWidth, weights);
            auto x = random_floats(7, tokens * kWidth);
            for (size_t i = 32; i < 96; ++i) x[i] *= size;  // two groups of token 0
            for (size_t i = 0; i < 32; ++i) x[(tokens - 1) * kWidth + i] = size;
            const auto wanted = product({&pool, &scalar()}, m.matrix, x, tokens);
            ASSERT_TRUE(same_bits(product({&pool, variant}, m.matrix, x, tokens), wanted))
                << name_of(*variant) << " dtype " << static_cast<int>(dtype) << " size " << size << " tokens "
                << tokens;
          }
}

TEST(Matmul, AnInfinityOrNanIsNotLost) {
  ThreadPool pool(1);
  for (const DType dtype : kDTypes)
    for (const float bad : {INFINITY, -INFINITY, NAN}) {
      const OwnedMatrix m = random_matrix(3, dtype, 4, 64);
      auto x = random_floats(4, 64);
      x[40] = bad;
      for (const float value : product({&pool, &best_variant()}, m.matrix, x, 1))
        EXPECT_FALSE(std::isfinite(value));
    }
}

TEST(Matmul, ManyTokensGiveTheBitsOfOneTokenEach) {
  ThreadPool pool(2);
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    for (const Numerics numerics : {Numerics::kFast, Numerics::kExact})
      for (const DType dtype : kDTypes)
        for (const size_t columns : Sizes{96, 640}) {
          constexpr size_t kRows = 37, kMostTokens = 40;
          const OwnedMatrix m = random_matrix(9, dtype, kRows, columns);
          const auto x = random_floats(10, kMostTokens * columns);
          const Executor executor = {&pool, variant, numerics};
          std::vector<float> single;
          for (size_t t = 0; t < kMostTokens; ++t) {
            const auto at = x.begin() + static_cast<std::ptrdiff_t>(t * columns);
            const auto one = product(executor, m.matrix,
                                     std::vector<float>(at, at + static_cast<std::ptrdiff_t>(columns)), 1);
            single.insert(single.end(), one.begin(), one.end());
          }
          for (const size_t tokens : Sizes{2, 3, 5, 6, 8, 13, 16, 31, 40}) {
            const std::vector<float> wanted(single.begin(),
                                            single.begin() + static_cast<std::ptrdiff_t>(tokens * kRows));
            ASSERT_TRUE(same_bits(product(executor, m.matrix, x, tokens), wanted))
                << name_of(*variant) << " dtype " << static_cast<int>(dtype) << " tokens " << tokens;
          }
        }
  }
}

TEST(Matmul, ThreadsAndGroupsOfProductsChangeNothing) {
  constexpr size_t kColumnsEach = 640, kTokens = 18;
  std::vector<OwnedMatrix> matrices;
  for (const DType dtype : kDTypes)
    matrices.push_back(random_matrix(11, dtype, 16 + matrices.size() * 97, kColumnsEach));
  const auto x = random_floats(12, kTokens * kColumnsEach);
  for (const Numerics numerics : {Numerics::kFast, Numerics::kExact})
    for (const size_t tokens : {size_t{1}, size_t{4}, kTokens}) {
      ThreadPool one(1);
      std::vector<std::vector<float>> wanted;
      for (const OwnedMatrix& m : matrices)
        wanted.push_back(product({&one, &best_variant(), numerics}, m.matrix, x, tokens));
      for (const size_t threads : Sizes{1, 2, 3, 5}) {
        ThreadPool pool(threads);
        const Executor executor = {&pool, &best_variant(), numerics};
        Activations activations;
        activations.assign(executor, x.data(), tokens, kColumnsEach);
        std::vector<std::vector<float>> got;
        std::vector<Product> products;
        for (const OwnedMatrix& m : matrices) got.emplace_back(tokens * (m.matrix.rows + 3), 5.0f);
        for (size_t i = 0; i < matrices.size(); ++i)
          products.push_back({&matrices[i].matrix, got[i].data(), matrices[i].matrix.rows + 3});
        for (int again = 0; again < 2; ++again) matmul(executor, products, activations);
        for (size_t i = 0; i < matrices.size(); ++i) {
          const size_t rows = matrices[i].matrix.rows;
          for (size_t t = 0; t < tokens; ++t) {
            const auto from = got[i].begin() + static_cast<std::ptrdiff_t>(t * (rows + 3));
            const auto want = wanted[i].begin() + static_cast<std::ptrdiff_t>(t * rows);
            ASSERT_TRUE(std::equal(from, from + static_cast<std::ptrdiff_t>(rows), want))
                << threads << " threads";
            ASSERT_TRUE(std::all_of(from + static_cast<std::ptrdiff_t>(rows),
                                    from + static_cast<std::ptrdiff_t>(rows + 3),
                                    [](float value) { return value == 5.0f; }))
                << "wrote between the rows";
          }
        }
      }
    }
}

std::vector<float> product_of_rows(const Executor& executor, const Matrix& matrix,
                                   const std::vector<float>& x, size_t tokens,
                                   std::span<const RowRange> rows) {
  std::vector<float> out(tokens * matrix.rows, -1.0f);
  Activations activations;
  activations.assign(executor, x.data(), tokens, matrix.columns);
  const Product products[] = {{&matrix, out.data(), matrix.rows, rows}};
  matmul(executor, products, activations);
  return out;
}

std::vector<float> with_dead_rows_zero(std::vector<float> out, size_t rows, std::span<const RowRange> live) {
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t row = i % rows;
    if (std::none_of(live.begin(), live.end(),
                     [&](const RowRange& range) { return range.first <= row && row < range.last; }))
      out[i] = 0;
  }
  return out;
}

/// Ranges of one to `longest` rows, with gaps as long.
std::vector<RowRange> scattered_ranges(uint64_t seed, size_t rows, size_t longest) {
  Random random(seed);
  std::vector<RowRange> ranges;
  for (size_t at = random.below(longest + 1); at < rows;) {
    const size_t end = std::min(rows, at + 1 + random.below(longest));
    ranges.push_back({at, end});
    at = end + 1 + random.below(longest);
  }
  return ranges;
}

TEST(Matmul, RowRangesGiveTheBitsOfAllRowsAndZerosBetween) {
  constexpr size_t kRows = 700, kWidth = 64;
  const std::vector<std::vector<RowRange>> choices = {{{0, kRows}},
                                                      {{0, 1}},
                                                      {{kRows - 1, kRows}},
                                                      {{5, 5}, {7, 9}, {9, 9}, {9, 10}, {698, 698}},
                                                      {{100, 400}, {401, kRows}},
                                                      scattered_ranges(1, kRows, 1),
                                                      scattered_ranges(2, kRows, 3),
                                                      scattered_ranges(3, kRows, 70)};
  for (const Variant* variant : variants()) {
    if (!runs_here(*variant)) continue;
    for (const Numerics numerics : {Numerics::kFast, Numerics::kExact})
      for (const DType dtype : kDTypes) {
        if (numerics == Numerics::kExact && dtype != DType::kQ8Row) continue;  // one way for all types
        const OwnedMatrix m = random_matrix(5, dtype, kRows, kWidth);
        for (const size_t tokens : Sizes{1, 3, 19}) {
          const auto x = random_floats(6, tokens * kWidth);
          ThreadPool one(1);
          const auto all = product({&one, variant, numerics}, m.matrix, x, tokens);
          for (size_t choice = 0; choice < choices.size(); ++choice)
            for (const size_t threads : Sizes{1, 3}) {
              ThreadPool pool(threads);
              ASSERT_TRUE(
                  same_bits(product_of_rows({&pool, variant, numerics}, m.matrix, x, tokens, choices[choice]),
                            with_dead_rows_zero(all, kRows, choices[choice])))
                  << name_of(*variant) << " dtype " << static_cast<int>(dtype) << " choice " << choice
                  << " tokens " << tokens << " threads " << threads;
            }
        }
      }
  }
}

// q4_block with 33 columns goes the way of the types that are decoded.
TEST(Matmul, RowRangesOfDecodedRows) {
  ThreadPool pool(2);
  const OwnedMatrix m = random_matrix(5, DType::kQ4Block, 200, 33);
  const auto ranges = scattered_ranges(7, 200, 5);
  const auto x = random_floats(6, 3 * 33);
  const Executor executor = {&pool, &best_variant()};
  EXPECT_TRUE(same_bits(product_of_rows(executor, m.matrix, x, 3, ranges),
                        with_dead_rows_zero(product(executor, m.matrix, x, 3), 200, ranges)));
}

/// Where the weights of a row lie, without scales that are kept elsewhere.
size_t row_bytes(DType dtype, size_t columns) {
  return dtype == DType::kQ4Block || dtype == DType::kQ4TP
             ? columns / 2
             : payload_bytes(dtype, 2, columns) - payload_bytes(dtype, 1, columns) -
                   (dtype == DType::kQ8Row || dtype == DType::kQ82F ? 2 : 0);
}

TEST(Matmul, TheWeightsOfDeadRowsAreNotTouched) {
  constexpr size_t kRows = 300, kWidth = 640;
  const std::vector<RowRange> live = {{0, 3}, {120, 121}, {160, 200}};
  for (const DType dtype : kDTypes) {
    // q4tp stands for all coded rows; those of the others are too short for whole pages or follow tables.
    if (is_coded(dtype) && dtype != DType::kQ4TP) continue;
    const OwnedMatrix m = random_matrix(5, dtype, kRows, kWidth);
    GuardedBytes bytes(m.matrix.payload.size());
    std::copy(m.matrix.payload.begin(), m.matrix.payload.end(), bytes.data());
    Matrix guarded = {dtype, kRows, kWidth, Bytes(bytes.data(), m.matrix.payload.size())};
    guarded.coded = find_coded_rows(guarded);
    const size_t step = row_bytes(dtype, kWidth);
    size_t pages = 0;
    for (const auto& [first, last] : {RowRange{3, 120}, RowRange{121, 160}, RowRange{200, kRows}})
      pages += bytes.forbid(first * step, last * step);
    ASSERT_GE(pages, 15u);
    for (const Variant* variant : variants()) {
      if (!runs_here(*variant)) continue;
      for (const Numerics numerics : {Numerics::kFast, Numerics::kExact})
        for (const size_t tokens : Sizes{1, 4, 9}) {
          ThreadPool pool(2);
          const Executor executor = {&pool, variant, numerics};
          const auto x = random_floats(6, tokens * kWidth);
          ASSERT_TRUE(same_bits(product_of_rows(executor, guarded, x, tokens, live),
                                with_dead_rows_zero(product(executor, m.matrix, x, tokens), kRows, live)))
              << name_of(*variant) << " dtype " << static_cast<int>(dtype);
        }
    }
  }
}

TEST(Matmul, NoRowsOrTokensIsNoWork) {
  ThreadPool pool(2);
  const OwnedMatrix m = random_matrix(1, DType::kQ8Row, 0, 64);
  const auto x = random_floats(1, 64);
  EXPECT_TRUE(product({&pool, &best_variant()}, m.matrix, x, 1).empty());
  const OwnedMatrix some = random_matrix(1, DType::kF16, 3, 64);
  EXPECT_TRUE(product({&pool, &best_variant()}, some.matrix, x, 0).empty());
}

TEST(DecodeRow, GivesTheValuesOfTheSpecification) {
  for (const DType dtype : kDTypes) {
    const OwnedMatrix m = random_matrix(21, dtype, 6, 96);
    std::vector<float> row(96);
    decode_row(m.matrix, 4, row.data());
    for (size_t c = 0; c < 96; ++c)
      EXPECT_NEAR(row[c], weight_at(m.matrix, 4, c), 2 * kRounding * std::fabs(weight_at(m.matrix, 4, c)));
  }
}

}  // namespace
}  // namespace amphora::kernels::testing
