// Copies of weights: products have the bits that they have without, and read the copies alone.
#include "kernels/weight_copies.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "kernels/testing/support.h"

namespace amphora::kernels::testing {
namespace {

constexpr uint64_t kNoLimit = UINT64_MAX;

std::vector<float> product_of_copies(Executor executor, const WeightCopies& copies, const Matrix& matrix,
                                     const std::vector<float>& x, size_t tokens) {
  executor.copies = &copies;
  return product(executor, matrix, x, tokens);
}

/// Copies that a first product has asked for.
std::unique_ptr<WeightCopies> filled_copies(const Executor& executor, const Matrix& matrix) {
  const Matrix* const matrices[] = {&matrix};
  auto copies = WeightCopies::create(matrices);
  if (!copies) return nullptr;
  const std::vector<float> x(matrix.columns, 1.0f);
  (void)product_of_copies(executor, *copies, matrix, x, 1);
  EXPECT_TRUE(copies->fill(*executor.pool, kNoLimit));
  return copies;
}

TEST(WeightCopies, GiveTheBitsOfScalar) {
  ThreadPool pool(2);
  for (const Variant* variant : other_variants())
    for (const DType dtype : kDTypes)
      for (const size_t columns : Sizes{32, 64, 96, 128, 160, 200, 640}) {
        if (!can_have(dtype, columns) || (dtype == DType::kQ4Block && columns % 32 != 0)) continue;
        for (const size_t rows : Sizes{1, 3, 8, 17, 33, 100}) {
          const Executor executor = {&pool, variant};
          const OwnedMatrix m = random_matrix(columns + rows, dtype, rows, columns);
          const auto copies = filled_copies(executor, m.matrix);
          ASSERT_TRUE(copies) << static_cast<int>(dtype);
          for (const size_t tokens : Sizes{1, 2, 3, 4, 5, 7, 8, 9}) {
            const auto x = random_floats(tokens, tokens * columns);
            ASSERT_TRUE(same_bits(product_of_copies(executor, *copies, m.matrix, x, tokens),
                                  product({&pool, &scalar()}, m.matrix, x, tokens)))
                << name_of(*variant) << " dtype " << static_cast<int>(dtype) << " columns " << columns
                << " rows " << rows << " tokens " << tokens;
          }
        }
      }
}

TEST(WeightCopies, GiveTheBitsOfScalarAtExtremes) {
  ThreadPool pool(1);
  for (const Variant* variant : other_variants())
    for (const DType dtype : kDTypes)
      for (const Range weights : {Range::kUsual, Range::kTiny, Range::kHuge}) {
        constexpr size_t kWidth = 160;
        const Executor executor = {&pool, variant};
        const OwnedMatrix m = random_matrix(9, dtype, 7, kWidth, weights);
        const auto copies = filled_copies(executor, m.matrix);
        for (const float size : {0.0f, 0x1p-149f, 0x1p-118f, 1e-20f, 1e38f, INFINITY, NAN})
          for (const size_t tokens : Sizes{1, 4}) {
            auto x = random_floats(7, tokens * kWidth);
            for (size_t i = 32; i < 96; ++i) x[i] *= size;
            ASSERT_TRUE(same_bits(product_of_copies(executor, *copies, m.matrix, x, tokens),
                                  product({&pool, &scalar()}, m.matrix, x, tokens)))
                << name_of(*variant) << " dtype " << static_cast<int>(dtype) << " size " << size;
          }
      }
}

// Every code at its greatest and its least against activations of ±127: no sum of products may overflow.
TEST(WeightCopies, HoldTheLargestSums) {
  constexpr size_t kRows = 8, kWidth = 128;
  ThreadPool pool(1);
  for (const Variant* variant : other_variants())
    for (const DType dtype : {DType::kQ8Row, DType::kQ4Tiled, DType::kQ4Block, DType::kVbit})
      for (const int sign : {1, -1})
        for (const std::byte codes : {std::byte{0}, std::byte{0xFF}, std::byte{0x80}}) {
          const Executor executor = {&pool, variant};
          OwnedMatrix m = random_matrix(5, dtype, kRows, kWidth);
          const size_t bytes = m.matrix.payload.size(), groups = kRows * kWidth / 32;
          const auto fill = [&](size_t first, size_t last) {
            std::fill(m.payload.get() + first, m.payload.get() + last, codes);
          };
          switch (dtype) {
            case DType::kQ8Row: fill(0, kRows * kWidth); break;
            case DType::kQ4Block: fill(0, groups * 16); break;
            case DType::kVbit: fill(kRows + 2 * groups, bytes); break;
            default:
              for (size_t group = 0; group < groups; ++group) fill(group * 18 + 2, group * 18 + 18);
          }
          const auto copies = filled_copies(executor, m.matrix);
          const std::vector<float> x(kWidth, static_cast<float>(127 * sign));
          ASSERT_TRUE(same_bits(product_of_copies(executor, *copies, m.matrix, x, 1),
                                product({&pool, &scalar()}, m.matrix, x, 1)))
              << name_of(*variant) << " dtype " << static_cast<int>(dtype);
        }
}

TEST(WeightCopies, AreMadeOfWhatProductsAskedForAndOnce) {
  ThreadPool pool(2);
  const Executor executor = {&pool, &best_variant()};
  const OwnedMatrix a = random_matrix(1, DType::kF16, 64, 640), b = random_matrix(2, DType::kF32, 64, 640);
  const Matrix tied = a.matrix;  // the same payload: the same copy
  const Matrix* const matrices[] = {&a.matrix, &b.matrix, &tied};
  constexpr uint64_t kBytesOfA = 64 * 640 * 2, kBytesOfB = 64 * 640 * 4;
  EXPECT_EQ(WeightCopies::create(matrices, kBytesOfA + kBytesOfB - 1), nullptr);
  const auto copies = WeightCopies::create(matrices, kBytesOfA + kBytesOfB);
  ASSERT_TRUE(copies);
  EXPECT_FALSE(copies->fill(pool, kNoLimit));
  EXPECT_EQ(copies->filled_bytes(), 0u);

  const auto x = random_floats(1, 640);
  (void)product_of_copies(executor, *copies, a.matrix, x, 1);
  EXPECT_TRUE(copies->fill(pool, kNoLimit));
  EXPECT_EQ(copies->filled_bytes(), kBytesOfA);
  EXPECT_FALSE(copies->fill(pool, kNoLimit));
  EXPECT_EQ(copies->find_plain(tied), copies->find_plain(a.matrix));
  EXPECT_NE(copies->find_plain(tied), nullptr);
  EXPECT_EQ(copies->find_packed(a.matrix), nullptr);
  EXPECT_EQ(copies->find_plain(b.matrix), nullptr);
}

TEST(WeightCopies, AreMadeWithinABudget) {
  ThreadPool pool(1);
  std::vector<OwnedMatrix> owned;
  std::vector<const Matrix*> matrices;
  for (uint64_t seed = 0; seed < 5; ++seed) owned.push_back(random_matrix(seed, DType::kF16, 16, 64));
  for (const OwnedMatrix& m : owned) matrices.push_back(&m.matrix);
  const auto copies = WeightCopies::create(matrices);
  for (const Matrix* matrix : matrices) EXPECT_EQ(copies->find_plain(*matrix), nullptr);
  EXPECT_TRUE(copies->fill(pool, 16 * 64 * 2 + 1));  // two matrices reach it
  EXPECT_EQ(copies->filled_bytes(), 2u * 16 * 64 * 2);
}

TEST(WeightCopies, AreReadInsteadOfThePayload) {
  constexpr size_t kRows = 64, kWidth = 640;
  ThreadPool pool(1);
  for (const Variant* variant : other_variants())
    for (const DType dtype : {DType::kQ8Row, DType::kQ4Tiled, DType::kQ4TP, DType::kVbit, DType::kBF16}) {
      const Executor executor = {&pool, variant};
      const OwnedMatrix m = random_matrix(5, dtype, kRows, kWidth);
      GuardedBytes bytes(m.matrix.payload.size());
      std::copy(m.matrix.payload.begin(), m.matrix.payload.end(), bytes.data());
      Matrix guarded = {dtype, kRows, kWidth, Bytes(bytes.data(), m.matrix.payload.size())};
      guarded.coded = find_coded_rows(guarded);
      const auto copies = filled_copies(executor, guarded);
      ASSERT_GE(bytes.forbid(0, guarded.payload.size()), 3u);
      const auto x = random_floats(3, kWidth);
      EXPECT_TRUE(
          same_bits(product_of_copies(executor, *copies, guarded, x, 1), product(executor, m.matrix, x, 1)));
    }
}

TEST(WeightCopies, TellWhichPartsOfPayloadsAreCopied) {
  ThreadPool pool(2);
  for (const DType dtype : {DType::kF16, DType::kQ4Tiled}) {
    const OwnedMatrix m = random_matrix(3, dtype, 1000, 96);
    const Matrix* const matrices[] = {&m.matrix};
    std::mutex mutex;
    std::vector<int> told(m.matrix.payload.size());
    const auto copies = WeightCopies::create(matrices, kNoLimit, [&](Bytes part) {
      const std::unique_lock lock(mutex);
      const auto first = part.data() - m.matrix.payload.data();
      for (size_t i = 0; i < part.size(); ++i) ++told[static_cast<size_t>(first) + i];
    });
    const auto x = random_floats(1, 96);
    (void)product_of_copies({&pool, &best_variant()}, *copies, m.matrix, x, 1);
    EXPECT_TRUE(copies->fill(pool, kNoLimit));
    EXPECT_EQ(std::ranges::count(told, 2), std::ssize(told));  // in parts, then as a whole
  }
}

TEST(WeightCopies, DoNotServeSomeRowsOrExactNumerics) {
  ThreadPool pool(1);
  const OwnedMatrix m = random_matrix(1, DType::kF16, 64, 64);
  const Matrix* const matrices[] = {&m.matrix};
  const auto copies = WeightCopies::create(matrices);
  const auto x = random_floats(1, 64);
  (void)product_of_copies({&pool, &best_variant(), Numerics::kExact}, *copies, m.matrix, x, 1);
  EXPECT_FALSE(copies->fill(pool, kNoLimit));

  const Executor executor = {&pool, &best_variant(), Numerics::kFast, copies.get()};
  const std::vector<RowRange> live = {{3, 9}};
  std::vector<float> out(64);
  Activations activations;
  activations.assign(executor, x.data(), 1, 64);
  const Product products[] = {{&m.matrix, out.data(), 64, live}};
  matmul(executor, products, activations);
  EXPECT_FALSE(copies->fill(pool, kNoLimit));
}

TEST(WeightCopies, AreNotMadeOfTypesThatAreDecoded) {
  const OwnedMatrix m = random_matrix(1, DType::kQ4Block, 4, 40);  // no whole groups
  const Matrix* const matrices[] = {&m.matrix};
  EXPECT_EQ(WeightCopies::create(matrices), nullptr);
}

}  // namespace
}  // namespace amphora::kernels::testing
