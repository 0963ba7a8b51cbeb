// One model into one file or a set: where it is split, what each file carries, and that all appear together.
#include "package/cmf_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "formats/cmf/cmf_file.h"
#include "formats/cmf/testing/files.h"

namespace amphora {
namespace {

namespace fs = std::filesystem;
using cmf::testing::small_file;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::read_text;
using testing::TemporaryFolder;

/// small_file(): a 12, b 12, c 18, none 0, d 10 bytes.
Status write_payloads(CmfOutput& output) {
  const ByteVector payload(18, std::byte{0x21});
  AMPHORA_TRY(output.write("a", Bytes(payload).first(12)));
  AMPHORA_TRY(output.write("b", Bytes(payload).first(5)));
  AMPHORA_TRY(output.write("b", Bytes(payload).first(7)));
  AMPHORA_TRY(output.write("c", payload));
  return output.write("d", Bytes(payload).first(10));
}

std::vector<OutputFile> written(const fs::path& path, const cmf::NewFile& file,
                                std::optional<uint64_t> limit) {
  auto output = CmfOutput::create(path, file, limit);
  EXPECT_TRUE(output) << output.error().message;
  if (!output) return {};
  const Status payloads = write_payloads(*output);
  EXPECT_TRUE(payloads) << payloads.error().message;
  const Status finished = output->finish();
  EXPECT_TRUE(finished) << finished.error().message;
  for (const OutputFile& out : output->files()) EXPECT_EQ(out.bytes, fs::file_size(out.path));
  return output->files();
}

std::vector<std::string> sorted_names_in(const fs::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
  std::ranges::sort(names);
  return names;
}

std::vector<std::string> tensors_in(const fs::path& path) {
  const auto file = cmf::CmfFile::open(path);
  EXPECT_TRUE(file) << path << ": " << file.error().message;
  std::vector<std::string> names;
  if (file)
    for (const cmf::TensorRecord& tensor : file->tensors()) names.emplace_back(tensor.name);
  return names;
}

TEST(CmfOutput, WritesAPlainFileWithoutALimitAndWhereAllFitsIntoOneShard) {
  const TemporaryFolder folder;
  ASSERT_TRUE(cmf::testing::write_small_file(folder / "wanted", small_file()));
  cmf::NewFile file = small_file();
  file.header.set("shard", *json::parse(R"({"no":2,"count":3})"));
  for (const std::optional<uint64_t> limit : {std::optional<uint64_t>(), std::optional<uint64_t>(52)}) {
    const auto files = written(folder / "tiny.cmf", file, limit);
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(files[0].path, folder / "tiny.cmf");
    EXPECT_EQ(read_text(folder / "tiny.cmf"), read_text(folder / "wanted"));
  }
}

TEST(CmfOutput, StartsAShardWhereTheNextPayloadWouldPassTheLimit) {
  struct Split {
    uint64_t limit;
    std::vector<std::vector<std::string>> shards;
  };
  const Split kSplits[] = {
      {51, {{"a", "b", "c", "none"}, {"d"}}},     {42, {{"a", "b", "c", "none"}, {"d"}}},
      {41, {{"a", "b"}, {"c", "none", "d"}}},     {24, {{"a", "b"}, {"c", "none"}, {"d"}}},
      {23, {{"a"}, {"b"}, {"c", "none"}, {"d"}}}, {1, {{"a"}, {"b"}, {"c", "none"}, {"d"}}},
  };
  for (const Split& split : kSplits) {
    const TemporaryFolder folder;
    const auto files = written(folder / "tiny.cmf", small_file(), split.limit);
    ASSERT_EQ(files.size(), split.shards.size()) << split.limit;
    for (size_t i = 0; i < files.size(); ++i) {
      const std::string name =
          "tiny-0000" + std::to_string(i + 1) + "-of-0000" + std::to_string(files.size()) + ".cmf";
      EXPECT_EQ(files[i].path, folder / name);
      EXPECT_EQ(tensors_in(files[i].path), split.shards[i]) << split.limit;
      EXPECT_TRUE(cmf::verify(files[i].path)->findings.empty());
    }
  }
}

TEST(CmfOutput, NamesShardsAfterAPathWithoutExtensionToo) {
  const TemporaryFolder folder;
  written(folder / "tiny.v2", small_file(), 42);
  EXPECT_THAT(sorted_names_in(folder.path()),
              ElementsAre("tiny.v2-00001-of-00002.cmf", "tiny.v2-00002-of-00002.cmf"));
}

TEST(CmfOutput, GivesShardOneTheWholeHeaderAndTheOthersWhatTheyNeed) {
  const TemporaryFolder folder;
  cmf::NewFile file = small_file();
  file.header.set("provenance", *json::parse(R"({"tool":"t","n":1.50})"));
  file.header.set("tokenizer_config", *json::parse(R"({"eos_token_ids":[1]})"));
  file.header.set("x", *json::parse("1e+2"));
  written(folder / "tiny.cmf", file, 42);
  const std::string start = json::dump(cmf::testing::small_header());  // ends in "}"
  const std::string common = start.substr(0, start.size() - 1) + R"(,"provenance":{"tool":"t","n":1.50})";
  const auto first = cmf::CmfFile::open(folder / "tiny-00001-of-00002.cmf");
  const auto second = cmf::CmfFile::open(folder / "tiny-00002-of-00002.cmf");
  ASSERT_TRUE(first && second);
  EXPECT_EQ(json::dump(second->header()), common + R"(,"shard":{"no":2,"count":2}})");
  EXPECT_THAT(json::dump(first->header()),
              HasSubstr(common + R"(,"tokenizer_config":{"eos_token_ids":[1]},"x":1e+2,)"
                                 R"("shard":{"no":1,"count":2},"section_hashes":{"vocab":)"));
  EXPECT_EQ(first->tokenizer_json(), R"({"model":{}})");
  EXPECT_TRUE(second->tokenizer_json().empty());
}

TEST(CmfOutput, RefusesLimitsThatMakeNoSense) {
  const TemporaryFolder folder;
  const auto nothing = CmfOutput::create(folder / "a.cmf", small_file(), 0);
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().fault, Fault::kUsage);
  cmf::NewFile many{.header = cmf::testing::small_header(), .tensors = {}};
  for (size_t i = 0; i < 100000; ++i) many.tensors.push_back({std::to_string(i), DType::kF32, {1}});
  const auto too_many = CmfOutput::create(folder / "a.cmf", many, 4);
  ASSERT_FALSE(too_many);
  EXPECT_EQ(too_many.error().fault, Fault::kUsage);
  EXPECT_THAT(too_many.error().message, HasSubstr("100000 shards"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(CmfOutput, RefusesWhatOnlyTheWholeSetShows) {
  const TemporaryFolder folder;
  cmf::NewFile twice = small_file();
  twice.tensors[4].name = "a";
  const auto duplicate = CmfOutput::create(folder / "a.cmf", twice, 12);
  ASSERT_FALSE(duplicate);
  EXPECT_EQ(duplicate.error().place, "a");
  cmf::NewFile skill = small_file();
  skill.tensors[4].name = "skill.s.a";  // f16[5], but a is f32[3]
  skill.header.set("skills", *json::parse(R"([{"id":"s","layers":[]}])"));
  const auto misfit = CmfOutput::create(folder / "a.cmf", skill, 12);
  ASSERT_FALSE(misfit);
  EXPECT_EQ(misfit.error().code, "Skill");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(CmfOutput, ShowsNoFileBeforeAllAreWhole) {
  const TemporaryFolder folder;
  {
    auto output = CmfOutput::create(folder / "a.cmf", small_file(), 12);
    ASSERT_TRUE(output);
    ASSERT_TRUE(write_payloads(*output));
    EXPECT_TRUE(fs::is_empty(folder.path()));
  }
  {
    auto output = CmfOutput::create(folder / "a.cmf", small_file(), 12);
    ASSERT_TRUE(output);
    ASSERT_TRUE(output->write("a", ByteVector(12)));
    EXPECT_FALSE(output->write("c", ByteVector(18)));  // b comes next
    const Status finished = output->finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().place, "b");
  }
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

TEST(CmfOutput, TakesItsFilesBackIfOneCannotBeNamed) {
  const TemporaryFolder folder;
  const auto shard = [&](int no) { return folder / ("a-0000" + std::to_string(no) + "-of-00004.cmf"); };
  auto output = CmfOutput::create(folder / "a.cmf", small_file(), 12);
  ASSERT_TRUE(output);
  ASSERT_TRUE(write_payloads(*output));
  ASSERT_TRUE(write_file(shard(4), as_bytes("older")));
  fs::create_directory(shard(2));
  const Status finished = output->finish();
  ASSERT_FALSE(finished);
  EXPECT_EQ(finished.error().fault, Fault::kIo);
  EXPECT_THAT(sorted_names_in(folder.path()), ElementsAre("a-00002-of-00004.cmf", "a-00004-of-00004.cmf"));
}

TEST(CmfOutput, NeverLeavesAnOldFirstShardWithNewOthers) {
  const TemporaryFolder folder;
  auto output = CmfOutput::create(folder / "a.cmf", small_file(), 12);
  ASSERT_TRUE(output);
  ASSERT_TRUE(write_payloads(*output));
  ASSERT_TRUE(write_file(folder / "a-00001-of-00004.cmf", as_bytes("older")));
  fs::create_directory(folder / "a-00002-of-00004.cmf");
  ASSERT_FALSE(output->finish());
  EXPECT_THAT(sorted_names_in(folder.path()), ElementsAre("a-00002-of-00004.cmf"));
}

TEST(CmfOutput, ReplacesAnOlderSet) {
  const TemporaryFolder folder;
  for (const char* const tokenizer : {"{}", R"({"model":{}})"})
    written(folder / "a.cmf", small_file(tokenizer), 42);
  EXPECT_THAT(sorted_names_in(folder.path()), ElementsAre("a-00001-of-00002.cmf", "a-00002-of-00002.cmf"));
  EXPECT_EQ(cmf::CmfFile::open(folder / "a-00001-of-00002.cmf")->tokenizer_json(), R"({"model":{}})");
}

TEST(CmfOutput, SaysWhyTooManyShardsCannotBeOpen) {
  const TemporaryFolder folder;
  cmf::NewFile many{.header = cmf::testing::small_header(), .tensors = {}};
  for (size_t i = 0; i < 200; ++i) many.tensors.push_back({std::to_string(i), DType::kF32, {1}});
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit few{.rlim_cur = 64, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const auto output = CmfOutput::create(folder / "a.cmf", many, 4);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().fault, Fault::kIo);
  EXPECT_THAT(output.error().message, HasSubstr("all 200 shards are open at once"));
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace amphora
