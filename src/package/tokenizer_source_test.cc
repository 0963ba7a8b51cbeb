// Directories without a tokenizer.json against transformers and tiktoken:
// tests/oracle/make_tokenizer_sources.py.
#include "package/tokenizer_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/testing/fetched.h"
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
class SourceFolder {
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
    const SourceFolder folder;
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
  const SourceFolder vocabulary;
  vocabulary.copy_vocabulary("byte_level");
  vocabulary.write("tokenizer_config.json", R"({"tokenizer_class":"GPT2TokenizerFast"})");
  EXPECT_THAT(vocabulary.found().notes,
              ElementsAre("vocab.json and merges.txt became a tokenizer.json as GPT2Tokenizer reads them"));
  const SourceFolder ranks;
  ranks.copy("ranks/small.tiktoken", "o200k_base.tiktoken");
  EXPECT_THAT(
      ranks.found().notes,
      ElementsAre("o200k_base.tiktoken (600 ranks) became a tokenizer.json with the pre-tokenizer gpt-4o",
                  "nothing beside o200k_base.tiktoken names special tokens: the tokenizer has none"));
}

TEST(TokenizerSource, SaysThatAClassIsGuessed) {
  const SourceFolder vocabulary;
  vocabulary.copy_vocabulary("byte_level");
  vocabulary.write("config.json", R"({"model_type":"gpt2"})");
  EXPECT_THAT(vocabulary.found().notes,
              ElementsAre("tokenizer_class is not given: read as GPT2Tokenizer, by the model's type",
                          HasSubstr("as GPT2Tokenizer reads them")));
  const SourceFolder ranks;
  ranks.copy("ranks/small.tiktoken", "tiktoken.model");
  ranks.write("config.json", R"({"model_type":"llama"})");
  EXPECT_THAT(ranks.found().notes,
              ElementsAre("tokenizer_class is not given: how text is cut follows from the model's type llama",
                          HasSubstr("pre-tokenizer llama-bpe"), HasSubstr("the tokenizer has none")));
}

// The ids are those of transformers 5.24 for the same files.
TEST(TokenizerSource, TakesFurtherTokensFromOneListAsTransformersDoes) {
  using Ids = std::vector<text::TokenId>;
  const Ids none = {592, 34, 83, 36, 73, 74, 34, 73, 36, 75, 76, 34, 86, 36};
  const Ids config = {592, 34, 83, 36, 73, 74, 600, 75, 76, 34, 86, 36};
  const Ids map = {592, 600, 73, 74, 34, 73, 36, 75, 76, 34, 86, 36};
  const Ids both = {592, 601, 73, 74, 600, 75, 76, 34, 86, 36};
  struct Case {
    const char *config, *map;
    const Ids& wanted;
  };
  const Case cases[] = {
      {"", R"("additional_special_tokens":["<m>"])", map},
      {R"("additional_special_tokens":["<c>"])", "", config},
      {R"("additional_special_tokens":["<c>"])", R"("additional_special_tokens":["<m>"])", config},
      {R"("additional_special_tokens":[])", R"("additional_special_tokens":["<m>"])", none},
      {R"("additional_special_tokens":null)", R"("additional_special_tokens":["<m>"])", none},
      {R"("extra_special_tokens":["<c>"])", R"("additional_special_tokens":["<m>"])", config},
      {R"("extra_special_tokens":null)", R"("additional_special_tokens":["<m>"])", none},
      {R"("additional_special_tokens":["<c>"])", R"("extra_special_tokens":["<m>"])", both},
      {R"("extra_special_tokens":["<c>"])", R"("extra_special_tokens":["<m>"])", both},
      {R"("extra_special_tokens":["<c>"])", R"("extra_special_tokens":{"a_token":"<m>"})", map},
      {R"("extra_special_tokens":["<c>"])", R"("extra_special_tokens":null)", none},
      {R"("add_bos_token":null,"add_eos_token":null)", R"("add_eos_token":null)", none},
  };
  for (const Case& one : cases) {
    const SourceFolder folder;
    folder.copy_vocabulary("byte_level");
    folder.write("special_tokens_map.json", fmt::format("{{{}}}", one.map));
    folder.write("tokenizer_config.json", fmt::format(R"({{"tokenizer_class":"GPT2Tokenizer"{}{}}})",
                                                      *one.config == 0 ? "" : ",", one.config));
    const auto tokenizer = text::Tokenizer::from_json(folder.found().json);
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ((*tokenizer)->encode("ab<m>cd<c>ef<p>").value(), one.wanted) << one.config << " | " << one.map;
  }
}

TEST(TokenizerSource, PrefersATokenizerJsonAndTakesItAsItIs) {
  const SourceFolder folder;
  folder.copy_vocabulary("byte_level");
  const std::string text = R"({ "model" : {"type":"BPE","vocab":{"a":0},"merges":[]} })";
  folder.write("tokenizer.json", text);
  EXPECT_EQ(folder.found().json, text);
  EXPECT_THAT(folder.found().notes, IsEmpty());
}

