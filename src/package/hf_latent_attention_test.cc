// Tests of the rows of latent attention: rope before nope, pairs half split, and nothing else touched.
#include "package/hf_latent_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/testing/counted.h"
#include "package/testing/model_folder.h"

namespace amphora::package {
namespace {

using testing::counted;
using ::testing::ElementsAre;
using testing::values_of;

/// Two heads of one dimension that stays and four that turn; a latent vector of two.
ModelSpec latent_spec() {
  ModelSpec spec;
  spec.num_attention_heads = 2;
  spec.mla.emplace();
  spec.mla->kv_lora_rank = 2;
  spec.mla->qk_rope_head_dim = 4;
  spec.mla->qk_nope_head_dim = 1;
  return spec;
}

std::string attention(std::string_view rest) { return "model.layers.1.self_attn." + std::string(rest); }

std::vector<float> reordered(PackageTensor tensor, bool interleaved) {
  std::vector<PackageTensor> tensors = {std::move(tensor)};
  const Status done = reorder_latent_attention(latent_spec(), interleaved, tensors);
  EXPECT_TRUE(done) << done.error().message;
  return values_of(tensors[0]);
}

TEST(LatentAttention, QueriesPutWhatTurnsInFront) {
  for (const char* name : {"q_proj.weight", "q_b_proj.weight"}) {
    // Of a head: row 0 stays, rows 1 … 4 turn, in pairs (1, 2) and (3, 4) or (1, 3) and (2, 4).
    EXPECT_THAT(reordered(counted(attention(name), {10, 1}), true),
                ElementsAre(1, 3, 2, 4, 0, 6, 8, 7, 9, 5));
    EXPECT_THAT(reordered(counted(attention(name), {10, 1}), false),
                ElementsAre(1, 2, 3, 4, 0, 6, 7, 8, 9, 5));
  }
}

TEST(LatentAttention, TheSharedKeyIsHalfSplitBehindTheLatentVector) {
  EXPECT_THAT(reordered(counted(attention("kv_a_proj_with_mqa.weight"), {6, 1}), true),
              ElementsAre(0, 1, 2, 4, 3, 5));
  EXPECT_THAT(reordered(counted(attention("kv_a_proj_with_mqa.bias"), {6}), true),
              ElementsAre(0, 1, 2, 4, 3, 5));
  std::vector<PackageTensor> half_split = {counted(attention("kv_a_proj_with_mqa.weight"), {6, 1})};
  ASSERT_TRUE(reorder_latent_attention(latent_spec(), false, half_split));
  EXPECT_EQ(half_split[0].dtype, DType::kF32) << "nothing moved";
}

TEST(LatentAttention, OtherTensorsAndOtherModelsAreLeftAlone) {
  EXPECT_THAT(reordered(counted(attention("kv_b_proj.weight"), {4, 1}), true), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(reordered(counted(attention("q_a_proj.weight"), {4, 1}), true), ElementsAre(0, 1, 2, 3));
  std::vector<PackageTensor> tensors = {counted(attention("q_proj.weight"), {10, 1})};
  ASSERT_TRUE(reorder_latent_attention(ModelSpec{}, true, tensors));
  EXPECT_EQ(values_of(tensors[0])[0], 0);
}

TEST(LatentAttention, AWrongNumberOfRowsIsRefused) {
  for (const auto& [name, shape] : {std::pair<const char*, std::vector<uint64_t>>{"q_proj.weight", {9, 1}},
                                    {"q_b_proj.weight", {}},
                                    {"kv_a_proj_with_mqa.weight", {10, 1}}}) {
    std::vector<PackageTensor> tensors = {counted(attention(name), shape)};
    const Status done = reorder_latent_attention(latent_spec(), true, tensors);
    ASSERT_FALSE(done) << name;
    EXPECT_EQ(done.error().code, "Shape") << name;
    EXPECT_EQ(done.error().place, attention(name));
  }
}

}  // namespace
}  // namespace amphora::package
