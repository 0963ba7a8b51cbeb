// GGUF files as packages: names, shapes and values as the Hugging Face model has them.
#include "package/gguf_package.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <fstream>
#include <iterator>

#include "base/byte_writer.h"
#include "base/file.h"
#include "base/half.h"
#include "base/testing/test_data.h"
#include "crypto/hash64.h"
#include "package/gguf_testing.h"
#include "package/testing/model_folder.h"

namespace amphora {
namespace {

using gguf::testing::GgufBuilder;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::open_gguf;
using testing::small_gguf;
using testing::TemporaryFolder;
using testing::test_data;
using testing::values_of;

/// To f16 and back as the reference does it: its subnormals are rounded half up.
float through_half(float value) {
  if (std::fabs(value) >= kHalfMinNormal) return half_to_float(float_to_half(value));
  const double magnitude = std::floor(std::fabs(double{value}) * 0x1p24 + 0.5) * 0x1p-24;
  return static_cast<float>(std::copysign(magnitude, value));
}

/// hash64 of the values rounded to f16 and widened again, as little-endian f32.
std::string hash_of_halves(const std::vector<float>& values) {
  ByteWriter out;
  for (const float value : values) out.write(std::bit_cast<uint32_t>(through_half(value)));
  return fmt::format("{:016x}", crypto::hash64(out.bytes()));
}

TEST(GgufPackage, HoldsWhatTheReferenceImports) {
  for (const char* name : {"llama_f32", "qwen2_q8_0", "alltypes"}) {
    std::ifstream in(test_data(fmt::format("gguf/{}.package.json", name)));
    const auto expected = json::parse(std::string(std::istreambuf_iterator<char>(in), {}));
    ASSERT_TRUE(expected);
    const auto package = open_gguf_package(test_data(fmt::format("gguf/{}.gguf", name)));
    ASSERT_TRUE(package) << package.error().message;
    EXPECT_EQ((*package)->format, PackageFormat::kGguf);
    EXPECT_EQ((*package)->tensors.size(), expected->members().size()) << name;
    for (const json::Member& member : expected->members()) {
      const PackageTensor* tensor = (*package)->find(member.key);
      ASSERT_NE(tensor, nullptr) << member.key;
      std::vector<uint64_t> shape;
      for (const json::Value& dimension : member.value.find("shape")->items())
        shape.push_back(*dimension.as_unsigned());
      EXPECT_EQ(tensor->shape, shape) << member.key;
      if (tensor->stored_type == "Q6_K")
        continue;  // the reference multiplies in another order than ggml does
      EXPECT_EQ(hash_of_halves(values_of(*tensor)), member.value.find("f32_hash64")->text())
          << name << " " << member.key;
    }
  }
}

TEST(GgufPackage, ReadsAnyRangeOfPermutedRows) {
  const auto package = open_gguf(small_gguf("llama"));
  ASSERT_TRUE(package) << package.error().message;
  const PackageTensor* query = (*package)->find("model.layers.0.self_attn.q_proj.weight");
  ASSERT_NE(query, nullptr);
  EXPECT_EQ(query->dtype, std::nullopt);
  const std::vector<float> values = values_of(*query);
  // Heads of 4: stored rows 0 1 2 3 are rows 0 2 1 3 of the model. Tensor 3 of the file, elements i / 64.
  for (size_t row = 0; row < 8; ++row) {
    const size_t stored[] = {0, 2, 1, 3, 4, 6, 5, 7};
    EXPECT_EQ(values[8 * row], 3 + static_cast<float>(8 * stored[row]) / 64) << row;
  }
  for (size_t first = 0; first < values.size(); first += 5) {
    std::vector<float> part(std::min<size_t>(13, values.size() - first));
    ASSERT_TRUE(query->read(first, part));
    EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + static_cast<std::ptrdiff_t>(first)))
        << first;
  }
  // values are not permuted, and what is stored as f32 is handed out as it is
  const PackageTensor* value = (*package)->find("model.layers.0.self_attn.v_proj.weight");
  EXPECT_EQ(value->dtype, DType::kF32);
  EXPECT_EQ(value->stored.size(), value->stored_bytes);
  // qwen2 stores the rows as they are
  const auto qwen = open_gguf(small_gguf("qwen2"));
  ASSERT_TRUE(qwen) << qwen.error().message;
  EXPECT_EQ((*qwen)->find("model.layers.0.self_attn.q_proj.weight")->dtype, DType::kF32);
  EXPECT_EQ(values_of(*(*qwen)->find("model.layers.0.self_attn.q_proj.weight"))[8], 3 + 8.0f / 64);
}

