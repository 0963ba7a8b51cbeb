// Tests of CMF files as Packages, against files that another program wrote.
#include "package/cmf_package.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "package/testing/model_folder.h"

namespace amphora {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_text;
using testing::test_data;
using testing::values_of;

std::shared_ptr<const Package> opened(std::string_view name) {
  auto package = open_package(test_data("cmf") / name);
  EXPECT_TRUE(package) << name << ": " << package.error().message;
  return package ? *package : std::make_shared<const Package>();
}

TEST(CmfPackage, DecodesTensorsToTheirReferenceValues) {
  for (const std::string name :
       {"dense_f16", "dense_q8", "dense_q4t", "dense_q8_2f", "arch_gemma3_q8", "py_f32"}) {
    const auto package = opened(name + ".cmf");
    const json::Value expected = *json::parse(read_text(test_data("cmf") / (name + ".json")));
    const auto& tensors = expected.find("tensors")->items();
    ASSERT_EQ(package->tensors.size(), tensors.size()) << name;
    for (size_t i = 0; i < tensors.size(); ++i) {
      const PackageTensor& tensor = package->tensors[i];
      EXPECT_EQ(tensor.name, tensors[i].find("name")->text());
      EXPECT_EQ(tensor.stored_type, tensors[i].find("dtype")->text());
      const std::vector<float> values = values_of(tensor);
      EXPECT_EQ(crypto::to_hex(crypto::hash64(std::as_bytes(std::span(values)))),
                tensors[i].find("f32_hash64")->text())
          << name << " " << tensor.name;
    }
  }
}

TEST(CmfPackage, ReadsHeaderTokenizerAndIds) {
  const auto package = opened("arch_gemma3_q8.cmf");
  EXPECT_EQ(package->format, PackageFormat::kCmf);
  EXPECT_EQ(package->spec.arch_name, "gemma3_text");
  EXPECT_EQ(package->spec.norm_style, NormStyle::kOnePlus);
  EXPECT_EQ(package->spec.sliding_window, 4u);
  EXPECT_THAT(package->tokenizer.eos_token_ids, ElementsAre(125u, 126u));
  EXPECT_EQ(package->tokenizer.bos_token_id, 126u);
  EXPECT_EQ(package->tokenizer.pad_token_id, 127u);
  EXPECT_THAT(*package->tokenizer.chat_template, HasSubstr("<|im_start|>"));
  EXPECT_TRUE(package->tokenizer_json.starts_with("{"));
  EXPECT_EQ(package->provenance.find("tool")->text(), "cortiq convert");
  EXPECT_FALSE(package->not_runnable);
}

TEST(CmfPackage, NamesMasksAndSkillsAndCarriesTheirSections) {
  const auto masked = opened("py_masks.cmf");
  EXPECT_THAT(masked->notes, Contains(HasSubstr("task masks: ")));
  const json::Value expected = *json::parse(read_text(test_data("cmf") / "py_masks.json"));
  const auto wanted_hash = [&](std::string_view section) {
    return expected.find("envelope")->find("sections")->find(section)->find("hash64")->text();
  };
  EXPECT_EQ(crypto::to_hex(crypto::hash64(masked->masks)), wanted_hash("masks"));
  EXPECT_EQ(crypto::to_hex(crypto::hash64(masked->index)), wanted_hash("index"));
  EXPECT_FALSE(masked->loop_masks);
  EXPECT_TRUE(opened("masks_loop.cmf")->loop_masks);
  EXPECT_TRUE(opened("dense_q8.cmf")->masks.empty());
  EXPECT_TRUE(opened("dense_q8.cmf")->index.empty());
  const auto skilled = opened("skill_two.cmf");
  EXPECT_THAT(skilled->notes, Contains(HasSubstr("2 skills: ")));
  EXPECT_FALSE(skilled->not_runnable);
  const auto skill_file = opened("skill_file.cmf");
  ASSERT_TRUE(skill_file->not_runnable);
  EXPECT_THAT(*skill_file->not_runnable, HasSubstr("skill apply"));
}

TEST(CmfPackage, OpensTheSetFromAnyOfItsShards) {
  std::vector<std::string> names;
  for (const char* const shard : {"shard-00001-of-00003", "shard-00002-of-00003", "shard-00003-of-00003"}) {
    const json::Value expected = *json::parse(read_text(test_data("cmf") / (std::string(shard) + ".json")));
    for (const json::Value& tensor : expected.find("tensors")->items())
      names.push_back(tensor.find("name")->text());
  }
  const auto whole = opened("dense_q8.cmf");  // the same model, by the same program, in one file
  for (const char* const name :
       {"shard-00001-of-00003.cmf", "shard-00002-of-00003.cmf", "shard-00003-of-00003.cmf"}) {
    const auto package = opened(name);
    ASSERT_EQ(package->tensors.size(), names.size());
    for (size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(package->tensors[i].name, names[i]);
      const PackageTensor* twin = whole->find(names[i]);
      ASSERT_TRUE(twin) << names[i];
      EXPECT_TRUE(std::ranges::equal(package->tensors[i].stored, twin->stored)) << names[i];
    }
    EXPECT_EQ(package->tensors.back().file.filename(), "shard-00003-of-00003.cmf");
    EXPECT_EQ(package->tokenizer_json, whole->tokenizer_json);
    EXPECT_THAT(package->tokenizer.eos_token_ids, ElementsAre(125u, 126u));
    EXPECT_FALSE(package->header.find("shard"));
    EXPECT_EQ(package->provenance.find("tool")->text(), "convert_dtgma_to_cmf.py");
  }
}

TEST(CmfPackage, RefusesASetWithoutOneOfItsShards) {
  const auto package =
      open_package(test_data("cmf_strict/golden/shards_missing") / "tiny-00003-of-00003.cmf");
  ASSERT_FALSE(package);
  EXPECT_EQ(package.error().code, "Shard");
  EXPECT_THAT(package.error().message, HasSubstr("tiny-00002-of-00003.cmf"));
}

}  // namespace
}  // namespace amphora
