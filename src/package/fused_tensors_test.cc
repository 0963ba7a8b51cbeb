// Tests of fused tensors: each part is the rows it should be, and wrong numbers of rows are refused.
#include "package/fused_tensors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "package/testing/counted.h"

namespace amphora::package {
namespace {

using testing::counted;

ModelSpec spec() {
  ModelSpec spec;
  spec.num_attention_heads = 2;
  spec.num_kv_heads = 1;
  spec.head_dim = 2;
  spec.intermediate_size = 3;
  return spec;
}

void expect_part(const PackageTensor& part, const std::string& name, std::vector<uint64_t> shape, float first,
                 uint64_t offset) {
  EXPECT_EQ(part.name, name);
  EXPECT_EQ(part.shape, shape);
  EXPECT_EQ(part.stored_offset, offset);
  const uint64_t count = part.elements();
  EXPECT_EQ(part.stored_bytes, count * 4);
  ASSERT_EQ(part.stored.size(), count * 4);
  ASSERT_EQ(part.mapped.size(), count * 4);
  std::vector<float> read(count), stored(count);
  ASSERT_TRUE(part.read(0, read));
  std::memcpy(stored.data(), part.stored.data(), part.stored.size());
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT_EQ(read[i], first + static_cast<float>(i)) << name;
    EXPECT_EQ(stored[i], first + static_cast<float>(i)) << name;
  }
}

TEST(FusedTensors, QkvAreTheRowsOfQueriesKeysAndValuesInThisOrder) {
  const PackageTensor fused = counted("model.layers.7.self_attn.qkv_proj.weight", {8, 5});
  const auto parts = split_fused(fused, spec());
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 3u);
  expect_part((*parts)[0], "model.layers.7.self_attn.q_proj.weight", {4, 5}, 0, 1000);
  expect_part((*parts)[1], "model.layers.7.self_attn.k_proj.weight", {2, 5}, 20, 1080);
  expect_part((*parts)[2], "model.layers.7.self_attn.v_proj.weight", {2, 5}, 30, 1120);
}

TEST(FusedTensors, GateComesBeforeUpAndBiasesAreSplitToo) {
  const PackageTensor fused = counted("model.layers.0.mlp.gate_up_proj.bias", {6});
  const auto parts = split_fused(fused, spec());
  ASSERT_TRUE(parts) << parts.error().message;
  ASSERT_EQ(parts->size(), 2u);
  expect_part((*parts)[0], "model.layers.0.mlp.gate_proj.bias", {3}, 0, 1000);
  expect_part((*parts)[1], "model.layers.0.mlp.up_proj.bias", {3}, 3, 1012);
}

TEST(FusedTensors, OthersAreLeftAlone) {
  const PackageTensor plain = counted("model.layers.0.mlp.up_proj.weight", {3, 5});
  EXPECT_TRUE(split_fused(plain, spec()).value().empty());
}

TEST(FusedTensors, AWrongNumberOfRowsIsRefused) {
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{7, 5}, {9, 5}, {}}) {
    const PackageTensor fused = counted("model.layers.0.self_attn.qkv_proj.weight", shape);
    const auto parts = split_fused(fused, spec());
    ASSERT_FALSE(parts);
    EXPECT_EQ(parts.error().fault, Fault::kCorrupt);
    EXPECT_EQ(parts.error().code, "Shape");
    EXPECT_EQ(parts.error().place, "model.layers.0.self_attn.qkv_proj.weight");
  }
}

}  // namespace
}  // namespace amphora::package
