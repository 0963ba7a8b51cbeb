// Directories without a tokenizer.json against transformers and tiktoken:
// tests/oracle/make_tokenizer_sources.py.
#include "package/tokenizer_source.h"

#include <fmt/format.h>
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

TEST(TokenizerSource, SaysWhichFilesItWasMadeFrom) {
  const Folder vocabulary;
  vocabulary.copy_vocabulary("byte_level");
  vocabulary.write("tokenizer_config.json", R"({"tokenizer_class":"GPT2TokenizerFast"})");
  EXPECT_THAT(vocabulary.found().notes,
              ElementsAre("vocab.json and merges.txt became a tokenizer.json as GPT2Tokenizer reads them"));
  const Folder ranks;
  ranks.copy("ranks/small.tiktoken", "o200k_base.tiktoken");
  EXPECT_THAT(
      ranks.found().notes,
      ElementsAre("o200k_base.tiktoken (600 ranks) became a tokenizer.json with the pre-tokenizer gpt-4o",
                  "nothing beside o200k_base.tiktoken names special tokens: the tokenizer has none"));
}

TEST(TokenizerSource, PrefersATokenizerJsonAndTakesItAsItIs) {
  const Folder folder;
  folder.copy_vocabulary("byte_level");
  const std::string text = R"({ "model" : {"type":"BPE","vocab":{"a":0},"merges":[]} })";
  folder.write("tokenizer.json", text);
  EXPECT_EQ(folder.found().json, text);
  EXPECT_THAT(folder.found().notes, IsEmpty());
}

TEST(TokenizerSource, RefusesAClassThatItDoesNotKnowAndOffersAWayOut) {
  const Folder vocabulary;
  vocabulary.copy_vocabulary("byte_level");
  vocabulary.write("tokenizer_config.json", R"({"tokenizer_class":"SomeTokenizer"})");
  Error error = vocabulary.refusal();
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("SomeTokenizer is not known"), HasSubstr("RobertaTokenizer"),
                                   HasSubstr("--assume-pretokenizer NAME (known: qwen2, llama-bpe,")));
  vocabulary.write("tokenizer_config.json", "{}");
  EXPECT_THAT(vocabulary.refusal().message, HasSubstr("nothing names it"));

  const Folder ranks;
  ranks.copy("ranks/small.tiktoken", "tiktoken.model");
  ranks.write("config.json", R"({"model_type":"mistral","tokenizer_class":"SomeTokenizer"})");
  error = ranks.refusal();
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("(SomeTokenizer)"), HasSubstr("(mistral)"),
                                   HasSubstr("--assume-pretokenizer NAME")));
}

TEST(TokenizerSource, RefusesAnAssumptionThatWouldBeIgnored) {
  const PreTokenizer* gpt2 = find_pre_tokenizer("gpt-2");
  const Folder known;
  known.copy_vocabulary("byte_level");
  known.write("tokenizer_config.json", R"({"tokenizer_class":"Qwen2Tokenizer"})");
  EXPECT_EQ(known.refusal(gpt2).fault, Fault::kUsage);
  const Folder ranks;
  ranks.copy("ranks/small.tiktoken", "qwen.tiktoken");
  EXPECT_EQ(ranks.refusal(gpt2).fault, Fault::kUsage);
  EXPECT_EQ(Folder().refusal(gpt2).fault, Fault::kUsage);
}

TEST(TokenizerSource, PutsAnAssumedPreTokenizerInThePlaceOfAnUnknownOne) {
  for (const std::string_view own :
       {R"({"type":"Novel"})",
        R"({"type":"Split","pattern":{"Regex":"[a&&b]"},"behavior":"Isolated","invert":false})"}) {
    const Folder folder;
    const auto whole = [](std::string_view pre_tokenizer) {
      return fmt::format(
          R"({{"padding": null, "pre_tokenizer" : {} , "model":{{"type":"BPE","vocab":{{"a":0}},"merges":[]}}}})",
          pre_tokenizer);
    };
    folder.write("tokenizer.json", whole(own));
    const auto unknown = find_unknown_pre_tokenizer(whole(own));
    ASSERT_TRUE(unknown) << own;
    EXPECT_EQ(unknown->json, own);
    EXPECT_EQ(folder.found().json, whole(own));
    TokenizerDirectory directory = folder.directory();
    directory.assumed = find_pre_tokenizer("smollm");
    const auto text = find_tokenizer(directory);
    ASSERT_TRUE(text && *text);
    EXPECT_TRUE((*text)->took_assumed);
    EXPECT_EQ((*text)->json, whole(pre_tokenizer_json(*directory.assumed)));
    EXPECT_FALSE(find_unknown_pre_tokenizer((*text)->json));
  }
}

TEST(TokenizerSource, NotesTruncationAndPadding) {
  const Folder folder;
  folder.write("tokenizer.json",
               R"({"truncation":{"direction":"Right","max_length":4},"padding":{"strategy":"BatchLongest"},)"
               R"("model":{"type":"BPE","vocab":{"a":0},"merges":[]}})");
  EXPECT_THAT(folder.found().notes,
              ElementsAre("tokenizer.json has a truncation block, which is ignored: amphora never cuts ids",
                          "tokenizer.json has a padding block, which is ignored: amphora never pads ids"));
}

