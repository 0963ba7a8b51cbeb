// Text made to exhaust a tokenizer (D5): every call runs on a small stack. That time grows no faster than the
// text is measured by bench/tokenizer_linear.py, for a busy machine would say otherwise now and then.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/testing/test_data.h"
#include "text/tokenizer.h"
#include "text/tokenizer/merge.h"

namespace amphora::text {
namespace {

std::string repeat(std::string_view unit, size_t count) {
  std::string text;
  text.reserve(unit.size() * count);
  for (size_t i = 0; i < count; ++i) text += unit;
  return text;
}

std::shared_ptr<const Tokenizer> load_tokenizer(std::string_view name) {
  std::ifstream in(testing::test_data(name), std::ios::binary);
  std::stringstream json;
  json << in.rdbuf();
  return Tokenizer::from_json(json.str()).value();
}

// SentencePiece's way: no pre-tokenizer, so that a whole text is one word.
std::shared_ptr<const Tokenizer> one_word_tokenizer() {
  std::string vocab =
      R"("<unk>":0,"\u2581":1,"A":2,"AA":3,"AAAA":4,"u":5,"s":6,"us":7,".":8,"..":9,"\u2581\u2581":10)";
  return Tokenizer::from_json(
             R"({"version":"1.0","added_tokens":[],"normalizer":{"type":"Replace","pattern":{"String":" "},
      "content":"\u2581"},"pre_tokenizer":null,"post_processor":null,"decoder":null,"model":{"type":"BPE","unk_token":"<unk>",
      "fuse_unk":false,"vocab":{)" +
             vocab + R"(},"merges":["A A","AA AA","u s",". .","\u2581 \u2581"]}})")
      .value();
}

// Ties, runs of unknown characters that fuse, and pieces that share long beginnings.
std::shared_ptr<const Tokenizer> unigram_tokenizer() {
  return Tokenizer::from_json(
             R"({"version":"1.0","added_tokens":[],"normalizer":null,"pre_tokenizer":{"type":"Metaspace","replacement":"\u2581",
      "prepend_scheme":"always","split":false},"post_processor":null,"decoder":null,"model":{"type":"Unigram","unk_id":0,
      "byte_fallback":false,"vocab":[["<unk>",0],["\u2581",-2],["A",-3],["AA",-6],["AAAAAAAAAAAAAAAA",-48.5],["us",-4],
      ["u",-3.5],["s",-3.5],[".",-5],["..",-10],["\u2581\u2581",-4]]}})")
      .value();
}

// One word of any length: nothing limits it.
std::shared_ptr<const Tokenizer> word_piece_tokenizer() {
  return Tokenizer::from_json(
             R"({"version":"1.0","added_tokens":[],"normalizer":{"type":"BertNormalizer","clean_text":false,
      "handle_chinese_chars":true,"strip_accents":false,"lowercase":true},"pre_tokenizer":null,"post_processor":null,"decoder":null,
      "model":{"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"##","max_input_chars_per_word":1000000000,
      "vocab":{"?":0,"a":1,"##a":2,"##aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab":3,"u":4,"##us":5,"##s":6,".":7,"##.":8," ":9,"## ":10}}})")
      .value();
}

struct Run {
  const Tokenizer* tokenizer;
  const std::string* text;
  size_t ids = 0;
};

// On a thread of its own with 256 KiB of stack. Gives the number of ids.
size_t encode_on_small_stack(const Tokenizer& tokenizer, const std::string& text) {
  Run run{&tokenizer, &text};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT_EQ(pthread_attr_setstacksize(&attributes, 256 << 10), 0);
  pthread_t thread;
  EXPECT_EQ(pthread_create(
                &thread, &attributes,
                [](void* argument) -> void* {
                  auto& job = *static_cast<Run*>(argument);
                  const auto ids = job.tokenizer->encode(*job.text);
                  EXPECT_TRUE(ids) << ids.error().message.substr(0, 300);
                  job.ids = ids ? ids->size() : 0;
                  return nullptr;
                },
                &run),
            0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return run.ids;
}

struct HostileText {
  const char* name;
  std::string_view unit;
  size_t count;
};
const HostileText kHostile[] = {
    {"1 MB of A", "A", 1 << 20},
    {"128 KiB of Z", "Z", 128 << 10},
    {"us", "us", 10'000},
    {"spaces", " ", 100'000},
    {"dots", ".", 100'000},
    {"CJK", "\u4e00", 100'000},
    {"line ends", "\n", 100'000},
    {"marks out of order", "\u0301\u0323", 50'000},
    {"ill-formed", "\xFF", 100'000},
    {"long gaps", "                                 x", 3'000},
    {"begun special tokens", "<s<|end", 20'000},
};

TEST(HostileText, TakesLittleStack) {
  for (const auto& tokenizer :
       {load_tokenizer("hf/tiny/llama/tokenizer.json"), load_tokenizer("base-model/tokenizer.json"),
        one_word_tokenizer(), unigram_tokenizer(), word_piece_tokenizer(),
        load_tokenizer("tokenizers/trained/unigram_t5/tokenizer.json")})
    for (const HostileText& hostile : kHostile)
      EXPECT_GT(encode_on_small_stack(*tokenizer, repeat(hostile.unit, hostile.count)), 0u) << hostile.name;
}

TEST(HostileText, OneLongWordIsMergedAsTheRulesSay) {
  const auto tokenizer = one_word_tokenizer();
  std::vector<TokenId> wanted((1 << 18), 4);  // AAAA each
  wanted.push_back(3);
  wanted.push_back(2);
  EXPECT_EQ(tokenizer->encode(repeat("A", (1 << 20) + 3)).value(), wanted);
}

// The two ways to merge must agree; ranks are drawn so that a later merge often goes first.
TEST(Merge, LongWordsAreMergedAsShortOnes) {
  uint64_t state = 12345;
  const auto draw = [&](uint64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % below;
  };
  // Piece n is n times the same letter: the same piece comes about in many ways, and its pairs with itself
  // overlap.
  constexpr TokenId kLongest = 12;
  for (int round = 0; round < 5000; ++round) {
    std::vector<uint32_t> ranks(kLongest * kLongest);
    for (uint32_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
    for (size_t i = ranks.size(); i-- > 1;) std::swap(ranks[i], ranks[draw(i + 1)]);
    MergeTable merges;
    for (TokenId left = 1; left < kLongest; ++left)
      for (TokenId right = 1; left + right <= kLongest; ++right)
        if (draw(4) != 0) merges.set(left, right, {ranks[left * kLongest + right], left + right});
    std::vector<TokenId> symbols(kShortWord - draw(20));
    for (TokenId& symbol : symbols) symbol = static_cast<TokenId>(1 + draw(3));
    std::vector<TokenId> as_short = symbols, as_long = symbols;
    merge_short_word(merges, as_short);
    LongWordMerger().merge(merges, as_long);
    ASSERT_EQ(as_short, as_long) << "round " << round;
  }
}

}  // namespace
}  // namespace amphora::text