TEST(GgufPackage, TakesTheOneOutOfGemmasNorms) {
  const auto package = open_gguf(small_gguf("gemma3"));
  ASSERT_TRUE(package) << package.error().message;
  for (const char* name :
       {"model.norm.weight", "model.layers.6.input_layernorm.weight",
        "model.layers.6.post_attention_layernorm.weight", "model.layers.6.pre_feedforward_layernorm.weight",
        "model.layers.6.post_feedforward_layernorm.weight", "model.layers.6.self_attn.q_norm.weight",
        "model.layers.6.self_attn.k_norm.weight"}) {
    const PackageTensor* norm = (*package)->find(name);
    ASSERT_NE(norm, nullptr) << name;
    EXPECT_THAT(values_of(*norm), Each(0.5f)) << name;
    EXPECT_EQ(norm->dtype, std::nullopt) << name;  // its stored bytes are not its values
  }
  const auto qwen = open_gguf(small_gguf("qwen3"));
  ASSERT_TRUE(qwen) << qwen.error().message;
  EXPECT_THAT(values_of(*(*qwen)->find("model.layers.1.self_attn.q_norm.weight")), Each(1.5f));
  EXPECT_THAT(values_of(*(*qwen)->find("model.layers.1.post_attention_layernorm.weight")), Each(1.5f));
}

TEST(GgufPackage, ConsumesRopeFactors) {
  GgufBuilder builder = small_gguf("llama");
  builder.add_f32_tensor("rope_freqs.weight", {2}, {1, 32});
  const auto package = open_gguf(builder);
  ASSERT_TRUE(package) << package.error().message;
  EXPECT_THAT((*package)->spec.rope_freq_factors, ElementsAre(1, 32));
  EXPECT_EQ((*package)->find("rope_freqs.weight"), nullptr);
}

TEST(GgufPackage, RefusesTensorsThatHaveNoPlace) {
  for (const char* name :
       {"blk.2.attn_q.weight", "blk.0.attn_output.bias", "blk.00.attn_v.weight", "blk.0.ffn_gate_inp.weight",
        "blk.0.post_ffw_norm.weight", "v.patch_embd.weight", "blk.0."}) {
    GgufBuilder builder = small_gguf("llama");
    builder.add_f32_tensor(name, {1}, {0});
    const auto package = open_gguf(builder);
    ASSERT_FALSE(package) << name;
    EXPECT_EQ(package.error().fault, Fault::kUnsupported) << name;
    EXPECT_EQ(package.error().place, name);
    EXPECT_THAT(package.error().message, HasSubstr(name));
  }
}

TEST(GgufPackage, RefusesWhatIsMissingOrMisshapen) {
  for (const char* name :
       {"output_norm.weight", "blk.1.attn_v.weight", "blk.0.ffn_norm.weight", "token_embd.weight"}) {
    const auto package = open_gguf(small_gguf("llama", {name}));
    ASSERT_FALSE(package) << name;
    EXPECT_EQ(package.error().code, "Missing") << name;
    EXPECT_EQ(package.error().place, name);
  }
  GgufBuilder builder = small_gguf("llama");
  builder.tensors[3].dimensions = {16, 4};
  EXPECT_THAT(open_gguf(builder).error().message,
              HasSubstr("blk.0.attn_q.weight has the shape [4, 16], wanted [8, 8]"));
  GgufBuilder encoded = small_gguf("llama", {"blk.1.ffn_down.weight"});
  encoded.add_tensor("blk.1.ffn_down.weight", {256, 1}, 19, ByteVector(50));  // IQ1_S
  EXPECT_THAT(open_gguf(encoded).error().message, HasSubstr("blk.1.ffn_down.weight"));
}

TEST(GgufPackage, RefusesOneFileOfASplitModel) {
  GgufBuilder builder = small_gguf("llama");
  builder.add_u32("split.count", 3);
  const auto package = open_gguf(builder);
  ASSERT_FALSE(package);
  EXPECT_EQ(package.error().fault, Fault::kUnsupported);
  EXPECT_THAT(package.error().message, HasSubstr("split over 3 files"));
}

TEST(GgufPackage, SaysWhenThereIsNoVocabulary) {
  const auto package = open_gguf(small_gguf("qwen2"));
  ASSERT_TRUE(package) << package.error().message;
  EXPECT_TRUE((*package)->tokenizer_json.empty());
  EXPECT_THAT((*package)->notes, ElementsAre(HasSubstr("no vocabulary")));
}

TEST(GgufPackage, RefusesEveryCutNamingTheFile) {
  const std::string file = small_gguf("qwen2").file();
  const TemporaryFolder folder;
  for (const size_t kept : {size_t{0}, size_t{10}, size_t{100}, file.size() / 2, file.size() - 1}) {
    ASSERT_TRUE(write_file(folder / "cut.gguf", as_bytes(std::string_view(file).substr(0, kept))));
    const auto package = open_gguf_package(folder / "cut.gguf");
    ASSERT_FALSE(package) << kept;
    EXPECT_THAT(package.error().message, HasSubstr("cut.gguf")) << kept;
  }
}

}  // namespace
}  // namespace amphora
