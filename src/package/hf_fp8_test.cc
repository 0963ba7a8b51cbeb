// Tests of fp8 with scaled blocks: values as numpy has them, scales consumed, and what does not fit refused.
#include "package/hf_fp8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/convert.h"
#include "package/hf_package.h"
#include "package/testing/model_folder.h"

namespace amphora::package {
namespace {

using ::testing::HasSubstr;
using testing::ModelFolder;
using testing::StoredTensor;
using testing::TemporaryFolder;
using testing::values_of;

constexpr const char* kMatrix = "model.layers.0.mlp.down_proj.weight";

// The bytes and scales of tests/oracle/make_hf_fp8_values.py.
StoredTensor matrix_of(std::string name, std::vector<uint64_t> shape) {
  StoredTensor tensor{std::move(name), "F8_E4M3", std::move(shape), {}};
  uint64_t elements = 1;
  for (const uint64_t dimension : tensor.shape) elements *= dimension;
  for (uint64_t i = 0; i < elements; ++i) {
    const uint64_t code = (73 * i + 5) % 251;
    tensor.data += static_cast<char>(code == 127 ? 0 : code);
  }
  return tensor;
}

StoredTensor scales_of(std::string name, std::vector<uint64_t> shape) {
  StoredTensor tensor{std::move(name), "F32", std::move(shape), {}};
  uint64_t elements = 1;
  for (const uint64_t dimension : tensor.shape) elements *= dimension;
  for (uint64_t k = 0; k < elements; ++k) {
    const float scale = 0.0123f * static_cast<float>(k + 1);
    tensor.data.append(reinterpret_cast<const char*>(&scale), sizeof(scale));
  }
  return tensor;
}

/// The tensors of a package as safetensors would give them, through a file in memory.
struct Stored {
  std::string file;
  Package package;

