// SentencePiece models in Hugging Face directories. Special tokens and their ids are those of
// transformers 5.24 for the same files, ids of the stretches between them those of the sentencepiece library.
#include "package/spm_source.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/testing/test_data.h"
#include "text/tokenizer.h"

namespace amphora::package {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::TemporaryFolder;
using Ids = std::vector<uint32_t>;

class SpmFolder {
 public:
  SpmFolder& put(std::string_view name, std::string_view content) {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return *this;
  }
  SpmFolder& put_trained(std::string_view model, std::string_view name) {
    std::filesystem::copy_file(testing::test_data("tokenizers/trained") / model / "spiece.model",
                               folder_ / name);
    return *this;
  }
  Result<std::optional<TokenizerText>> read(std::string_view tokenizer_config = "",
                                            std::string_view config = "{}") const {
    TokenizerDirectory directory;
    directory.path = folder_.path();
    directory.config = json::parse(config).value();
    if (!tokenizer_config.empty()) directory.tokenizer_config = json::parse(tokenizer_config).value();
    return read_spm_tokenizer(directory);
  }
  std::shared_ptr<const text::Tokenizer> load(std::string_view tokenizer_config,
                                              std::string_view config = "{}") const {
    const auto text = read(tokenizer_config, config);
    EXPECT_TRUE(text) << text.error().message;
    if (!text || !*text) return nullptr;
    const auto tokenizer = text::Tokenizer::from_json((*text)->json);
    EXPECT_TRUE(tokenizer) << tokenizer.error().message;
    return tokenizer.value_or(nullptr);
  }
  Error refusal(std::string_view tokenizer_config) const {
    const auto text = read(tokenizer_config);
    EXPECT_FALSE(text) << tokenizer_config;
    return text ? Error{} : text.error();
  }

 private:
  TemporaryFolder folder_;
};

constexpr std::string_view kLlama =
    R"({"tokenizer_class":"LlamaTokenizer","legacy":true,"add_bos_token":false,
  "bos_token":"<s>","eos_token":"</s>","unk_token":"<unk>","added_tokens_decoder":{
  "0":{"content":"<unk>","lstrip":false,"normalized":false,"rstrip":false,"single_word":false,"special":true},
  "1":{"content":"<s>","lstrip":false,"normalized":false,"rstrip":false,"single_word":false,"special":true},
  "2":{"content":"</s>","lstrip":false,"normalized":false,"rstrip":false,"single_word":false,"special":true},
  "700":{"content":"<|im_end|>","lstrip":false,"normalized":false,"rstrip":false,"single_word":false,"special":true},
  "701":{"content":"<new>","lstrip":false,"normalized":false,"rstrip":false,"single_word":false,"special":false}}})";

std::string edited(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

TEST(SpmSource, GivesTheIdsOfLlamaTokenizer) {
  SpmFolder folder;
  folder.put_trained("spm_bpe", "tokenizer.model");
  const auto tokenizer = folder.load(kLlama);
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("ab cd").value(), (Ids{261, 602, 273, 595}));
  EXPECT_EQ(tokenizer->encode("x<|im_end|> y").value(), (Ids{538, 700, 259, 605}));
  EXPECT_EQ(tokenizer->encode("<s>a</s> b").value(), (Ids{1, 261, 2, 259, 602}));
  EXPECT_EQ(tokenizer->encode("a<new>b").value(), (Ids{261, 701, 288}));
  EXPECT_TRUE(tokenizer->is_special(700));
  EXPECT_FALSE(tokenizer->is_special(701));

  const auto first = folder.load(edited(kLlama, R"("legacy":true)", R"("legacy":false)"));
  EXPECT_EQ(first->encode("<s>a</s> b").value(), (Ids{1, 586, 2, 288}));
  EXPECT_EQ(first->encode("a<new>b").value(), (Ids{261, 701, 602}));
  EXPECT_EQ(first->encode("x<|im_end|> y").value(), (Ids{538, 700, 430}));
}

