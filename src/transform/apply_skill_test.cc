// A skill file on its base: the reference's result, and every pair that does not fit.
#include "transform/apply_skill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "transform/testing/layout.h"

namespace amphora {
namespace {

namespace fs = std::filesystem;
using cmf::testing::read_json;
using cmf::testing::read_text;
using ::testing::HasSubstr;
using testing::kField;
using testing::kGolden;
using ::testing::StartsWith;
using testing::TemporaryFolder;
using testing::test_data;

/// Writes a skill file for `base` with one tensor; `masks` may be empty.
void write_skill(const fs::path& path, const fs::path& base, const cmf::NewTensor& tensor, Bytes masks = {}) {
  const auto file = cmf::CmfFile::open(base);
  ASSERT_TRUE(file);
  cmf::NewFile skill{.header = file->header(), .tensors = {tensor}, .masks = masks};
  const std::string hash = crypto::to_hex(crypto::hash64(file->section(cmf::Section::kDirectory)));
  skill.header.set("skills",
                   *json::parse(R"([{"id":"s","layers":[0],"x":1.50,"base_dir_hash":")" + hash + "\"}]"));
  auto writer = cmf::CmfWriter::create(path, skill);
  ASSERT_TRUE(writer) << writer.error().message;
  const auto bytes = cmf::payload_bytes_of(tensor);
  ASSERT_TRUE(bytes);
  ASSERT_TRUE(writer->write(tensor.name, ByteVector(*bytes)));
  ASSERT_TRUE(writer->finish());
}

TEST(ApplySkill, GivesTheReferencesBytes) {
  const TemporaryFolder folder;
  const auto file = apply_skill(kGolden / "skill_base.cmf", kGolden / "skill_file.cmf", folder / "a.cmf");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_TRUE(read_text(folder / "a.cmf") == read_text(kGolden / "skill_applied.cmf"));
  EXPECT_EQ(file->bytes, 46331u);
}

TEST(ApplySkill, GivesTheTensorsOfTheProgramInTheField) {
  const TemporaryFolder folder;
  ASSERT_TRUE(apply_skill(kField / "dense_q8.cmf", kField / "skill_file.cmf", folder / "a.cmf"));
  const auto file = cmf::CmfFile::open(folder / "a.cmf");
  ASSERT_TRUE(file);
  const json::Value expected = read_json(kField / "skill_applied.json");
  const auto& tensors = expected.find("tensors")->items();
  ASSERT_EQ(file->tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(file->tensors()[i].name, tensors[i].find("name")->text());
    EXPECT_EQ(crypto::to_hex(file->tensors()[i].hash), tensors[i].find("hash")->text());
  }
  testing::expect_canonical_layout(*file);
  testing::expect_valid(folder / "a.cmf");
}

TEST(ApplySkill, RefusesThePairsOfTheSuite) {
  std::ifstream lines(test_data("cmf_strict/suite/sets.jsonl"));
  const TemporaryFolder folder;
  size_t cases = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto value = json::parse(line);
    ASSERT_TRUE(value);
    const json::Value* pair = value->find("apply");
    if (pair == nullptr) continue;
    const auto file =
        apply_skill(kGolden / pair->items()[0].text(), kGolden / pair->items()[1].text(), folder / "a.cmf");
    ASSERT_FALSE(file) << line;
    EXPECT_EQ(file.error().code, value->find("expect")->find("code")->text()) << line;
    EXPECT_THAT(file.error().place, StartsWith(value->find("expect")->find("section")->text())) << line;
    ++cases;
  }
  EXPECT_EQ(cases, 3u);
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(ApplySkill, AcceptsAnotherBaseOnlyByForce) {
  const TemporaryFolder folder;
  const auto refused =
      apply_skill(kGolden / "skill_wrong_base.cmf", kGolden / "skill_file.cmf", folder / "a.cmf");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().place, "header $.skills[0].base_dir_hash");
  EXPECT_THAT(refused.error().message, HasSubstr("3fce0b7bcc7595e9"));  // the hash that the record wants
  EXPECT_THAT(refused.error().message, HasSubstr("a7a556cf242b13f5"));  // and that of this base
  ASSERT_TRUE(apply_skill(kGolden / "skill_wrong_base.cmf", kGolden / "skill_file.cmf", folder / "a.cmf",
                          {.force = true}));
  const auto forced = cmf::CmfFile::open(folder / "a.cmf");
  const json::Value skill = read_json(kGolden / "skill_file.json"),
                    base = read_json(kGolden / "skill_wrong_base.json");
  ASSERT_TRUE(forced);
  const auto hash_of = [](const json::Value& page, std::string_view name) -> std::string {
    for (const json::Value& tensor : page.find("tensors")->items())
      if (tensor.find("name")->text() == name) return tensor.find("hash")->text();
    return "";
  };
  for (const cmf::TensorRecord& tensor : forced->tensors()) {
    const std::string of_skill = hash_of(skill, tensor.name);
    EXPECT_EQ(crypto::to_hex(tensor.hash), of_skill.empty() ? hash_of(base, tensor.name) : of_skill);
  }
}