  explicit Stored(const std::vector<StoredTensor>& tensors) : file(testing::safetensors_of(tensors)) {
    const auto directory = safetensors::decode_directory(as_bytes(file));
    EXPECT_TRUE(directory);
    for (const auto& tensor : directory->tensors) {
      PackageTensor out;
      out.name = tensor.name;
      out.shape = tensor.shape;
      out.stored_type = safetensors::info(tensor.type).name;
      if (out.stored_type == "F32") out.dtype = DType::kF32;
      out.mapped = out.stored = tensor.data;
      out.stored_bytes = tensor.data.size();
      out.read = [type = tensor.type, data = tensor.data](uint64_t first, std::span<float> values) {
        return safetensors::decode_elements(type, data, first, values);
      };
      package.tensors.push_back(std::move(out));
    }
  }
};

struct Place {
  uint64_t row, column;
  float value;
};

TEST(Fp8, EveryBlockHasItsOwnScale) {  // F6
  struct Case {
    uint64_t rows, columns;
    Fp8Blocks blocks;
    std::vector<Place> places;
  };
  const std::vector<Case> kCases = {
      {256,
       384,
       {128, 128},
       {{0, 0, 0.000120117184f},
        {0, 127, -1.57439995f},
        {0, 128, 0.0430499986f},
        {127, 383, -2.9519999f},
        {128, 0, 0.0491999984f},
        {200, 130, 0.00312304683f},
        {255, 383, 0.0115312496f}}},
      {300,
       200,
       {128, 128},
       {{0, 0, 0.000120117184f},
        {128, 127, 1.03320003f},
        {128, 128, -0.0115312496f},
        {256, 0, -0.922499955f},
        {299, 199, -5.31359959f},
        {255, 199, -0.00134531246f}}},
      {5,
       3,
       {2, 2},
       {{0, 0, 0.000120117184f},
        {1, 2, 5.90399981f},
        {2, 1, 0.0010089844f},
        {3, 2, 0.0461249985f},
        {4, 2, 0.00432421872f}}},
  };
  for (const Case& c : kCases) {
    const uint64_t scale_rows = (c.rows + c.blocks.rows - 1) / c.blocks.rows;
    const uint64_t scale_columns = (c.columns + c.blocks.columns - 1) / c.blocks.columns;
    Stored stored({matrix_of(kMatrix, {c.rows, c.columns}),
                   scales_of(std::string(kMatrix) + "_scale_inv", {scale_rows, scale_columns})});
    const Status done = dequantise_fp8(c.blocks, stored.package);
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(stored.package.tensors.size(), 1u) << "the scales are consumed";
    const PackageTensor& tensor = stored.package.tensors[0];
    EXPECT_FALSE(tensor.dtype);
    EXPECT_EQ(tensor.stored_type, "F8_E4M3");
    const std::vector<float> values = values_of(tensor);
    for (const Place& place : c.places)
      EXPECT_EQ(values[place.row * c.columns + place.column], place.value)
          << c.rows << ": " << place.row << ", " << place.column;
    std::vector<float> some(c.columns + 1);  // from the middle of one row to that of the next
    const uint64_t first = c.columns + c.columns / 2;
    ASSERT_TRUE(tensor.read(first, some));
    EXPECT_TRUE(std::equal(some.begin(), some.end(), values.begin() + static_cast<std::ptrdiff_t>(first)));
    EXPECT_EQ(stored.package.provenance.find("origin")->text(), "fp8");
  }
}

TEST(Fp8, SeveralMatricesInOneTensorHaveBlocksOfTheirOwn) {
  // Two matrices of 5 × 3: the second begins with a block of its own, the seventh.
  Stored stored({matrix_of("m", {2, 5, 3}), scales_of("m_scale_inv", {2, 3, 2})});
  ASSERT_TRUE(dequantise_fp8({2, 2}, stored.package));
  Stored alone({matrix_of("m", {2, 5, 3})});
  const std::vector<float> plain = values_of(alone.package.tensors[0]);
  const std::vector<float> values = values_of(stored.package.tensors[0]);
  EXPECT_EQ(values[15], plain[15] * (0.0123f * 7));
  EXPECT_EQ(values[29], plain[29] * (0.0123f * 12));
}

TEST(Fp8, MatricesOfOtherTypesStay) {
  Stored stored({matrix_of(kMatrix, {4, 4}), scales_of(std::string(kMatrix) + "_scale_inv", {1, 1}),
                 scales_of("model.norm.weight", {4})});
  ASSERT_TRUE(dequantise_fp8({}, stored.package));
  EXPECT_EQ(stored.package.tensors[1].dtype, DType::kF32);
  Stored none({scales_of("model.norm.weight", {4})});
  ASSERT_TRUE(dequantise_fp8({}, none.package));
  EXPECT_TRUE(none.package.provenance.is_null()) << "nothing was fp8";
}

TEST(Fp8, RefusesWhatDoesNotFit) {
  const std::string scales = std::string(kMatrix) + "_scale_inv";
  struct Case {
    const char* name;
    std::vector<StoredTensor> tensors;
    const char* code;
    std::string place;
  };
  const std::vector<Case> kCases = {
      {"too few scales", {matrix_of(kMatrix, {300, 200}), scales_of(scales, {2, 2})}, "Shape", scales},
      {"scales turned round", {matrix_of(kMatrix, {300, 200}), scales_of(scales, {2, 3})}, "Shape", scales},
      {"one scale", {matrix_of(kMatrix, {4, 4}), scales_of(scales, {})}, "Shape", scales},
      {"a vector", {matrix_of(kMatrix, {4}), scales_of(scales, {1})}, "Shape", scales},
      {"no scales", {matrix_of(kMatrix, {4, 4})}, "Missing", kMatrix},
      {"no matrix", {scales_of(scales, {1, 1})}, "Missing", scales},
  };
  for (const Case& c : kCases) {
    Stored stored(c.tensors);
    const Status done = dequantise_fp8({}, stored.package);
    ASSERT_FALSE(done) << c.name;
    EXPECT_EQ(done.error().fault, Fault::kCorrupt) << c.name;
    EXPECT_EQ(done.error().code, c.code) << c.name << ": " << done.error().message;
    EXPECT_EQ(done.error().place, c.place) << c.name;
  }
}

TEST(Fp8, ACheckpointOpensWithItsExpertsAndItsOrigin) {
  ModelFolder folder("mixtral");
  folder.edit("config.json",
              {{"quantization_config", R"({"quant_method":"fp8","weight_block_size":[32,32]})"}});
  const char* name = "model.layers.1.block_sparse_moe.experts.3.w2.weight";
  const StoredTensor whole = folder.tensor(name);
  folder.tensor(name) = matrix_of(name, whole.shape);
  folder.tensors.push_back(scales_of(std::string(name) + "_scale_inv", {2, 2}));
  folder.write_weights();
  const auto package = open_hugging_face_package(folder.path());
  ASSERT_TRUE(package) << package.error().message;
  const PackageTensor* expert = (*package)->find("model.layers.1.mlp.experts.3.down_proj.weight");
  ASSERT_NE(expert, nullptr);
  EXPECT_EQ(values_of(*expert)[0], 0.000120117184f);
  EXPECT_EQ((*package)->provenance.find("origin")->text(), "fp8");
  const TemporaryFolder out;
  ASSERT_TRUE(convert(**package, out / "model.cmf", {}));
  const auto written = amphora::open_package(out / "model.cmf");
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ((*written)->provenance.find("origin")->text(), "fp8");

  folder.edit("config.json", {{"quantization_config", ""}});
  const auto silent = open_hugging_face_package(folder.path());
  ASSERT_FALSE(silent) << "scales that the configuration does not speak of";
  EXPECT_EQ(silent.error().code, "Quantised");
  EXPECT_THAT(silent.error().message, HasSubstr("already quantised by an 8-bit method"));
}

}  // namespace
}  // namespace amphora::package