TEST(TokenizerSource, RefusesAClassThatItDoesNotKnowAndOffersAWayOut) {
  const SourceFolder vocabulary;
  vocabulary.copy_vocabulary("byte_level");
  vocabulary.write("tokenizer_config.json", R"({"tokenizer_class":"SomeTokenizer"})");
  Error error = vocabulary.refusal();
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("SomeTokenizer is not known"), HasSubstr("RobertaTokenizer"),
                                   HasSubstr("--assume-pretokenizer NAME (known: qwen2, llama-bpe,")));
  vocabulary.write("tokenizer_config.json", "{}");
  EXPECT_THAT(vocabulary.refusal().message, HasSubstr("nothing names it"));

  const SourceFolder ranks;
  ranks.copy("ranks/small.tiktoken", "tiktoken.model");
  ranks.write("config.json", R"({"model_type":"mistral","tokenizer_class":"SomeTokenizer"})");
  error = ranks.refusal();
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_THAT(error.message, AllOf(HasSubstr("(SomeTokenizer)"), HasSubstr("(mistral)"),
                                   HasSubstr("--assume-pretokenizer NAME")));
}

TEST(TokenizerSource, RefusesAnAssumptionThatWouldBeIgnored) {
  const PreTokenizer* gpt2 = find_pre_tokenizer("gpt-2");
  const SourceFolder known;
  known.copy_vocabulary("byte_level");
  known.write("tokenizer_config.json", R"({"tokenizer_class":"Qwen2Tokenizer"})");
  EXPECT_EQ(known.refusal(gpt2).fault, Fault::kUsage);
  const SourceFolder ranks;
  ranks.copy("ranks/small.tiktoken", "qwen.tiktoken");
  EXPECT_EQ(ranks.refusal(gpt2).fault, Fault::kUsage);
  EXPECT_EQ(SourceFolder().refusal(gpt2).fault, Fault::kUsage);
}

TEST(TokenizerSource, PutsAnAssumedPreTokenizerInThePlaceOfAnUnknownOne) {
  for (const std::string_view own :
       {R"({"type":"Novel"})",
        R"({"type":"Split","pattern":{"Regex":"[a&&b]"},"behavior":"Isolated","invert":false})"}) {
    const SourceFolder folder;
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
  const SourceFolder folder;
  folder.write("tokenizer.json",
               R"({"truncation":{"direction":"Right","max_length":4},"padding":{"strategy":"BatchLongest"},)"
               R"("model":{"type":"BPE","vocab":{"a":0},"merges":[]}})");
  EXPECT_THAT(folder.found().notes,
              ElementsAre("tokenizer.json has a truncation block, which is ignored: amphora never cuts ids",
                          "tokenizer.json has a padding block, which is ignored: amphora never pads ids"));
}

TEST(TokenizerSource, NotesSettingsThatContradictATokenizerJson) {
  const SourceFolder folder;
  const std::string_view after =
      R"("added_tokens":[{"id":0,"content":"a","single_word":false,"lstrip":false,)"
      R"("rstrip":false,"normalized":false,"special":true}],)"
      R"("model":{"type":"BPE","vocab":{"a":0},"merges":[]}})";
  const std::string post_processor =
      R"("post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"a","type_id":0}},)"
      R"({"Sequence":{"id":"A","type_id":0}}],"pair":[],"special_tokens":{"a":{"id":"a","ids":[0],"tokens":["a"]}}},)";
  folder.write("tokenizer.json", fmt::format("{{{}{}", post_processor, after));
  folder.write("tokenizer_config.json", R"({"add_bos_token":true,"add_eos_token":false})");
  EXPECT_THAT(folder.found().notes, IsEmpty());
  folder.write("tokenizer_config.json", R"({"add_bos_token":false,"add_eos_token":true})");
  EXPECT_THAT(folder.found().notes,
              ElementsAre(AllOf(HasSubstr("add_bos_token = false"), HasSubstr("puts a token before a text")),
                          AllOf(HasSubstr("add_eos_token = true"), HasSubstr("puts none behind a text"))));
}

