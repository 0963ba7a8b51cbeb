// Slices of a tensor give the payload of the whole.
#include "package/encode_tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <memory>

#include "base/testing/test_data.h"

namespace amphora::package {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kRows = 600, kColumns = 640;  // 409 rows of 640 are a slice

PackageTensor matrix(std::shared_ptr<std::vector<float>> values, uint64_t rows, uint64_t columns) {
  PackageTensor tensor;
  tensor.name = "some.weight";
  tensor.shape = {rows, columns};
  tensor.read = [values](uint64_t first, std::span<float> out) -> Status {
    std::copy_n(values->begin() + static_cast<ptrdiff_t>(first), out.size(), out.begin());
    return {};
  };
  return tensor;
}

PlannedTensor planned(const PackageTensor& tensor, DType dtype) {
  PlannedTensor result;
  result.source = &tensor;
  result.dtype = dtype;
  if (dtype == DType::kVbit) result.row_widths.assign(tensor.shape[0], 4);
  result.bytes =
      *quant::encoded_bytes(*quant::find_codec(dtype), tensor.shape, {.row_widths = result.row_widths});
  return result;
}

TEST(EncodeTensor, SlicesMakeUpTheWhole) {
  const auto values = std::make_shared<std::vector<float>>(testing::random_floats(1, kRows * kColumns));
  const PackageTensor tensor = matrix(values, kRows, kColumns);
  const std::vector<float> importance = [] {
    std::vector<float> all(kColumns);
    for (uint64_t column = 0; column < kColumns; ++column) all[column] = static_cast<float>(column % 7);
    return all;
  }();
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kQ8Row, DType::kQ4Tiled,
                            DType::kQ4Block, DType::kQ4TP, DType::kQ2TP, DType::kQ1})
    for (const quant::Encoder encoder : {quant::Encoder::kPlain, quant::Encoder::kSearch}) {
      PlannedTensor plan = planned(tensor, dtype);
      if (quant::find_codec(dtype)->has_search) plan.importance = importance;
      ByteVector whole(plan.bytes), slices(plan.bytes);
      ASSERT_TRUE(encode_whole(plan, encoder, whole));
      ASSERT_EQ(count_slices(plan), 2u) << quant::name_of(dtype);
      for (const uint64_t slice : {1, 0}) ASSERT_TRUE(encode_slice(plan, encoder, slice, slices));
      EXPECT_TRUE(slices == whole) << quant::name_of(dtype);
    }
}

TEST(EncodeTensor, TypesWhoseRowsDependOnEachOtherHaveOneSlice) {
  const auto values = std::make_shared<std::vector<float>>(kRows * kColumns);
  const PackageTensor tensor = matrix(values, kRows, kColumns);
  for (const DType dtype : {DType::kQ82F, DType::kVbit}) EXPECT_EQ(count_slices(planned(tensor, dtype)), 1u);
  const PackageTensor ragged = matrix(values, kRows, kColumns - 1);  // groups cross from row to row
  EXPECT_EQ(count_slices(planned(ragged, DType::kQ4Block)), 1u);
  EXPECT_EQ(count_slices(planned(ragged, DType::kQ8Row)), 2u);
  PackageTensor line = tensor;
  line.shape = {kRows * kColumns};
  EXPECT_EQ(count_slices(planned(line, DType::kF16)), 1u);
}

TEST(EncodeTensor, NamesTheIndexInTheWholeTensor) {
  const auto values = std::make_shared<std::vector<float>>(kRows * kColumns);
  const PackageTensor tensor = matrix(values, kRows, kColumns);
  const PlannedTensor plan = planned(tensor, DType::kQ8Row);
  ByteVector payload(plan.bytes);
  (*values)[500 * kColumns + 3] = std::numeric_limits<float>::infinity();
  const Status status = encode_slice(plan, quant::Encoder::kPlain, 1, payload);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("some.weight: infinity at flat index 320003"));
}

}  // namespace
}  // namespace amphora::package
