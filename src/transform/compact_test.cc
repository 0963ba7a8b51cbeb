// Compaction and sharding against the reference's files.
#include "transform/compact.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "transform/testing/layout.h"

namespace amphora {
namespace {

namespace fs = std::filesystem;
using cmf::testing::files_in;
using cmf::testing::read_json;
using cmf::testing::read_text;
using ::testing::HasSubstr;
using testing::kField;
using testing::kGolden;
using testing::TemporaryFolder;

/// Compacts, and gives the message of a failure.
std::string compacted(const fs::path& in, const fs::path& out,
                      std::optional<uint64_t> shard_max_bytes = std::nullopt) {
  const auto files = compact(in, out, shard_max_bytes);
  return files ? "" : files.error().code + " " + files.error().place + " " + files.error().message;
}

/// A copy under the name that a set of one needs; other files stay where they are.
fs::path with_its_name(const fs::path& path, const TemporaryFolder& folder) {
  const auto file = cmf::CmfFile::open(path);
  if (!file || !file->shard() || file->shard()->count > 1) return path;
  const fs::path copy = folder / (path.stem().string() + "-00001-of-00001.cmf");
  fs::copy_file(path, copy, fs::copy_options::overwrite_existing);
  return copy;
}

class CompactsEveryFile : public ::testing::TestWithParam<fs::path> {};

TEST_P(CompactsEveryFile, IntoTheCanonicalLayoutWithTheSameContent) {
  const TemporaryFolder folder;
  const fs::path source = with_its_name(GetParam(), folder);
  const auto set = cmf::CmfSet::open(source);
  ASSERT_TRUE(set) << set.error().message;
  ASSERT_EQ(compacted(source, folder / "c.cmf"), "");
  const auto copy = cmf::CmfFile::open(folder / "c.cmf");
  ASSERT_TRUE(copy) << copy.error().message;
  testing::expect_canonical_layout(*copy);
  testing::expect_same_content(*set, *copy);
  testing::expect_valid(folder / "c.cmf");

  const json::Value expected = read_json(fs::path(GetParam()).replace_extension(".json"));
  if (set->files().size() > 1) return;  // the page of one shard does not speak of the whole
  const auto& tensors = expected.find("tensors")->items();
  ASSERT_EQ(copy->tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(copy->tensors()[i].name, tensors[i].find("name")->text());
    EXPECT_EQ(crypto::to_hex(copy->tensors()[i].hash), tensors[i].find("hash")->text());
  }
}

std::string test_name(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::ranges::replace_if(name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Golden, CompactsEveryFile, ::testing::ValuesIn(files_in(kGolden, ".cmf")),
                         test_name);
INSTANTIATE_TEST_SUITE_P(Field, CompactsEveryFile, ::testing::ValuesIn(files_in(kField, ".cmf")), test_name);

TEST(Compact, GivesTheReferencesBytes) {
  const char* const kFiles[][2] = {{"grown_2", "grown_compact"}, {"grown_compact", "grown_compact"},
                                   {"masks_loop", "masks_loop"}, {"overlays", "overlays"},
                                   {"names", "names"},           {"no_tensors", "no_tensors"},
                                   {"skill_file", "skill_file"}, {"empty_optional", "empty_optional"},
                                   {"index_only", "index_only"}};
  for (const auto& [source, wanted] : kFiles) {
    const TemporaryFolder folder;
    ASSERT_EQ(compacted(kGolden / (std::string(source) + ".cmf"), folder / "c.cmf"), "") << source;
    const fs::path reference = kGolden / (std::string(wanted) + ".cmf");
    EXPECT_TRUE(read_text(folder / "c.cmf") == read_text(reference)) << source;
  }
}

TEST(Compact, KeepsUnknownKeysAndDropsTheShardBlock) {
  const TemporaryFolder folder;
  fs::copy_file(kGolden / "unknown_keys.cmf", folder / "u-00001-of-00001.cmf");
  ASSERT_EQ(compacted(folder / "u-00001-of-00001.cmf", folder / "c.cmf"), "");
  json::Value wanted = *json::parse(read_json(kGolden / "unknown_keys.json").find("header_text")->text());
  wanted.erase("shard");
  const auto copy = cmf::CmfFile::open(folder / "c.cmf");
  ASSERT_TRUE(copy);
  EXPECT_EQ(as_text(copy->section(cmf::Section::kHeader)), json::dump(wanted));
  EXPECT_THAT(as_text(copy->section(cmf::Section::kHeader)), HasSubstr(R"("x_num":1.50)"));
}

TEST(Compact, ReplacesASingleSourceInPlace) {
  const TemporaryFolder folder;
  fs::copy_file(kGolden / "grown_2.cmf", folder / "g.cmf");
  ASSERT_EQ(compacted(folder / "g.cmf", folder / "g.cmf"), "");
  EXPECT_TRUE(read_text(folder / "g.cmf") == read_text(kGolden / "grown_compact.cmf"));
}

TEST(Compact, RefusesToWriteOverAShardOfItsSource) {
  const TemporaryFolder folder;
  ASSERT_EQ(compacted(kGolden / "grown_2.cmf", folder / "g.cmf", 25000), "");
  const fs::path first = folder / "g-00001-of-00003.cmf", second = folder / "g-00002-of-00003.cmf";
  const std::string before = read_text(second);
  EXPECT_THAT(compacted(first, second), HasSubstr("is a source file"));
  EXPECT_THAT(compacted(first, folder / "g.cmf", 25000),
              HasSubstr("is a source file"));  // the same three names
  EXPECT_EQ(read_text(second), before);
}

TEST(Compact, OfShardsGivesTheBytesOfTheUnshardedModel) {
  for (const char* const name :
       {"grown_2", "header_tail", "masks_loop", "skill_file", "overlays", "shapes"}) {
    const TemporaryFolder folder;
    ASSERT_EQ(compacted(kGolden / (std::string(name) + ".cmf"), folder / "wanted.cmf"), "");
    for (const uint64_t limit : {1, 1000, 5000}) {
      const auto shards = compact(kGolden / (std::string(name) + ".cmf"), folder / "s.cmf", limit);
      ASSERT_TRUE(shards) << shards.error().message;
      for (const OutputFile& shard : *shards) testing::expect_valid(shard.path);
      ASSERT_EQ(compacted(shards->back().path, folder / "again.cmf"), "");
      EXPECT_TRUE(read_text(folder / "again.cmf") == read_text(folder / "wanted.cmf"))
          << name << " " << limit;
    }
  }
}

TEST(Compact, JoinsTheSetsOfOtherPrograms) {
  const TemporaryFolder folder;
  ASSERT_EQ(compacted(kField / "shard-00002-of-00003.cmf", folder / "c.cmf"), "");
  const auto copy = cmf::CmfFile::open(folder / "c.cmf");
  const json::Value whole = read_json(kField / "dense_q8.json");  // the same model in one file
  ASSERT_TRUE(copy);
  ASSERT_EQ(copy->tensors().size(), whole.find("tensors")->items().size());
  for (const json::Value& tensor : whole.find("tensors")->items())
    EXPECT_EQ(crypto::to_hex(copy->find(tensor.find("name")->text())->hash), tensor.find("hash")->text());
}

TEST(Compact, RefusesDamageInsteadOfHashingItAnew) {
  struct Damage {
    const char* name;
    uint64_t offset;
    const char* place;
  };
  const Damage kDamages[] = {
      {"first tensor", 4096, "data model.embed_tokens.weight"},
      {"tokenizer", 49592 + 3, "vocab"},
      {"head_dim", 0, "header"},
      {"hash in the directory", 600 + 16 + 48, "dir"},
  };
  for (const Damage& damage : kDamages) {
    const TemporaryFolder folder;
    std::string bytes = read_text(kGolden / "header_tail.cmf");
    const uint64_t at = damage.offset != 0 ? damage.offset : bytes.rfind("\"head_dim\":8") + 11;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    ASSERT_TRUE(write_file(folder / "d.cmf", as_bytes(bytes)));
    const auto files = compact(folder / "d.cmf", folder / "out.cmf");
    ASSERT_FALSE(files) << damage.name;
    EXPECT_EQ(files.error().code, "Hash") << damage.name << ": " << files.error().message;
    EXPECT_EQ(files.error().place, damage.place) << damage.name;
    EXPECT_THAT(files.error().message, HasSubstr("d.cmf: hash64 is ")) << damage.name;
    EXPECT_FALSE(fs::exists(folder / "out.cmf"));
  }
}

TEST(Compact, TellsHowFarItHasCome) {
  const TemporaryFolder folder;
  std::vector<uint64_t> done;
  uint64_t last_total = 0;
  ASSERT_TRUE(compact(kGolden / "grown_2.cmf", folder / "c.cmf", std::nullopt,
                      [&](uint64_t bytes, uint64_t total) { done.push_back(bytes), last_total = total; }));
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_EQ(done.back(), last_total);
}

}  // namespace
}  // namespace amphora
