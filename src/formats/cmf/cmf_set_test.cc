// Sets of shards: the reference's sets, good and broken, and what a folder can hold instead of a sibling.
#include "formats/cmf/cmf_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "formats/cmf/testing/files.h"

namespace amphora::cmf {
namespace {

namespace fs = std::filesystem;
using amphora::testing::TemporaryFolder;
using amphora::testing::test_data;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::small_file;

const fs::path kGolden = test_data("cmf_strict/golden");

/// The code of what opening the set gives, or "opens".
std::string outcome(const fs::path& path) {
  const auto set = CmfSet::open(path);
  return set ? "opens" : set.error().code;
}

std::string message(const fs::path& path) {
  const auto set = CmfSet::open(path);
  return set ? "opens" : set.error().message;
}

/// Writes small_file() with tensors renamed to `{prefix}{name}` and a shard block.
void write_shard(const fs::path& path, std::string_view block, std::string_view prefix = "") {
  NewFile file = small_file();
  if (!block.empty()) file.header.set("shard", *json::parse(block));
  if (!prefix.empty()) file.tokenizer_json = {};
  for (NewTensor& tensor : file.tensors) tensor.name = std::string(prefix) + tensor.name;
  auto writer = CmfWriter::create(path, file);
  ASSERT_TRUE(writer) << writer.error().message;
  const ByteVector payload(18, std::byte{0x21});
  for (const auto& [name, bytes] : {std::pair("a", 12), {"b", 12}, {"c", 18}, {"d", 10}})
    ASSERT_TRUE(writer->write(std::string(prefix) + name, Bytes(payload).first(static_cast<size_t>(bytes))));
  ASSERT_TRUE(writer->finish());
}

TEST(CmfSet, GivesWhatTheReferenceSaysOfEveryShardOfItsSets) {
  const json::Value expected = testing::read_json(kGolden / "shards.json");
  size_t names = 0;
  for (const json::Member& folder : expected.members()) {
    if (folder.key == "good_tensors") continue;
    for (const json::Member& file : folder.value.members()) {
      EXPECT_EQ(outcome(kGolden / ("shards_" + folder.key) / file.key), file.value.text())
          << folder.key << "/" << file.key;
      ++names;
    }
  }
  EXPECT_EQ(names, 21u);
}

TEST(CmfSet, RefusesEverySetOfTheSuite) {
  std::ifstream lines(test_data("cmf_strict/suite/sets.jsonl"));
  size_t cases = 0;
  for (std::string line; std::getline(lines, line);) {
    const auto value = json::parse(line);
    ASSERT_TRUE(value);
    const json::Value* name = value->find("open_set");
    if (name == nullptr) continue;
    EXPECT_EQ(outcome(kGolden / name->text()), value->find("expect")->find("code")->text()) << name->text();
    ++cases;
  }
  EXPECT_EQ(cases, 18u);
}

TEST(CmfSet, ReadsShardsAsOneFromAnyName) {
  const json::Value expected = testing::read_json(kGolden / "shards.json");
  for (const char* const name :
       {"tiny-00001-of-00003.cmf", "tiny-00002-of-00003.cmf", "tiny-00003-of-00003.cmf"}) {
    const auto set = CmfSet::open(kGolden / "shards_good" / name);
    ASSERT_TRUE(set);
    ASSERT_EQ(set->files().size(), 3u);
    EXPECT_EQ(set->path_of(set->first()).filename(), "tiny-00001-of-00003.cmf");
    EXPECT_FALSE(set->header().find("shard"));
    EXPECT_TRUE(set->header().find("skills"));
    const auto tensors = set->tensors();
    const auto& wanted = expected.find("good_tensors")->items();
    ASSERT_EQ(tensors.size(), wanted.size());
    for (size_t i = 0; i < tensors.size(); ++i) {
      EXPECT_EQ(tensors[i].record->name, wanted[i].text());
      EXPECT_EQ(tensors[i].file->find(tensors[i].record->name), tensors[i].record);
    }
  }
}

TEST(CmfSet, OpensAFileWithoutAShardBlockAloneWhateverItsName) {
  const TemporaryFolder folder;
  for (const char* const name : {"plain.cmf", "a-00001-of-00002.cmf", "a-00002-of-00001.cmf", "a"}) {
    write_shard(folder / name, "");
    EXPECT_EQ(outcome(folder / name), "opens") << name;
  }
}

TEST(CmfSet, WantsTheNameThatGoesWithTheShardBlock) {
  const TemporaryFolder folder;
  const char* const kWrong[] = {"a-00001-of-00001.cmf2",
                                "a-0001-of-00001.cmf",
                                "a-000001-of-00001.cmf",
                                "a-00001-of-0001.cmf",
                                "a-00001-of-00002.cmf",
                                "a-00002-of-00001.cmf",
                                "a-00001-0f-00001.cmf",
                                "a00001-of-00001.cmf",
                                "a-00001-of-00001.CMF",
                                "a-+0001-of-00001.cmf",
                                "a.cmf"};
  for (const char* const name : kWrong) {
    write_shard(folder / name, R"({"no":1,"count":1})");
    EXPECT_EQ(outcome(folder / name), "Shard") << name;
    EXPECT_THAT(message(folder / name), AllOf(HasSubstr(name), HasSubstr("-00001-of-00001.cmf"))) << name;
  }
  for (const char* const name :
       {"a-00001-of-00001.cmf", "-00001-of-00001.cmf", "a-00009-of-00009-00001-of-00001.cmf"}) {
    write_shard(folder / name, R"({"no":1,"count":1})");
    EXPECT_EQ(outcome(folder / name), "opens") << name;
  }
}

TEST(CmfSet, TellsNameFromNumbers) {
  EXPECT_EQ(shard_name("tiny", {.no = 3, .count = 12345}), "tiny-00003-of-12345.cmf");
  const auto name = parse_shard_name("x-y-00012-of-99999.cmf");
  ASSERT_TRUE(name);
  EXPECT_EQ(name->base, "x-y");
  EXPECT_EQ(name->place.no, 12u);
  EXPECT_EQ(name->place.count, 99999u);
  EXPECT_FALSE(parse_shard_name(""));
  EXPECT_FALSE(parse_shard_name("00001-of-00002.cmf"));
  EXPECT_FALSE(parse_shard_name("a-00001-of-000 2.cmf"));
}

TEST(CmfSet, OpensASetOfOneInItsOwnName) {
  const TemporaryFolder folder;
  fs::copy_file(kGolden / "unknown_keys.cmf", folder / "u-00001-of-00001.cmf");
  EXPECT_EQ(outcome(folder / "u-00001-of-00001.cmf"), "opens");
  EXPECT_EQ(outcome(kGolden / "unknown_keys.cmf"), "Shard");
}

TEST(CmfSet, NamesTheMissingSiblingOfAHugeSetWithoutLookingForTheRest) {
  const TemporaryFolder folder;
  write_shard(folder / "a-00001-of-99999.cmf", R"({"no":1,"count":99999})");
  EXPECT_EQ(outcome(folder / "a-00001-of-99999.cmf"), "Shard");
  EXPECT_THAT(message(folder / "a-00001-of-99999.cmf"), HasSubstr("a-00002-of-99999.cmf is not there"));
  write_shard(folder / "b-99999-of-99999.cmf", R"({"no":99999,"count":99999})", "x");
  EXPECT_THAT(message(folder / "b-99999-of-99999.cmf"), HasSubstr("b-00001-of-99999.cmf is not there"));
}

TEST(CmfSet, RefusesWhatLiesInASiblingsPlace) {
  struct Sibling {
    const char* name;
    std::function<void(const fs::path&)> make;
    const char* code;
  };
  const Sibling kSiblings[] = {
      {"nothing", [](const fs::path&) {}, "Shard"},
      {"folder", [](const fs::path& path) { fs::create_directory(path); }, "Shard"},
      {"link to itself", [](const fs::path& path) { fs::create_symlink(path.filename(), path); }, "Shard"},
      {"link to nothing", [](const fs::path& path) { fs::create_symlink("nothing", path); }, "Shard"},
      {"link to shard 1", [](const fs::path& path) { fs::create_symlink("a-00001-of-00002.cmf", path); },
       "Shard"},
      {"file without a block", [](const fs::path& path) { write_shard(path, "", "x"); }, "Shard"},
      {"another count", [](const fs::path& path) { write_shard(path, R"({"no":2,"count":3})", "x"); },
       "Shard"},
      {"empty file", [](const fs::path& path) { std::ofstream{path}; }, "Truncated"},
      {"text", [](const fs::path& path) { std::ofstream(path) << std::string(500, 'x'); }, "InvalidMagic"},
      {"the right sibling", [](const fs::path& path) { write_shard(path, R"({"no":2,"count":2})", "x"); },
       "opens"},
  };
  for (const Sibling& sibling : kSiblings) {
    const TemporaryFolder folder;
    write_shard(folder / "a-00001-of-00002.cmf", R"({"no":1,"count":2})");
    sibling.make(folder / "a-00002-of-00002.cmf");
    EXPECT_EQ(outcome(folder / "a-00001-of-00002.cmf"), sibling.code) << sibling.name;
    if (std::string_view(sibling.code) != "opens") {
      EXPECT_THAT(message(folder / "a-00001-of-00002.cmf"), HasSubstr("a-00002-of-00002.cmf"))
          << sibling.name;
    }
  }
}

TEST(CmfSet, NamesFileAndPlaceOfAFaultBetweenFiles) {
  const auto arch = CmfSet::open(kGolden / "shards_arch/tiny-00002-of-00003.cmf");
  ASSERT_FALSE(arch);
  EXPECT_EQ(arch.error().place, "header $.arch");
  EXPECT_THAT(arch.error().message, HasSubstr("tiny-00003-of-00003.cmf"));
  const auto duplicate = CmfSet::open(kGolden / "shards_duplicate/tiny-00001-of-00003.cmf");
  ASSERT_FALSE(duplicate);
  EXPECT_EQ(duplicate.error().place, "dir model.embed_tokens.weight");
  EXPECT_THAT(duplicate.error().message, HasSubstr("tiny-00003-of-00003.cmf"));
  const auto skill = CmfSet::open(kGolden / "shards_skill_target/tiny-00001-of-00003.cmf");
  ASSERT_FALSE(skill);
  EXPECT_EQ(skill.error().place, "dir skill.s.model.layers.0.mlp.gate_proj.weight");
  EXPECT_THAT(skill.error().message, HasSubstr("tiny-00003-of-00003.cmf"));
}

TEST(CmfSet, ComparesArchByValue) {
  const TemporaryFolder folder;
  write_shard(folder / "a-00001-of-00002.cmf", R"({"no":1,"count":2})");
  NewFile second{.header = testing::small_header(), .tensors = {}};
  second.header.set("shard", *json::parse(R"({"count":2,"no":2})"));
  json::Value& arch = *second.header.find("arch");
  const json::Value name = *arch.find("arch_name");
  arch.erase("arch_name");
  arch.set("arch_name", name);                         // members in another order
  arch.set("rms_norm_eps", *json::parse("0.000001"));  // was 1e-06
  auto writer = CmfWriter::create(folder / "a-00002-of-00002.cmf", second);
  ASSERT_TRUE(writer && writer->finish());
  EXPECT_EQ(outcome(folder / "a-00001-of-00002.cmf"), "opens");
}

}  // namespace
}  // namespace amphora::cmf
