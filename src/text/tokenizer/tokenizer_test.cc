// The tokenizer as its callers see it: streams, special tokens in text, ill-formed text, and files that are
// refused.
#include "text/tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "base/testing/test_data.h"

namespace amphora::text {
namespace {

using ::testing::HasSubstr;

std::string tiny_llama_json() {
  std::ifstream in(testing::test_data("hf/tiny/llama/tokenizer.json"), std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// Small enough for a damage table: bytes as a fallback, a mark for spaces, two special tokens and one that is
// not.
std::string small_json() {
  std::string vocab = R"("<unk>":0,"<s>":1,"</s>":2)";
  for (int byte = 0; byte < 256; ++byte) {
    char entry[24];
    std::snprintf(entry, sizeof entry, ",\"<0x%02X>\":%d", static_cast<unsigned>(byte), byte + 3);
    vocab += entry;
  }
  vocab += R"(,"a":259,"b":260,"ab":261,"\u2581":262)";
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[
    {"id":1,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
    {"id":2,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
    {"id":263,"content":"<tool>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}],
    "normalizer":{"type":"Replace","pattern":{"String":" "},"content":"\u2581"},
    "pre_tokenizer":null,
    "post_processor":{"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
      "pair":[],"special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},
    "decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"\u2581"},"content":" "},{"type":"ByteFallback"},{"type":"Fuse"}]},
    "model":{"type":"BPE","dropout":null,"unk_token":"<unk>","fuse_unk":true,"byte_fallback":true,"vocab":{)" +
         vocab + R"(},"merges":["a b"]}})";
}

std::shared_ptr<const Tokenizer> load_json(std::string_view json) {
  auto tokenizer = Tokenizer::from_json(json);
  EXPECT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
  return tokenizer ? *tokenizer : nullptr;
}

std::vector<TokenId> byte_ids(std::string_view bytes) {
  std::vector<TokenId> ids;
  for (const char byte : bytes) ids.push_back(TokenId{3} + static_cast<uint8_t>(byte));
  return ids;
}

TEST(Tokenizer, KnowsItsTokens) {
  const auto tokenizer = load_json(small_json());
  EXPECT_EQ(tokenizer->id_limit(), 264u);
  EXPECT_EQ(*tokenizer->find_piece(261), "ab");
  EXPECT_EQ(*tokenizer->find_piece(263), "<tool>");
  EXPECT_EQ(tokenizer->find_piece(264), nullptr);
  EXPECT_EQ(tokenizer->find_id("ab"), 261u);
  EXPECT_EQ(tokenizer->find_id("<tool>"), 263u);
  EXPECT_EQ(tokenizer->find_id("abc"), std::nullopt);
  EXPECT_TRUE(tokenizer->is_special(1));
  EXPECT_FALSE(tokenizer->is_special(263));
  EXPECT_FALSE(tokenizer->is_special(9999));
}

TEST(Tokenizer, TakesSpecialTokensInTextAsTextOnRequest) {
  const auto tokenizer = load_json(small_json());
  EXPECT_EQ(tokenizer->encode("ab</s><tool>").value(), (std::vector<TokenId>{1, 261, 2, 263}));
  std::vector<TokenId> wanted = {261};
  for (const TokenId id : byte_ids("</s>")) wanted.push_back(id);
  wanted.push_back(263);  // added, but not special: found all the same
  EXPECT_EQ(tokenizer->encode("ab</s><tool>", {.add_special = false, .parse_special = false}).value(),
            wanted);
}

TEST(Tokenizer, ReplacesIllFormedTextAsPythonDoes) {
  const auto tokenizer = load_json(small_json());
  EXPECT_EQ(tokenizer->encode("a\xFFz", {.add_special = false}).value(),
            tokenizer->encode("a\uFFFDz", {.add_special = false}).value());
  EXPECT_EQ(tokenizer->encode("\xE4\xBD", {.add_special = false}).value(), byte_ids("\uFFFD"));
}

TEST(Tokenizer, SaysThatMemoryRanOut) {
  // With its padding this length exceeds the address space: the allocation fails before anything is read.
  const std::string json = small_json();
  const auto tokenizer =
      Tokenizer::from_json(std::string_view(json.data(), std::numeric_limits<size_t>::max()));
  ASSERT_FALSE(tokenizer);
  EXPECT_EQ(tokenizer.error().fault, Fault::kIo);
  EXPECT_THAT(tokenizer.error().message, HasSubstr("out of memory"));
}

TEST(Tokenizer, RefusesAnIdThatItDoesNotHave) {
  const auto tokenizer = load_json(small_json());
  const auto text = tokenizer->decode(std::vector<TokenId>{259, 264});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().fault, Fault::kUsage);
  StreamDecoder stream(tokenizer, false);
  EXPECT_FALSE(stream.push(4'000'000'000u));
}

std::vector<std::string> stream(const std::shared_ptr<const Tokenizer>& tokenizer,
                                std::span<const TokenId> ids, bool skip_special = false) {
  StreamDecoder decoder(tokenizer, skip_special);
  std::vector<std::string> parts;
  for (const TokenId id : ids) parts.push_back(decoder.push(id).value());
  parts.push_back(decoder.finish().value());
  return parts;
}

// D7.
TEST(StreamDecoder, NeverSplitsACharacter) {
  const std::string text = "\U0001F469\u200d\U0001F469\u200d\U0001F467\u200d\U0001F466 \u4f60\u597d \u00e9";
  for (const std::string& json : {small_json(), tiny_llama_json()}) {
    const auto tokenizer = load_json(json);
    const auto ids = tokenizer->encode(text, {.add_special = false}).value();
    ASSERT_GT(ids.size(), 20u);
    std::string all;
    for (const std::string& part : stream(tokenizer, ids)) {
      EXPECT_EQ(part.find("\uFFFD"), std::string::npos);
      EXPECT_TRUE(part.empty() || (static_cast<uint8_t>(part[0]) & 0xC0) != 0x80)
          << "begins inside a character";
      all += part;
    }
    EXPECT_EQ(all, text);
  }
}

TEST(StreamDecoder, GivesTextAsSoonAsItIsCertain) {
  const auto byte_level = load_json(tiny_llama_json());
  const auto ids = byte_level->encode("a\u00e9", {.add_special = false}).value();
  ASSERT_EQ(ids.size(), 3u);  // one byte a token
  EXPECT_EQ(stream(byte_level, ids), (std::vector<std::string>{"a", "", "\u00e9", ""}));
  // A run of byte tokens is text or not as a whole: certain once something else follows.
  const auto fallback = load_json(small_json());
  EXPECT_EQ(stream(fallback, std::vector<TokenId>{259, 3 + 0xC3, 3 + 0xA9, 262, 260}),
            (std::vector<std::string>{"a", "", "", "\u00e9 ", "b", ""}));
}

// D7.
TEST(StreamDecoder, GivesOneReplacementForOneStrayByte) {
  const auto byte_level = load_json(tiny_llama_json());
  const auto stray = byte_level->find_id("\u00ff");  // the byte FF in the byte alphabet
  ASSERT_TRUE(stray);
  EXPECT_EQ(byte_level->decode(std::vector<TokenId>{*stray}).value(), "\uFFFD");
  EXPECT_EQ(stream(byte_level, std::vector<TokenId>{*stray}), (std::vector<std::string>{"\uFFFD", ""}));
  const auto fallback = load_json(small_json());
  EXPECT_EQ(fallback->decode(std::vector<TokenId>{3 + 0xFF}).value(), "\uFFFD");
  EXPECT_EQ(stream(fallback, std::vector<TokenId>{3 + 0xFF, 259}),
            (std::vector<std::string>{"", "\uFFFDa", ""}));
}

TEST(StreamDecoder, EndsAnUnfinishedCharacterWithAReplacement) {
  const auto fallback = load_json(small_json());
  EXPECT_EQ(stream(fallback, byte_ids("\xF0\x9F")), (std::vector<std::string>{"", "", "\uFFFD\uFFFD"}));
  const auto byte_level = load_json(tiny_llama_json());
  const auto ids = byte_level->encode("\U0001F600", {.add_special = false}).value();
  EXPECT_EQ(stream(byte_level, std::span(ids).first(2)).back(), "\uFFFD");
}

TEST(Tokenizer, ServesSeveralThreads) {
  const auto tokenizer = load_json(tiny_llama_json());
  const std::string text = "The quick brown fox, don't you know? \u4f60\u597d 12345";
  const auto wanted = tokenizer->encode(text).value();
  std::vector<std::vector<TokenId>> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& ids : found) threads.emplace_back([&] { ids = tokenizer->encode(text).value(); });
  }
  for (const auto& ids : found) EXPECT_EQ(ids, wanted);
}

struct TokenizerDamage {
  const char* name;
  std::string_view from, to;  // a replacement in small_json()
  Fault fault;
  std::string_view place, message;  // parts of them
};
const TokenizerDamage kTokenizerDamages[] = {
    {"unknown normalizer", R"("type":"Replace","pattern":{"String":" "},"content":"\u2581"})",
     R"("type":"Rot13"})", Fault::kUnsupported, "$.normalizer", "normalizer 'Rot13' is not supported"},
    {"unknown pre-tokenizer", R"("pre_tokenizer":null)", R"("pre_tokenizer":{"type":"MorseSplit"})",
     Fault::kUnsupported, "$.pre_tokenizer", "pre-tokenizer 'MorseSplit' is not supported"},
    {"unknown pre-tokenizer in a sequence", R"("pre_tokenizer":null)",
     R"("pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"X"}]})",
     Fault::kUnsupported, "$.pre_tokenizer.pretokenizers[1]", "pre-tokenizer 'X' is not supported"},
    {"unknown post-processor", R"("TemplateProcessing")", R"("Roberta")", Fault::kUnsupported,
     "$.post_processor", "post-processor 'Roberta' is not supported"},
    {"unknown decoder", R"({"type":"Fuse"})", R"({"type":"Rot13"})", Fault::kUnsupported,
     "$.decoder.decoders[2]", "decoder 'Rot13' is not supported"},
    {"unknown model", R"("type":"BPE")", R"("type":"Bigram")", Fault::kUnsupported, "$.model",
     "model 'Bigram' is not supported"},
    {"unknown field of a component", R"({"type":"Fuse"})", R"({"type":"Fuse","how":1})", Fault::kUnsupported,
     "$.decoder.decoders[2].how", "decoder 'Fuse': field 'how' is not supported"},
    {"unknown field of the model", R"("fuse_unk":true)", R"("fuse_unk":true,"temperature":2)",
     Fault::kUnsupported, "$.model.temperature", "field 'temperature' is not supported"},
    {"unknown section", R"("padding":null)", R"("padding":null,"oracle":1)", Fault::kUnsupported, "$.oracle",
     "section 'oracle' is not supported"},
    {"unknown flag of an added token", R"("single_word":false)", R"("single_word":false,"bold":true)",
     Fault::kUnsupported, "$.added_tokens[0]", "field 'bold'"},
    {"another version", R"("1.0")", R"("2.0")", Fault::kUnsupported, "$.version", "version"},
    {"dropout", R"("dropout":null)", R"("dropout":0.1)", Fault::kUnsupported, "$.model.dropout", "dropout"},
    {"a regular expression that cannot be translated", R"({"String":" "})", R"({"Regex":"\\bx"})",
     Fault::kUnsupported, "", "\\bx"},
    {"an added token with an id of its own", R"("id":263)", R"("id":300)", Fault::kUnsupported,
     "$.added_tokens[2]", "says id 300"},
    {"a pattern of no kind", R"({"String":" "})", R"({"Glob":" "})", Fault::kCorrupt, "$.normalizer.pattern",
     "'pattern'"},
    {"a component without type", R"({"type":"Fuse"})", R"({"kind":"Fuse"})", Fault::kCorrupt,
     "$.decoder.decoders[2].type", "'type'"},
    {"a component that is a list", R"({"type":"Fuse"})", R"([])", Fault::kCorrupt, "$.decoder.decoders[2]",
     "array"},
    {"an added token without a flag", R"("lstrip":false,)", "", Fault::kCorrupt, "$.added_tokens[0]",
     "'lstrip' is missing"},
    {"an added token twice", R"("content":"</s>")", R"("content":"<s>")", Fault::kCorrupt,
     "$.added_tokens[1]", "comes twice"},
    {"a piece twice", R"("b":260)", R"("a":260)", Fault::kCorrupt, "", "'a' is in the vocabulary twice"},
    {"an id twice", R"("b":260)", R"("b":259)", Fault::kCorrupt, "", "id 259"},
    {"an id far away", R"("b":260)", R"("b":4000000000)", Fault::kCorrupt, "", "far beyond"},
    {"a negative id", R"("b":260)", R"("b":-1)", Fault::kCorrupt, "$.model.vocab", "'b'"},
    {"an id with a fraction", R"("b":260)", R"("b":260.5)", Fault::kCorrupt, "$.model.vocab", "'b'"},
    {"a merge of what is no piece", R"("a b")", R"("a q")", Fault::kCorrupt, "$.model.merges", "'a' + 'q'"},
    {"a merge into what is no piece", R"("a b")", R"("b a")", Fault::kCorrupt, "$.model.merges", "'b' + 'a'"},
    {"a merge of three", R"("a b")", R"("a b b")", Fault::kCorrupt, "$.model.merges", "not a pair"},
    {"a merge pair of three", R"(["a b"])", R"([["a","b","b"]])", Fault::kCorrupt, "$.model.merges",
     "more than two"},
    {"a merge that is a number", R"(["a b"])", R"([5])", Fault::kCorrupt, "$.model.merges", ""},
    {"no merges", R"(,"merges":["a b"])", "", Fault::kCorrupt, "$.model.merges", "no merges"},
    {"the vocabulary twice", R"("merges":)", R"("vocab":{},"merges":)", Fault::kCorrupt, "$.model.vocab",
     "comes twice"},
    {"a section twice", R"("padding":null)", R"("decoder":null)", Fault::kCorrupt, "$.decoder",
     "comes twice"},
    {"a field twice", R"({"type":"Fuse"})", R"({"type":"Fuse","type":"Fuse"})", Fault::kCorrupt,
     "$.decoder.decoders[2]", "duplicate key"},
    {"a template of an unknown token", R"("ids":[1])", R"("idz":[1])", Fault::kCorrupt,
     "$.post_processor.special_tokens", "'<s>'"},
    {"something behind the end", R"("merges":["a b"]}})", R"("merges":["a b"]}} x)", Fault::kCorrupt, "$",
     ""},
};

TEST(Tokenizer, RefusesEachDamageForItsOwnReason) {
  ASSERT_NE(load_json(small_json()), nullptr);
  for (const TokenizerDamage& damage : kTokenizerDamages) {
    std::string json = small_json();
    const size_t at = json.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.name;
    json.replace(at, damage.from.size(), damage.to);
    const auto tokenizer = Tokenizer::from_json(json);
    ASSERT_FALSE(tokenizer) << damage.name;
    const Error& error = tokenizer.error();
    EXPECT_EQ(error.fault, damage.fault) << damage.name << ": " << error.message;
    EXPECT_TRUE(error.place.starts_with(damage.place)) << damage.name << ": " << error.place;
    EXPECT_NE(error.message.find(damage.message), std::string::npos) << damage.name << ": " << error.message;
  }
}

TEST(Tokenizer, RefusesEveryTruncation) {
  const std::string json = small_json();
  for (size_t kept = 0; kept < json.size(); ++kept)
    ASSERT_FALSE(Tokenizer::from_json(std::string_view(json).substr(0, kept))) << kept;
}

TEST(Tokenizer, RefusesComponentsNestedWithoutEnd) {
  std::string deep = R"({"type":"Fuse"})";
  for (int i = 0; i < 20; ++i) deep = R"({"type":"Sequence","decoders":[)" + deep + "]}";
  std::string json = small_json();
  json.replace(json.find(R"({"type":"Fuse"})"), std::string_view(R"({"type":"Fuse"})").size(), deep);
  EXPECT_FALSE(Tokenizer::from_json(json));
}

TEST(Tokenizer, ReadsMergesBeforeTheVocabulary) {
  std::string json = small_json();
  const std::string_view merges = R"(,"merges":["a b"])";
  json.erase(json.find(merges), merges.size());
  json.insert(json.find(R"("dropout")"), R"("merges":["a b"],)");
  EXPECT_EQ(load_json(json)->encode("ab", {.add_special = false}).value(), std::vector<TokenId>{261});
}

}  // namespace
}  // namespace amphora::text
