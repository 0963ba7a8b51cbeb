// Views of stored tensors: their types, bytes and values.
#include "package/gguf_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/gguf/testing/gguf_builder.h"
#include "package/testing/model_folder.h"

namespace amphora::package {
namespace {

using gguf::testing::GgufBuilder;
using ::testing::Each;
using ::testing::ElementsAre;
using testing::values_of;

/// A matrix of six rows of 32 in Q8_0: all of row r are r + 1, with a scale of 1.
GgufBuilder q8_matrix() {
  ByteVector blocks;
  for (int row = 0; row < 6; ++row) {
    blocks.push_back(std::byte{0x00});  // 1.0 in f16
    blocks.push_back(std::byte{0x3C});
    blocks.insert(blocks.end(), 32, static_cast<std::byte>(row + 1));
  }
  GgufBuilder builder;
  builder.add_tensor("m", {32, 6}, 8, blocks);
  return builder;
}

TEST(TensorClaims, KeepTheTypeOfRowsThatAreTakenWhole) {
  const std::string file = q8_matrix().file();
  const auto directory = gguf::decode_directory(as_bytes(file));
  ASSERT_TRUE(directory);
  TensorClaims claims(*directory, "model.gguf");
  claims.take("m", {6, 32},
              {{"experts.0", {2, 32}, RowOrder::from(2), 32}, {"turned", {4, 32}, halves_of_pairs(4), 32}});
  const auto tensors = claims.finish("none");
  ASSERT_TRUE(tensors) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 2u);

  const PackageTensor& expert = tensors->at(0);
  EXPECT_EQ(expert.stored_type, "Q8_0");
  EXPECT_EQ(expert.dtype, std::nullopt);
  EXPECT_EQ(expert.mapped.data(), directory->tensors[0].data.data() + 2 * 34);
  EXPECT_EQ(expert.mapped.size(), 2u * 34);
  EXPECT_EQ(expert.stored_bytes, 2u * 34);
  EXPECT_EQ(expert.stored_offset, directory->tensors[0].offset + 2 * 34);
  EXPECT_EQ(expert.file, "model.gguf");
  const std::vector<float> values = values_of(expert);
  EXPECT_THAT(std::span(values).first(32), Each(3));
  EXPECT_THAT(std::span(values).last(32), Each(4));

  const PackageTensor& turned = tensors->at(1);
  EXPECT_EQ(turned.stored_type, "Q8_0");
  EXPECT_EQ(turned.stored_bytes, 4u * 34);
  const std::vector<float> rows = values_of(turned);
  EXPECT_THAT((std::vector{rows[0], rows[32], rows[64], rows[96]}), ElementsAre(1, 3, 2, 4));
}

TEST(TensorClaims, CutVectorsInsideBlocks) {
  GgufBuilder builder;
  ByteVector block = {std::byte{0x00}, std::byte{0x3C}};
  for (int i = 0; i < 32; ++i) block.push_back(static_cast<std::byte>(i));
  builder.add_tensor("v", {32}, 8, block);
  const std::string file = builder.file();
  const auto directory = gguf::decode_directory(as_bytes(file));
  ASSERT_TRUE(directory);
  TensorClaims claims(*directory, {});
  claims.take("v", {32}, {{"end", {3}, RowOrder::from(29), 1}});
  EXPECT_THAT(values_of(claims.finish("none")->at(0)), ElementsAre(29, 30, 31));
}

TEST(TensorClaims, RefuseWhatIsWrongMissingOrLeft) {
  const std::string file = q8_matrix().file();
  const auto directory = gguf::decode_directory(as_bytes(file));
  ASSERT_TRUE(directory);
  TensorClaims misshapen(*directory, {});
  misshapen.take("m", {32, 6}, {});
  EXPECT_EQ(misshapen.finish("none").error().message, "m has the shape [6, 32], wanted [32, 6]");
  GgufBuilder encoded;
  encoded.add_tensor("m", {256}, 19, ByteVector(50));
  const std::string encoded_file = encoded.file();
  const auto other = gguf::decode_directory(as_bytes(encoded_file));
  ASSERT_TRUE(other);
  TensorClaims unreadable(*other, {});
  unreadable.take("m", {256}, {});
  EXPECT_EQ(unreadable.finish("none").error().message, "m has the type IQ1_S, which cannot be decoded here");
  TensorClaims left(*directory, {});
  EXPECT_EQ(left.finish("none").error().message, "1 tensors have no place in the architecture none: m");
  TensorClaims missing(*directory, {});
  missing.drop("m");
  missing.take("n", {1}, {});
  EXPECT_EQ(missing.finish("none").error().message, "there is no tensor n");
}

}  // namespace
}  // namespace amphora::package