TEST(SpmSource, FramesTextsAsTheClassAndTheFlagsSay) {
  SpmFolder folder;
  folder.put_trained("spm_bpe", "tokenizer.model");
  const Ids plain = {261, 602};
  const auto ids = [&](std::string_view config) { return folder.load(config)->encode("ab").value(); };
  EXPECT_EQ(ids(R"({"tokenizer_class":"LlamaTokenizerFast"})"), (Ids{1, 261, 602}));
  EXPECT_EQ(ids(R"({"tokenizer_class":"LlamaTokenizer","add_bos_token":false})"), plain);
  EXPECT_EQ(ids(R"({"tokenizer_class":"GemmaTokenizer","add_eos_token":true})"), (Ids{1, 261, 602, 2}));
  EXPECT_EQ(ids(R"({"tokenizer_class":"LlamaTokenizer","bos_token":"</s>"})"), (Ids{2, 261, 602}));
  EXPECT_EQ(ids(R"({"tokenizer_class":"T5Tokenizer","add_eos_token":false})"), (Ids{261, 602, 2}));
  EXPECT_EQ(ids(R"({"tokenizer_class":"LlamaTokenizer","add_bos_token":false,"add_prefix_space":false})"),
            (Ids{586, 602}));
  EXPECT_EQ(ids(""), (Ids{1, 261, 602}));
  EXPECT_THAT((*folder.read(""))->notes, ElementsAre(HasSubstr("read as LlamaTokenizer"),
                                                     HasSubstr("tokenizer.model (SentencePiece, bpe, 700")));
}

TEST(SpmSource, NumbersSentinelsDownwards) {
  SpmFolder folder;
  folder.put_trained("unigram_t5", "spiece.model");
  const auto tokenizer = folder.load(
      R"({"eos_token":"</s>","pad_token":"<pad>","unk_token":"<unk>","extra_ids":4,"tokenizer_class":"T5Tokenizer"})");
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("hello world").value(), (Ids{3, 570, 1147, 86, 2281, 1}));
  EXPECT_EQ(tokenizer->encode("a <extra_id_0> b <extra_id_3>").value(), (Ids{11, 2503, 238, 2500, 1}));
  EXPECT_EQ(tokenizer->id_limit(), 2504u);
  EXPECT_EQ(folder.load(R"({"tokenizer_class":"T5Tokenizer"})")->id_limit(), 2600u);
}

TEST(SpmSource, TakesTokensFromTheOlderFiles) {
  SpmFolder folder;
  folder.put_trained("spm_bpe", "tokenizer.model")
      .put("added_tokens.json", R"({"<one>":701,"<pad>":700})")
      .put("special_tokens_map.json", R"({"pad_token":"<pad>","eos_token":{"content":"<one>"}})");
  const auto tokenizer = folder.load(R"({"tokenizer_class":"LlamaTokenizer","add_eos_token":true})");
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("ab<pad>").value(), (Ids{1, 261, 602, 700, 701}));
  EXPECT_TRUE(tokenizer->is_special(700));
}

TEST(SpmSource, TakesFurtherTokensFromOneListAsTransformersDoes) {
  const Ids none = {261, 602, 647, 599, 640, 593, 595, 647, 593, 640, 584, 600, 647, 598, 640};
  const Ids config = {261, 602, 647, 599, 640, 593, 595, 700, 287, 600, 647, 598, 640};
  const Ids map = {261, 602, 700, 273, 595, 647, 593, 640, 584, 600, 647, 598, 640};
  const Ids both = {261, 602, 701, 273, 595, 700, 287, 600, 647, 598, 640};
  struct Case {
    const char *config, *map;
    const Ids& wanted;
  };
  const Case cases[] = {
      {"", R"("additional_special_tokens":["<m>"])", none},
      {R"("additional_special_tokens":["<c>"])", "", config},
      {R"("additional_special_tokens":["<c>"])", R"("additional_special_tokens":["<m>"])", config},
      {R"("additional_special_tokens":[])", R"("additional_special_tokens":["<m>"])", none},
      {R"("extra_special_tokens":["<c>"])", R"("additional_special_tokens":["<m>"])", config},
      {R"("additional_special_tokens":["<c>"])", R"("extra_special_tokens":["<m>"])", both},
      {R"("extra_special_tokens":["<c>"])", R"("extra_special_tokens":["<m>"])", both},
      {"", R"("extra_special_tokens":["<m>"])", map},
      {"", R"("extra_special_tokens":{"im_token":"<m>"})", map},
      {R"("extra_special_tokens":{"im_token":"<m>"},"additional_special_tokens":["<c>"])", "", map},
  };
  for (const Case& one : cases) {
    SpmFolder folder;
    folder.put_trained("spm_bpe", "tokenizer.model")
        .put("special_tokens_map.json", fmt::format("{{{}}}", one.map));
    const auto tokenizer =
        folder.load(fmt::format(R"({{"tokenizer_class":"LlamaTokenizer","add_bos_token":false{}{}}})",
                                *one.config == 0 ? "" : ",", one.config));
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(tokenizer->encode("ab<m>cd<c>ef<p>").value(), one.wanted) << one.config << " | " << one.map;
  }
}

