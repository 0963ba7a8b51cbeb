// Tokenizers rebuilt from GGUF metadata: the tokenizer.json that Hugging Face's converters write.
#include "package/gguf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "amphora/json.h"
#include "base/file.h"
#include "base/testing/test_data.h"
#include "formats/gguf/testing/gguf_builder.h"
#include "package/gguf_vocabulary.h"
#include "package/piece_merges.h"
#include "text/tokenizer.h"

namespace amphora::package {
namespace {

using gguf::ValueType;
using gguf::testing::GgufBuilder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int32_t kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6;

Result<GgufTokenizer> rebuild(const GgufBuilder& builder) {
  const std::string file = builder.file();
  const auto directory = gguf::decode_directory(as_bytes(file));
  EXPECT_TRUE(directory) << directory.error().message;
  return rebuild_tokenizer(*directory);
}

GgufBuilder sentence_pieces() {
  GgufBuilder builder;
  builder.add_string("tokenizer.ggml.model", "llama");
  builder.add_strings("tokenizer.ggml.tokens",
                      {"<unk>", "<s>", "</s>", "<0x41>", "▁", "a", "b", "ab", "▁a", "▁ab", "  ", "\n"});
  builder.add_f32s("tokenizer.ggml.scores", {0, 0, 0, 0, -5, -3, -4, -1, -2, -0.5, -1000, -1000});
  builder.add_i32s("tokenizer.ggml.token_type",
                   {kUnknown, kControl, kControl, kByte, kNormal, kNormal, kNormal, kNormal, kNormal, kNormal,
                    kUserDefined, kUserDefined});
  builder.add_u32("tokenizer.ggml.bos_token_id", 1).add_u32("tokenizer.ggml.eos_token_id", 2);
  builder.add_u32("tokenizer.ggml.unknown_token_id", 0);
  return builder;
}

GgufBuilder byte_level() {
  GgufBuilder builder;
  builder.add_string("tokenizer.ggml.model", "gpt2").add_string("tokenizer.ggml.pre", "qwen2");
  builder.add_strings("tokenizer.ggml.tokens",
                      {"a", "b", "Ġ", "ab", "Ġab", "\"", "<|im_end|>", "<tool>", "<|endoftext|>"});
  builder.add_i32s("tokenizer.ggml.token_type",
                   {kNormal, kNormal, kNormal, kNormal, kNormal, kUnused, kControl, kUserDefined, kControl});
  builder.add_strings("tokenizer.ggml.merges", {"a b", "Ġ ab"});
  builder.add_u32("tokenizer.ggml.eos_token_id", 6).add_u32("tokenizer.ggml.padding_token_id", 8);
  return builder;
}

TEST(GgufTokenizer, WritesSentencePieceVocabulariesAsHuggingFaceDoes) {
  const auto tokenizer = rebuild(sentence_pieces());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto written = json::parse(tokenizer->tokenizer_json);
  ASSERT_TRUE(written) << written.error().message;
  // Merges: by score; user-defined pieces have SentencePiece's 0, and their spaces are ▁ again.
  const auto expected = json::parse(R"({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id":0,"content":"<unk>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
      {"id":1,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
      {"id":2,"content":"</s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
      {"id":10,"content":"▁▁","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
      {"id":11,"content":"\n","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false}],
    "normalizer": {"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
                   {"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
    "pre_tokenizer": null,
    "post_processor": {"type":"TemplateProcessing",
      "single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
      "pair":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}},
              {"SpecialToken":{"id":"<s>","type_id":1}},{"Sequence":{"id":"B","type_id":1}}],
      "special_tokens":{"<s>":{"id":"<s>","ids":[1],"tokens":["<s>"]}}},
    "decoder": {"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
                {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
    "model": {"type":"BPE","dropout":null,"unk_token":"<unk>","continuing_subword_prefix":null,
      "end_of_word_suffix":null,"fuse_unk":true,"byte_fallback":true,"ignore_merges":false,
      "vocab":{"<unk>":0,"<s>":1,"</s>":2,"<0x41>":3,"▁":4,"a":5,"b":6,"ab":7,"▁a":8,"▁ab":9,"▁▁":10,"\n":11},
      "merges":["▁ ▁","▁a b","▁ ab","a b","▁ a"]}})");
  ASSERT_TRUE(expected) << expected.error().message;
  EXPECT_EQ(*written, *expected) << tokenizer->tokenizer_json;
  EXPECT_EQ(tokenizer->config.bos_token_id, 1u);
  EXPECT_THAT(tokenizer->config.eos_token_ids, ElementsAre(2));
}

TEST(GgufTokenizer, WritesByteLevelVocabulariesAsHuggingFaceDoes) {
  const auto tokenizer = rebuild(byte_level());
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto written = json::parse(tokenizer->tokenizer_json);
  ASSERT_TRUE(written) << written.error().message;
  const auto expected = json::parse(R"json({
    "version": "1.0", "truncation": null, "padding": null,
    "added_tokens": [
      {"id":6,"content":"<|im_end|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true},
      {"id":7,"content":"<tool>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":false},
      {"id":8,"content":"<|endoftext|>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true}],
    "normalizer": {"type":"NFC"},
    "pre_tokenizer": {"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":
      "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},
      "behavior":"Isolated","invert":false},
      {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false}]},
    "post_processor": null,
    "decoder": {"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false},
    "model": {"type":"BPE","dropout":null,"unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,
      "fuse_unk":false,"byte_fallback":false,"ignore_merges":false,
      "vocab":{"a":0,"b":1,"Ġ":2,"ab":3,"Ġab":4,"\"":5,"<|im_end|>":6,"<tool>":7,"<|endoftext|>":8},
      "merges":["a b","Ġ ab"]}})json");
  ASSERT_TRUE(expected) << expected.error().message;
  EXPECT_EQ(*written, *expected) << tokenizer->tokenizer_json;
  EXPECT_THAT(tokenizer->config.eos_token_ids, ElementsAre(6, 8));  // every token that ends a turn, eos first
  EXPECT_EQ(tokenizer->config.pad_token_id, 8u);
  EXPECT_EQ(tokenizer->config.bos_token_id, std::nullopt);
}

TEST(GgufTokenizer, CollectsEveryStopIdAndTheTemplate) {
  GgufBuilder builder = byte_level();
  builder.add_u32("tokenizer.ggml.eot_token_id", 8).add_u32("tokenizer.ggml.eom_token_id", 7);
  builder.add_u32("tokenizer.ggml.bos_token_id", 0xFFFFFFFF)
      .add_string("tokenizer.chat_template", "{{ messages }}");
  const auto tokenizer = rebuild(builder);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(tokenizer->config.eos_token_ids, ElementsAre(6, 8, 7));
  EXPECT_EQ(tokenizer->config.bos_token_id, std::nullopt);
  EXPECT_EQ(tokenizer->config.chat_template, "{{ messages }}");
}

TEST(GgufTokenizer, FollowsTheFilesFlags) {
  GgufBuilder pieces = sentence_pieces();
  pieces.add_bool("tokenizer.ggml.add_space_prefix", false).add_bool("tokenizer.ggml.add_bos_token", false);
  pieces.add_bool("tokenizer.ggml.add_eos_token", true);
  const auto tokenizer = rebuild(pieces);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto written = json::parse(tokenizer->tokenizer_json);
  EXPECT_EQ(json::dump(*written->find("normalizer")),
            R"({"type":"Replace","pattern":{"String":" "},"content":"▁"})");
  EXPECT_EQ(written->find("decoder")->find("decoders")->items().size(), 3u);  // nothing to strip
  EXPECT_EQ(json::dump(*written->find("post_processor")->find("single")),
            R"([{"Sequence":{"id":"A","type_id":0}},{"SpecialToken":{"id":"</s>","type_id":0}}])");
}

TEST(GgufTokenizer, KnowsPreTokenizersByName) {
  struct Expected {
    const char* name;
    const char* contains;
    bool ignore_merges;
  };
  for (const Expected& expected :
       {Expected{"llama-bpe", R"(\\p{N}{1,3}|)", true}, Expected{"qwen2", R"(\\p{N}|)", false},
        Expected{"smollm", R"({"Regex":"\\p{N}"})", false},
        Expected{"gpt-2", R"("pre_tokenizer":{"type":"ByteLevel")", false},
        Expected{"default", R"("use_regex":true)", false}}) {
    GgufBuilder builder = byte_level();
    builder.erase("tokenizer.ggml.pre").add_string("tokenizer.ggml.pre", expected.name);
    const auto tokenizer = rebuild(builder);
    ASSERT_TRUE(tokenizer) << expected.name;
    EXPECT_THAT(tokenizer->tokenizer_json, HasSubstr(expected.contains)) << expected.name;
    EXPECT_THAT(tokenizer->tokenizer_json,
                HasSubstr(expected.ignore_merges ? R"("ignore_merges":true)" : R"("ignore_merges":false)"))
        << expected.name;
  }
}

TEST(GgufTokenizer, LeavesOutMergesThatCanNeverApply) {
  GgufBuilder builder = byte_level();
  builder.erase("tokenizer.ggml.merges").add_strings("tokenizer.ggml.merges", {"a b", "b a", "x b"});
  const auto tokenizer = rebuild(builder);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_THAT(tokenizer->tokenizer_json, HasSubstr(R"("merges":["a b"])"));
  EXPECT_THAT(tokenizer->notes, ElementsAre(HasSubstr("2 merges")));
}

struct TokenizerDamage {
  const char* place;
  std::function<void(GgufBuilder&)> change;
  Fault fault;
  const char* message;
};

TEST(GgufTokenizer, RefusesEachDamageOfAByteLevelVocabulary) {
  const TokenizerDamage kDamages[] = {
      {"tokenizer.ggml.model",
       [](GgufBuilder& b) { b.erase("tokenizer.ggml.model").add_string("tokenizer.ggml.model", "rwkv"); },
       Fault::kUnsupported, "\"rwkv\""},
      {"tokenizer.ggml.pre",
       [](GgufBuilder& b) { b.erase("tokenizer.ggml.pre").add_string("tokenizer.ggml.pre", "novel"); },
       Fault::kUnsupported, "\"novel\""},
      {"tokenizer.ggml.pre", [](GgufBuilder& b) { b.erase("tokenizer.ggml.pre"); }, Fault::kUnsupported,
       "does not name"},
      {"tokenizer.ggml.tokens", [](GgufBuilder& b) { b.erase("tokenizer.ggml.tokens"); }, Fault::kCorrupt,
       "no metadata key"},
      {"tokenizer.ggml.tokens",
       [](GgufBuilder& b) { b.erase("tokenizer.ggml.tokens").add_i32s("tokenizer.ggml.tokens", {1}); },
       Fault::kCorrupt, "found array of int32, wanted an array of string"},
      {"tokenizer.ggml.tokens",
       [](GgufBuilder& b) {
         b.erase("tokenizer.ggml.tokens")
             .add_strings("tokenizer.ggml.tokens", {"a", "b", "c", "d", "a", "f", "g", "h", "i"});
       },
       Fault::kCorrupt, "tokens 0 and 4 are both \"a\""},
      {"tokenizer.ggml.tokens",
       [](GgufBuilder& b) {
         b.erase("tokenizer.ggml.tokens")
             .add_strings("tokenizer.ggml.tokens", {"a", "b", "\xFF", "d", "e", "f", "g", "h", "i"});
       },
       Fault::kCorrupt, "token 2 is not UTF-8"},
      {"tokenizer.ggml.token_type",
       [](GgufBuilder& b) {
         b.erase("tokenizer.ggml.token_type").add_i32s("tokenizer.ggml.token_type", {1, 1, 1});
       },
       Fault::kCorrupt, "3 elements, wanted 9"},
      {"tokenizer.ggml.token_type",
       [](GgufBuilder& b) {
         b.erase("tokenizer.ggml.token_type")
             .add_i32s("tokenizer.ggml.token_type", {1, 1, 1, 7, 1, 1, 1, 1, 1});
       },
       Fault::kCorrupt, "token 3 has the unknown type 7"},
      {"tokenizer.ggml.merges",
       [](GgufBuilder& b) { b.erase("tokenizer.ggml.merges").add_i32s("tokenizer.ggml.merges", {1}); },
       Fault::kCorrupt, "found array of int32"},
      {"tokenizer.ggml.merges", [](GgufBuilder& b) { b.erase("tokenizer.ggml.merges"); }, Fault::kCorrupt,
       "no metadata key"},
      {"tokenizer.ggml.merges",
       [](GgufBuilder& b) {
         b.erase("tokenizer.ggml.merges").add_strings("tokenizer.ggml.merges", {"a b", "ab"});
       },
       Fault::kCorrupt, "merge 1"},
      {"tokenizer.ggml.merges",
       [](GgufBuilder& b) {
         b.erase("tokenizer.ggml.merges").add_strings("tokenizer.ggml.merges", {"a b b"});
       },
       Fault::kCorrupt, "merge 0"},
      {"tokenizer.ggml.bos_token_id", [](GgufBuilder& b) { b.add_u32("tokenizer.ggml.bos_token_id", 9); },
       Fault::kCorrupt, "9 is not below"},
      {"tokenizer.ggml.add_bos_token",
       [](GgufBuilder& b) { b.add_bool("tokenizer.ggml.add_bos_token", true); }, Fault::kCorrupt,
       "no bos_token_id"},
      {"tokenizer.ggml.add_bos_token", [](GgufBuilder& b) { b.add_u32("tokenizer.ggml.add_bos_token", 1); },
       Fault::kCorrupt, "found uint32, wanted a bool"},
      {"tokenizer.chat_template", [](GgufBuilder& b) { b.add_string("tokenizer.chat_template", "\xC0\x80"); },
       Fault::kCorrupt, "not UTF-8"},
  };
  for (const TokenizerDamage& damage : kDamages) {
    GgufBuilder builder = byte_level();
    damage.change(builder);
    const auto tokenizer = rebuild(builder);
    ASSERT_FALSE(tokenizer) << damage.place << " " << damage.message;
    EXPECT_EQ(tokenizer.error().place, damage.place) << tokenizer.error().message;
    EXPECT_EQ(tokenizer.error().fault, damage.fault) << tokenizer.error().message;
    EXPECT_THAT(tokenizer.error().message, HasSubstr(damage.message));
  }
}

TEST(GgufTokenizer, RefusesScoresOfAnotherTypeOrNumber) {
  GgufBuilder bytes = sentence_pieces();
  ByteWriter payload;
  payload.write(static_cast<uint32_t>(ValueType::kUint8));
  payload.write(uint64_t{12});
  payload.write_zeros(12);
  bytes.erase("tokenizer.ggml.scores").add_raw("tokenizer.ggml.scores", ValueType::kArray, payload.bytes());
  EXPECT_THAT(rebuild(bytes).error().message, HasSubstr("found array of uint8, wanted an array of float32"));
  GgufBuilder fewer = sentence_pieces();
  fewer.erase("tokenizer.ggml.scores").add_f32s("tokenizer.ggml.scores", {1, 2});
  EXPECT_THAT(rebuild(fewer).error().message, HasSubstr("2 elements, wanted 12"));
  GgufBuilder none = sentence_pieces();
  none.erase("tokenizer.ggml.scores");
  EXPECT_THAT(rebuild(none).error().message, HasSubstr("tokenizer.ggml.scores: there are none"));
}

TEST(GgufTokenizer, RefusesByteTokensOfAnySpellingButOne) {
  EXPECT_EQ(byte_of_token("<0x41>"), 0x41);
  EXPECT_EQ(byte_of_token("<0xFF>"), 0xFF);
  for (const char* token : {"<0x-1>", "<0x+1>", "<0x 1>", "<0xZZ>", "<0x100>", "<0x4>", "<0xff>", "<0X41>"}) {
    EXPECT_EQ(byte_of_token(token), std::nullopt) << token;
    GgufBuilder builder = sentence_pieces();
    builder.erase("tokenizer.ggml.tokens");
    builder.add_strings("tokenizer.ggml.tokens",
                        {"<unk>", "<s>", "</s>", token, "▁", "a", "b", "ab", "▁a", "▁ab", "  ", "\n"});
    EXPECT_THAT(rebuild(builder).error().message, HasSubstr("token 3 is a byte")) << token;
  }
}

TEST(GgufTokenizer, RebuildsATokenizerThatOurReaderTakes) {
  // Ids of the CMF reference implementation for the same vocabulary.
  const auto mapping = MappedFile::open(amphora::testing::test_data("gguf/qwen2_q8_0.gguf"));
  ASSERT_TRUE(mapping);
  const auto directory = gguf::decode_directory((*mapping)->bytes());
  ASSERT_TRUE(directory);
  const auto rebuilt = rebuild_tokenizer(*directory);
  ASSERT_TRUE(rebuilt) << rebuilt.error().message;
  const auto tokenizer = text::Tokenizer::from_json(rebuilt->tokenizer_json);
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->encode("the thing in the ring"),
            (std::vector<uint32_t>{98, 95, 97, 102, 95, 101, 100, 95, 82, 102}));
  EXPECT_EQ((*tokenizer)->encode("<|im_start|>the<|im_end|>the"), (std::vector<uint32_t>{124, 98, 125, 98}));
}

}  // namespace
}  // namespace amphora::package