// Transformers 5.24 gives other ids with each of these settings than without them, but for other ids of known
// tokens, which it overlooks.
TEST(TokenizerSource, NotesTokensThatATokenizerJsonHasNotOrOtherwise) {
  constexpr std::string_view kPlain =
      R"("single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true)";
  const SourceFolder folder;
  folder.write("tokenizer.json",
               fmt::format(R"({{"added_tokens":[{{"id":0,"content":"<a>",{0}}},)"
                           R"({{"id":1,"content":"<b>",{0}}}],)"
                           R"("model":{{"type":"BPE","vocab":{{"<a>":0,"<b>":1}},"merges":[]}}}})",
                           kPlain));
  struct Case {
    const char* file;
    std::string text;
    std::vector<std::string> words;  ///< of the only note; empty: there is none
  };
  const std::string same = fmt::format(R"("0":{{"content":"<a>",{}}})", kPlain);
  const Case cases[] = {
      {"tokenizer_config.json",
       R"({"bos_token":"<a>","pad_token":null,"additional_special_tokens":["<b>"]})",
       {}},
      {"tokenizer_config.json", fmt::format(R"({{"added_tokens_decoder":{{{}}}}})", same), {}},
      {"special_tokens_map.json", R"({"bos_token":{"content":"<a>","rstrip":true},"unk_token":"<b>"})", {}},
      {"added_tokens.json", R"({"<a>":0,"<b>":1})", {}},
      {"tokenizer_config.json",
       R"({"additional_special_tokens":["<m>","<a>","<n>"]})",
       {"add \"<m>\", \"<n>\", which"}},
      {"tokenizer_config.json",
       R"({"extra_special_tokens":["1","2","3","4","5"]})",
       {"add \"1\", \"2\", \"3\" and 2 more, which"}},
      {"tokenizer_config.json", R"({"image_token":"<m>"})", {"add \"<m>\", which"}},
      {"tokenizer_config.json", R"({"pad_token":"<m>","eos_token":"<m>"})", {"add \"<m>\", which"}},
      {"special_tokens_map.json", R"({"additional_special_tokens":["<m>"]})", {"add \"<m>\", which"}},
      {"added_tokens.json", R"({"<a>":0,"<m>":2})", {"add \"<m>\", which"}},
      {"added_tokens.json", R"({"<a>":5})", {"other ids than it does to \"<a>\""}},
      {"tokenizer_config.json",
       fmt::format(R"({{"added_tokens_decoder":{{{},"7":{{"content":"<b>",{}}}}}}})", same, kPlain),
       {"other ids than it does to \"<b>\""}},
      {"tokenizer_config.json",
       R"({"added_tokens_decoder":{"1":{"content":"<b>","special":true,"rstrip":true}}})",
       {"other properties", "to \"<b>\": transformers"}},
      {"tokenizer_config.json",
       R"({"added_tokens_decoder":{"1":{"content":"<b>","special":false,"normalized":false}}})",
       {"other properties", "to \"<b>\": transformers"}},
  };
  for (const Case& one : cases) {
    for (const char* file : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"})
      folder.write(file, "{}");
    folder.write(one.file, one.text);
    const auto notes = folder.found().notes;
    ASSERT_EQ(notes.size(), one.words.empty() ? 0 : 1) << one.text;
    for (const std::string& words : one.words) EXPECT_THAT(notes[0], HasSubstr(words)) << one.text;
  }
  folder.write("tokenizer_config.json", "{}");
  folder.write("special_tokens_map.json", R"({"bos_token":1})");
  EXPECT_THAT(folder.refusal().message, HasSubstr("special_tokens_map.json"));
}

TEST(TokenizerSource, NotesLittleOfPublishedSettings) {
  for (const char* name : {"llama2", "llama3", "gemma3", "qwen2_5", "qwen3", "deepseek_v3"}) {
    const fs::path folder = testing::fetched("tokenizers") / name;
    AMPHORA_SKIP_WITHOUT(folder / "tokenizer.json", "scripts/fetch-tokenizers.sh");
    TokenizerDirectory directory{folder, json::Value::object(), {}};
    directory.tokenizer_config = *json::parse(read_text(folder / "tokenizer_config.json"));
    const auto text = find_tokenizer(directory);
    ASSERT_TRUE(text && *text) << name;
    // It asks for a BOS that its tokenizer.json does not put, and transformers 5 does not, either.
    if (name == std::string_view("deepseek_v3"))
      EXPECT_THAT((*text)->notes, ElementsAre(HasSubstr("add_bos_token = true")));
    else
      EXPECT_THAT((*text)->notes, IsEmpty()) << name;
  }
}

TEST(TokenizerSource, NotesAPrefixThatATokenizerJsonHasNot) {
  const SourceFolder folder;
  folder.write("tokenizer.json", R"({"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Digits"},)"
                                 R"({"type":"ByteLevel","add_prefix_space":false}]},)"
                                 R"("model":{"type":"BPE","vocab":{"a":0},"merges":[]}})");
  const auto notes_with = [&](std::string_view tokenizer_class, std::string_view prefix) {
    folder.write("tokenizer_config.json",
                 fmt::format(R"({{"tokenizer_class":"{}","add_prefix_space":{}}})", tokenizer_class, prefix));
    return folder.found().notes;
  };
  EXPECT_THAT(
      notes_with("Qwen2Tokenizer", "true"),
      ElementsAre(AllOf(HasSubstr("add_prefix_space = true"), HasSubstr("tokenizer.json has false"))));
  EXPECT_THAT(notes_with("Qwen2Tokenizer", "false"), IsEmpty());
  EXPECT_THAT(notes_with("Qwen2Tokenizer", "null"), IsEmpty());
  // Transformers takes the tokenizer.json of such a class as it is.
  EXPECT_THAT(notes_with("PreTrainedTokenizerFast", "true"), IsEmpty());
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
    const SourceFolder folder;
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