TEST(TokenizerSource, NotesSettingsThatContradictATokenizerJson) {
  const Folder folder;
  const std::string_view after =
      R"("added_tokens":[{"id":0,"content":"a","single_word":false,"lstrip":false,)"
      R"("rstrip":false,"normalized":false,"special":true}],)"
      R"("model":{"type":"BPE","vocab":{"a":0},"merges":[]}})";
  const std::string post_processor =
      R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"a":{"id":"a","ids":[0],"tokens":["a"]}}},)";
  folder.write("tokenizer.json", fmt::format("{{{}{}", post_processor, after));
  folder.write("tokenizer_config.json", R"({"add_bos_token":true,"add_eos_token":false,)"
                                        R"("added_tokens_decoder":{"0":{"content":"a"}}})");
  EXPECT_THAT(folder.found().notes, IsEmpty());
  folder.write("tokenizer_config.json",
               R"({"add_bos_token":false,"add_eos_token":true,)"
               R"("added_tokens_decoder":{"0":{"content":"a"},"1":{"content":"b"}}})");
  EXPECT_THAT(folder.found().notes,
              ElementsAre(AllOf(HasSubstr("add_bos_token = false"), HasSubstr("puts a token before a text")),
                          AllOf(HasSubstr("add_eos_token = true"), HasSubstr("puts none behind a text")),
                          AllOf(HasSubstr("adds 1 tokens"), HasSubstr("the first \"b\""))));
}

TEST(TokenizerSource, RefusesEachDamageOfItsFiles) {
  struct Damage {
    const char* name;
    const char* file;
    const char* text;
    Fault fault;
    const char* words;
  };
  const Damage damages[] = {
      {"vocabulary is no object", "vocab.json", "[]", Fault::kCorrupt, "vocab.json: not an object"},
      {"vocabulary ends early", "vocab.json", R"({"a":0)", Fault::kCorrupt, "vocab.json"},
      {"token twice", "vocab.json", R"({"a":0,"a":1})", Fault::kCorrupt, "duplicate key"},
      {"id is no number", "vocab.json", R"({"a":"0"})", Fault::kCorrupt, "id of a token"},
      {"id is negative", "vocab.json", R"({"a":-1})", Fault::kCorrupt, "id of a token"},
      {"id beyond any vocabulary", "vocab.json", R"({"a":16777216})", Fault::kCorrupt, "id of a token"},
      {"merge of one token", "merges.txt", "#version: 0.2\nab\n", Fault::kCorrupt,
       "line 2: a merge is not two"},
      {"merge of three tokens", "merges.txt", "a b c\n", Fault::kCorrupt, "line 1: a merge is not two"},
      {"empty line", "merges.txt", "#version: 0.2\n\n", Fault::kCorrupt, "line 2: a merge is not two"},
      {"merge is no UTF-8", "merges.txt", "a \xff\n", Fault::kCorrupt, "line 1: not UTF-8"},
      {"merge of an unknown token", "merges.txt", "a \u4e00\n", Fault::kCorrupt,
       "\u4e00\" is not in vocab.json"},
      {"merge to an unknown token", "merges.txt", "Q Q\n", Fault::kCorrupt, "QQ\" is not in vocab.json"},
      {"added id that is not next", "added_tokens.json", R"({"<new>":700})", Fault::kCorrupt,
       "puts it at 600"},
      {"added id is no id", "added_tokens.json", R"({"<new>":"x"})", Fault::kCorrupt, "not an id"},
      {"added tokens are no object", "added_tokens.json", "[]", Fault::kCorrupt,
       "added_tokens.json: not an object"},
      {"special token is a number", "special_tokens_map.json", R"({"bos_token":1})", Fault::kCorrupt,
       "$.bos_token"},
      {"decoder without ids", "tokenizer_config.json", R"({"added_tokens_decoder":{"x":{"content":"y"}}})",
       Fault::kCorrupt, "not its id"},
      {"prefix is no flag", "tokenizer_config.json", R"({"add_prefix_space":"yes"})", Fault::kCorrupt,
       "add_prefix_space"},
  };
  for (const Damage& damage : damages) {
    const Folder folder;
    folder.copy_vocabulary("byte_level");
    folder.write("config.json", R"({"model_type":"gpt2"})");
    ASSERT_FALSE(folder.found().json.empty());
    folder.write(damage.file, damage.text);
    const Error error = folder.refusal();
    EXPECT_EQ(error.fault, damage.fault) << damage.name << ": " << error.message;
    EXPECT_THAT(error.place + ' ' + error.message, HasSubstr(damage.words)) << damage.name;
  }
}

TEST(TokenizerSource, FindsMembersWithoutATree) {
  const std::string_view text = R"( {"a\u0062" : [1, "}]\"", {"x":{}}], "c":-1.5e3 ,"d":"\\", "e":null})";
  EXPECT_EQ(find_member_text(text, "ab"), R"([1, "}]\"", {"x":{}}])");
  EXPECT_EQ(find_member_text(text, "c"), "-1.5e3");
  EXPECT_EQ(find_member_text(text, "d"), R"("\\")");
  EXPECT_EQ(find_member_text(text, "e"), "null");
  EXPECT_EQ(find_member_text(text, "x"), std::nullopt);
  for (size_t kept = 0; kept < text.size(); ++kept) find_member_text(text.substr(0, kept), "e");
}

}  // namespace
}  // namespace amphora::package
