// Tests of views: each reads what it should from any place, and keeps its type only where its bytes lie so.
#include "package/tensor_views.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "package/testing/counted.h"
#include "package/testing/model_folder.h"

namespace amphora::package {
namespace {

using testing::counted;
using ::testing::ElementsAre;
using testing::kCountedOffset;
using testing::values_of;

std::vector<float> stored_values(const PackageTensor& tensor) {
  std::vector<float> values(tensor.stored.size() / sizeof(float));
  std::memcpy(values.data(), tensor.stored.data(), tensor.stored.size());
  return values;
}

/// Every range of a tensor reads as the same range of the whole of it.
void expect_every_range(const PackageTensor& tensor) {
  const std::vector<float> all = values_of(tensor);
  for (size_t first = 0; first <= all.size(); ++first)
    for (size_t count = 0; first + count <= all.size(); ++count) {
      std::vector<float> some(count);
      ASSERT_TRUE(tensor.read(first, some));
      ASSERT_TRUE(std::equal(some.begin(), some.end(), all.begin() + static_cast<std::ptrdiff_t>(first)))
          << first << " " << count;
    }
}

TEST(TensorViews, ARangeIsAViewOfTheSameBytes) {
  const PackageTensor whole = counted("whole", {4, 3});
  const PackageTensor part = element_range(whole, 3, {2, 3});
  EXPECT_THAT(part.shape, ElementsAre(2u, 3u));
  EXPECT_THAT(values_of(part), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_THAT(stored_values(part), ElementsAre(3, 4, 5, 6, 7, 8));
  EXPECT_EQ(part.dtype, DType::kF32);
  EXPECT_EQ(part.stored_offset, kCountedOffset + 12);
  EXPECT_EQ(part.stored_bytes, 24u);
  EXPECT_EQ(part.mapped.data(), whole.mapped.data() + 12);
  expect_every_range(part);
  EXPECT_EQ(element_range(whole, 12, {0, 3}).elements(), 0u);
}

TEST(TensorViews, RowsInAnotherOrderAreReadOneByOne) {
  const PackageTensor whole = counted("whole", {4, 3});
  const PackageTensor part = gathered_rows(whole, 3, [](uint64_t row) { return 3 - row; });
  EXPECT_THAT(part.shape, ElementsAre(3u, 3u));
  EXPECT_THAT(values_of(part), ElementsAre(9, 10, 11, 6, 7, 8, 3, 4, 5));
  EXPECT_FALSE(part.dtype);
  EXPECT_TRUE(part.stored.empty());
  EXPECT_EQ(part.stored_type, "F32");
  EXPECT_EQ(part.stored_bytes, 36u);
  expect_every_range(part);
  const PackageTensor bias = gathered_rows(counted("bias", {4}), 4, [](uint64_t row) { return row ^ 1; });
  EXPECT_THAT(values_of(bias), ElementsAre(1, 0, 3, 2));
}

TEST(TensorViews, RowsBehindOneAnotherKeepTheirType) {
  const PackageTensor whole = counted("whole", {4, 3});
  const PackageTensor part = gathered_rows(whole, 2, [](uint64_t row) { return row + 2; });
  EXPECT_EQ(part.dtype, DType::kF32);
  EXPECT_THAT(stored_values(part), ElementsAre(6, 7, 8, 9, 10, 11));
  EXPECT_EQ(part.stored_offset, kCountedOffset + 24);
  EXPECT_EQ(gathered_rows(whole, 0, [](uint64_t) { return 0; }).elements(), 0u);
}

TEST(TensorViews, ATransposedMatrixReadsColumnsAsRows) {
  // Two matrices of three rows and two columns side by side, behind one element.
  const PackageTensor whole = counted("whole", {13});
  const PackageTensor part = transposed(whole, 1, 3, 2, 6);
  EXPECT_THAT(part.shape, ElementsAre(3u, 2u));
  EXPECT_THAT(values_of(part), ElementsAre(1, 7, 2, 8, 3, 9));
  EXPECT_FALSE(part.dtype);
  EXPECT_EQ(part.stored_bytes, 24u);
  expect_every_range(part);
}

TEST(TensorViews, AWideTransposedMatrixIsReadInStrips) {
  const uint64_t rows = 150, columns = 7;  // more rows than a strip has, and no multiple of it
  const PackageTensor part = transposed(counted("whole", {columns, rows}), 0, rows, columns, rows);
  const std::vector<float> values = values_of(part);
  for (uint64_t r = 0; r < rows; ++r)
    for (uint64_t c = 0; c < columns; ++c)
      ASSERT_EQ(values[r * columns + c], static_cast<float>(c * rows + r)) << r << " " << c;
}

TEST(TensorViews, AScaledTensorHasNoPayload) {
  const PackageTensor part = scaled(counted("whole", {2, 2}), 0.5f);
  EXPECT_THAT(values_of(part), ElementsAre(0, 0.5f, 1, 1.5f));
  EXPECT_FALSE(part.dtype);
  EXPECT_TRUE(part.stored.empty());
}

TEST(TensorViews, ViewsOfViewsReadTheSameElements) {
  const PackageTensor reversed =
      gathered_rows(counted("whole", {4, 3}), 4, [](uint64_t row) { return 3 - row; });
  const PackageTensor part = element_range(reversed, 3, {3});
  EXPECT_THAT(values_of(part), ElementsAre(6, 7, 8));
  EXPECT_FALSE(part.dtype);
  EXPECT_THAT(values_of(gathered_rows(reversed, 2, [](uint64_t row) { return 3 - row; })),
              ElementsAre(0, 1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace amphora::package