TEST(ApplySkill, RefusesTensorsThatDoNotFitWithForceToo) {
  const fs::path base = kGolden / "skill_base.cmf";
  const cmf::NewTensor kMisfits[] = {{"model.layers.9.nothing", DType::kF16, {2}},
                                     {"model.embed_tokens.weight", DType::kF16, {32, 40}},
                                     {"model.embed_tokens.weight", DType::kF16, {40, 32, 1}}};
  for (const cmf::NewTensor& misfit : kMisfits) {
    const TemporaryFolder folder;
    write_skill(folder / "s.cmf", base, misfit);
    for (const bool force : {false, true}) {
      const auto file = apply_skill(base, folder / "s.cmf", folder / "a.cmf", {.force = force});
      ASSERT_FALSE(file);
      EXPECT_EQ(file.error().code, "Skill");
      EXPECT_EQ(file.error().place, "dir " + misfit.name);
      EXPECT_THAT(file.error().message, StartsWith("s.cmf: "));
      EXPECT_FALSE(fs::exists(folder / "a.cmf"));
    }
  }
}

TEST(ApplySkill, TakesTheSkillsMasksAndDropsTheBasesIndexThen) {
  const fs::path base = kGolden / "header_tail.cmf";  // with masks, tokenizer and index
  const cmf::NewTensor norm{"model.norm.weight", DType::kF32, {32}};
  const auto plain = cmf::CmfFile::open(base), masked = cmf::CmfFile::open(kGolden / "grown_0.cmf");
  ASSERT_TRUE(plain && masked);
  using enum cmf::Section;
  for (const Bytes masks : {Bytes(), masked->section(kMasks)}) {
    const TemporaryFolder folder;
    write_skill(folder / "s.cmf", base, norm, masks);
    const auto written = apply_skill(base, folder / "s.cmf", folder / "a.cmf");
    ASSERT_TRUE(written) << written.error().message;
    const auto file = cmf::CmfFile::open(folder / "a.cmf");
    ASSERT_TRUE(file);
    const Bytes wanted = masks.empty() ? plain->section(kMasks) : masks;
    EXPECT_TRUE(std::ranges::equal(file->section(kMasks), wanted));
    EXPECT_EQ(file->section(kIndex).empty(), !masks.empty());
    EXPECT_EQ(file->tokenizer_json(), plain->tokenizer_json());
    EXPECT_EQ(file->find("model.norm.weight")->dtype, DType::kF32);
    EXPECT_EQ(file->skills().size(), 1u);
    EXPECT_FALSE(file->is_skill_file());
    EXPECT_EQ(json::dump(*file->header().find("skills")), R"([{"id":"s","layers":[0],"x":1.50}])");
    testing::expect_canonical_layout(*file);
    testing::expect_valid(folder / "a.cmf");
  }
}

TEST(ApplySkill, RefusesAnIdThatTheBaseHas) {
  const TemporaryFolder folder;
  const auto file = apply_skill(kGolden / "skill_applied.cmf", kGolden / "skill_file.cmf", folder / "a.cmf",
                                {.force = true});
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, "Skill");
  EXPECT_EQ(file.error().place, "header $.skills[0].id");
}

TEST(ApplySkill, RefusesAShardedBaseAndSaysWhatToDo) {
  const TemporaryFolder folder;
  const auto file =
      apply_skill(kField / "shard-00001-of-00003.cmf", kField / "skill_file.cmf", folder / "a.cmf");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, "Skill");
  EXPECT_EQ(file.error().place, "header $.shard");
  EXPECT_THAT(file.error().message, HasSubstr("compact"));
}

TEST(ApplySkill, RefusesToWriteOverBaseOrSkill) {
  const TemporaryFolder folder;
  fs::copy_file(kGolden / "skill_base.cmf", folder / "b.cmf");
  fs::copy_file(kGolden / "skill_file.cmf", folder / "s.cmf");
  for (const char* const out : {"b.cmf", "s.cmf"}) {
    const auto file = apply_skill(folder / "b.cmf", folder / "s.cmf", folder / out);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().fault, Fault::kUsage);
  }
  EXPECT_TRUE(read_text(folder / "b.cmf") == read_text(kGolden / "skill_base.cmf"));
}

TEST(ApplySkill, RefusesDamageOfEitherFile) {
  for (const char* const damaged : {"skill_base.cmf", "skill_file.cmf"}) {
    const TemporaryFolder folder;
    for (const char* const name : {"skill_base.cmf", "skill_file.cmf"}) {
      std::string bytes = read_text(kGolden / name);
      if (name == std::string_view(damaged)) bytes[4096] = static_cast<char>(bytes[4096] ^ 1);
      ASSERT_TRUE(write_file(folder / name, as_bytes(bytes)));
    }
    const auto file = apply_skill(folder / "skill_base.cmf", folder / "skill_file.cmf", folder / "a.cmf");
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, "Hash");
    EXPECT_THAT(file.error().message, StartsWith(damaged));
    EXPECT_FALSE(fs::exists(folder / "a.cmf"));
  }
}

}  // namespace
}  // namespace amphora
