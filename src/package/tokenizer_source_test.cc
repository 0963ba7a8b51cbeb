// Directories without a tokenizer.json against transformers and tiktoken:
// tests/oracle/make_tokenizer_sources.py.
#include "package/tokenizer_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/test_data.h"
#include "package/json_members.h"
#include "package/testing/config.h"
#include "package/tokenizer_check.h"
#include "text/tokenizer.h"

namespace amphora::package {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_text;
using testing::TemporaryFolder;
using testing::test_data;

const fs::path kSources = "tokenizers/sources";

/// A folder with the files of a tokenizer.
class Folder {
 public:
  void write(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void copy(const fs::path& from, std::string_view name) const {
    write(name, read_text(test_data("tokenizers/sources") / from));
  }
  void copy_vocabulary(const fs::path& from) const {
    copy(from / "vocab.json", "vocab.json");
    copy(from / "merges.txt", "merges.txt");
  }
  TokenizerDirectory directory() const {
    TokenizerDirectory result{folder_.path(), json::Value::object(), {}};
    if (fs::exists(folder_ / "config.json")) result.config = *json::parse(read_text(folder_ / "config.json"));
    if (fs::exists(folder_ / "tokenizer_config.json"))
      result.tokenizer_config = *json::parse(read_text(folder_ / "tokenizer_config.json"));
    return result;
  }
  TokenizerText found() const {
    auto text = find_tokenizer(directory());
    EXPECT_TRUE(text) << text.error().message;
    EXPECT_TRUE(!text || *text);
    return text && *text ? **std::move(text) : TokenizerText{};
  }
  Error refusal(const PreTokenizer* assumed = nullptr) const {
    TokenizerDirectory where = directory();
    where.assumed = assumed;
    const auto text = find_tokenizer(where);
    EXPECT_FALSE(text);
    return text ? Error{} : text.error();
  }

 private:
  TemporaryFolder folder_;
};

std::vector<json::Value> cases() {
  std::ifstream in(test_data("tokenizers/sources") / "cases.jsonl");
  std::vector<json::Value> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(json::parse(line).value());
  return lines;
}

const PreTokenizer* assumed_of(const json::Value& test_case) {
  const json::Value* name = test_case.find_present("assume");
  return name == nullptr ? nullptr : find_pre_tokenizer(name->text());
}

TEST(TokenizerSource, GivesTheIdsOfTheReferences) {
  size_t compared = 0;
  for (const json::Value& test_case : cases()) {
    SCOPED_TRACE(test_case.find("name")->text());
    const Folder folder;
    if (const json::Value* vocabulary = test_case.find("vocabulary"))
      folder.copy_vocabulary(vocabulary->text());
    else
      folder.copy("ranks/small.tiktoken", test_case.find("ranks")->text());
    folder.write("config.json", json::dump(*test_case.find("config")));
    for (const json::Member& file : test_case.find("files")->members())
      folder.write(file.key, json::dump(file.value));
    TokenizerDirectory directory = folder.directory();
    directory.assumed = assumed_of(test_case);
    const auto text = find_tokenizer(directory);
    ASSERT_TRUE(text) << text.error().message;
    ASSERT_TRUE(*text);
    EXPECT_EQ((*text)->took_assumed, directory.assumed != nullptr);
    const auto tokenizer = text::Tokenizer::from_json((*text)->json);
    ASSERT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
    for (const json::Value& pair : test_case.find("texts")->items()) {
      std::vector<text::TokenId> wanted;
      for (const json::Value& id : pair.items()[1].items())
        wanted.push_back(static_cast<text::TokenId>(*id.as_unsigned()));
      EXPECT_EQ((*tokenizer)->encode(pair.items()[0].text()).value(), wanted) << json::dump(pair.items()[0]);
      ++compared;
    }
  }
  EXPECT_EQ(compared, 32u * 50u);
}

}  // namespace
}  // namespace amphora::package