TEST(SpmSource, PutsNoTokenThatIsSaidNotToBe) {
  SpmFolder folder;
  folder.put_trained("spm_bpe", "tokenizer.model");
  const Ids plain = {261, 602};
  for (const char* flag : {R"("add_bos_token":true,)", ""}) {
    const std::string config =
        fmt::format(R"({{"tokenizer_class":"LlamaTokenizer",{}"bos_token":null}})", flag);
    EXPECT_EQ(folder.load(config)->encode("ab").value(), plain) << flag;
    EXPECT_THAT((*folder.read(config))->notes, ElementsAre("bos_token is null: no token is put before a text",
                                                           HasSubstr("tokenizer.model")));
  }
  EXPECT_EQ(folder
                .load(R"({"tokenizer_class":"LlamaTokenizer","add_bos_token":false,"add_eos_token":true,)"
                      R"("eos_token":null})")
                ->encode("ab")
                .value(),
            plain);
  // As if the flags were not there.
  EXPECT_EQ(folder.load(R"({"tokenizer_class":"LlamaTokenizer","add_bos_token":null,"add_eos_token":null})")
                ->encode("ab")
                .value(),
            (Ids{1, 261, 602}));
}

TEST(SpmSource, NotesFlagsThatT5DoesNotRead) {
  SpmFolder folder;
  folder.put_trained("unigram_t5", "spiece.model");
  const std::string_view named =
      R"({"tokenizer_class":"T5Tokenizer","add_bos_token":true,"add_eos_token":false})";
  EXPECT_EQ(folder.load(named)->encode("ab").value(), (Ids{11, 136, 1}));
  EXPECT_THAT((*folder.read(named))->notes,
              ElementsAre("add_bos_token = true has no effect with T5Tokenizer",
                          "add_eos_token = false has no effect with T5Tokenizer", HasSubstr("spiece.model")));
  for (const char* config :
       {R"({"model_type":"t5"})", R"({"model_type":"x","tokenizer_class":"T5TokenizerFast"})"}) {
    const auto tokenizer = folder.load(R"({"add_bos_token":true})", config);
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(tokenizer->encode("ab").value(), (Ids{11, 136, 1})) << config;
  }
}

TEST(SpmSource, RefusesWhatItCannotDoByName) {
  SpmFolder folder;
  folder.put_trained("spm_bpe", "tokenizer.model");
  for (const char* name :
       {"XLMRobertaTokenizer", "CamembertTokenizerFast", "AlbertTokenizer", "MBartTokenizer"}) {
    const Error error = folder.refusal(fmt::format(R"({{"tokenizer_class":"{}"}})", name));
    EXPECT_EQ(error.fault, Fault::kUnsupported);
    EXPECT_EQ(error.place, "$.tokenizer_class");
    EXPECT_THAT(error.message, HasSubstr(name));
  }
  EXPECT_EQ(folder.refusal(R"({"sp_model_kwargs":{"enable_sampling":true}})").fault, Fault::kUnsupported);
  EXPECT_EQ(folder.refusal(R"({"unk_token":"<s>"})").place, "$.unk_token");
  EXPECT_EQ(folder.refusal(R"({"tokenizer_class":7})").fault, Fault::kCorrupt);
  EXPECT_EQ(folder.refusal(R"({"legacy":1})").fault, Fault::kCorrupt);
  EXPECT_EQ(folder.refusal(R"({"tokenizer_class":"T5Tokenizer","extra_ids":4000000})").fault,
            Fault::kRefused);
}

TEST(SpmSource, RefusesIdsThatContradictTheModel) {
  SpmFolder folder;
  folder.put_trained("spm_bpe", "tokenizer.model");
  for (const char* from : {"\"700\":", "\"1\":"}) {
    const Error error = folder.refusal(edited(kLlama, from, "\"705\":"));
    EXPECT_EQ(error.fault, Fault::kCorrupt) << from;
    EXPECT_EQ(error.code, "AddedTokenId") << from;
  }
}

TEST(SpmSource, PrefersTheFirstNameAndSaysSo) {
  SpmFolder folder;
  folder.put_trained("spm_bpe", "tokenizer.model").put_trained("unigram_t5", "spiece.model");
  EXPECT_THAT((*folder.read(R"({"tokenizer_class":"LlamaTokenizer"})"))->notes,
              ElementsAre("spiece.model is left aside: tokenizer.model is there, too",
                          HasSubstr("tokenizer.model (SentencePiece, bpe, 700")));
}

TEST(SpmSource, LeavesOtherFilesAlone) {
  SpmFolder folder;
  EXPECT_FALSE(folder.read().value());
  folder.put("tokenizer.model", "IQ== 0\nIg== 1\n");  // as tiktoken has it
  EXPECT_FALSE(folder.read().value());
  folder.put("spiece.model", "not one either");
  const Error error = folder.refusal("");
  EXPECT_THAT(error.message, HasSubstr("spiece.model"));
}

}  // namespace
}  // namespace amphora::package
