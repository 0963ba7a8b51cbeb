// Models: what they refuse, the unknown token, and where the parts of a BPE model stand in its object.
#include <gtest/gtest.h>

#include "text/tokenizer.h"

namespace amphora::text {
namespace {

std::string with_model(std::string_view model) {
  return R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[],"normalizer":null,"pre_tokenizer":null,
    "post_processor":null,"decoder":null,"model":)" +
         std::string(model) + "}";
}

constexpr std::string_view kUnigram =
    R"({"type":"Unigram","unk_id":0,"byte_fallback":false,"vocab":[["<unk>",0],["a",-1.5],["ab",-2]]})";
constexpr std::string_view kWordPiece =
    R"({"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"##","max_input_chars_per_word":9,"vocab":{"?":0,"a":1,"##b":2}})";
constexpr std::string_view kWordLevel = R"({"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1}})";

struct ModelDamage {
  const char* name;
  std::string_view model, from, to;
  Fault fault;
  std::string_view place;
};
const ModelDamage kModelDamages[] = {
    {"sampling", kUnigram, R"("unk_id":0)", R"("unk_id":0,"alpha":0.1)", Fault::kUnsupported,
     "$.model.alpha"},
    {"an unknown token outside", kUnigram, R"("unk_id":0)", R"("unk_id":3)", Fault::kCorrupt,
     "$.model.unk_id"},
    {"a negative unknown token", kUnigram, R"("unk_id":0)", R"("unk_id":-1)", Fault::kCorrupt,
     "$.model.unk_id"},
    {"a piece without score", kUnigram, R"(["a",-1.5])", R"(["a"])", Fault::kCorrupt, "$.model.vocab["},
    {"a piece with two scores", kUnigram, R"(["a",-1.5])", R"(["a",-1.5,2])", Fault::kCorrupt,
     "$.model.vocab["},
    {"a score that is text", kUnigram, "-1.5", R"("x")", Fault::kCorrupt, "$.model.vocab["},
    {"a score out of range", kUnigram, "-1.5", "-1e999", Fault::kCorrupt, "$.model.vocab["},
    {"a piece that is a number", kUnigram, R"("a")", "5", Fault::kCorrupt, "$.model.vocab["},
    {"a piece twice", kUnigram, R"("ab")", R"("a")", Fault::kCorrupt, ""},
    {"pieces by name", kUnigram, R"([["<unk>",0],["a",-1.5],["ab",-2]])", R"({"a":1})", Fault::kCorrupt,
     "$.model.vocab"},
    {"no pieces", kUnigram, R"(,"vocab":[["<unk>",0],["a",-1.5],["ab",-2]])", "", Fault::kCorrupt,
     "$.model."},
    {"a length below zero", kWordPiece, ":9", ":-9", Fault::kCorrupt, "$.model.max_input_chars_per_word"},
    {"a prefix that is a number", kWordPiece, R"("##",)", "7,", Fault::kCorrupt,
     "$.model.continuing_subword_prefix"},
    {"a field of another model", kWordPiece, R"("unk_token")", R"("unk_id":0,"unk_token")",
     Fault::kUnsupported, "$.model.unk_id"},
    {"an id twice", kWordPiece, R"("a":1)", R"("a":2)", Fault::kCorrupt, ""},
    {"no unknown token", kWordLevel, R"("unk_token":"?",)", "", Fault::kCorrupt, "$.model.unk_token"},
    {"a field unknown", kWordLevel, R"("vocab")", R"("cache":1,"vocab")", Fault::kUnsupported,
     "$.model.cache"},
};

TEST(Models, RefuseEachDamageForItsOwnReason) {
  for (const std::string_view model : {kUnigram, kWordPiece, kWordLevel})
    ASSERT_TRUE(Tokenizer::from_json(with_model(model))) << model;
  for (const ModelDamage& damage : kModelDamages) {
    std::string model(damage.model);
    const size_t at = model.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.name;
    model.replace(at, damage.from.size(), damage.to);
    const auto tokenizer = Tokenizer::from_json(with_model(model));
    ASSERT_FALSE(tokenizer) << damage.name;
    EXPECT_EQ(tokenizer.error().fault, damage.fault) << damage.name << ": " << tokenizer.error().message;
    EXPECT_TRUE(tokenizer.error().place.starts_with(damage.place))
        << damage.name << ": " << tokenizer.error().place;
  }
}

TEST(Models, RefuseEveryTruncation) {
  for (const std::string_view model : {kUnigram, kWordPiece, kWordLevel}) {
    const std::string json = with_model(model);
    for (size_t kept = 0; kept < json.size(); ++kept)
      ASSERT_FALSE(Tokenizer::from_json(std::string_view(json).substr(0, kept))) << kept;
  }
}

void expect_ids(const std::string& model, std::string_view text, const std::vector<TokenId>& wanted) {
  const auto tokenizer = Tokenizer::from_json(with_model(model));
  ASSERT_TRUE(tokenizer) << model << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->encode(text).value(), wanted) << model << text;
}

// What a merge makes is guessed from the merge before it: here "ac" is no "ab", though it looks like it.
TEST(Models, MergesMakeWhatTheirSidesSpellWhereverTheVocabularyStands) {
  const std::string vocabulary = R"("vocab":{"a":0,"b":1,"c":2,"ab":3,"ac":4,"abc":5})";
  const std::string merges = R"("merges":[["a","c"],["a","b"],["ab","c"]])";
  for (const std::string& model : {R"({"type":"BPE",)" + vocabulary + "," + merges + "}",
                                   R"({"type":"BPE",)" + merges + "," + vocabulary + "}"}) {
    expect_ids(model, "abc", {5});
    expect_ids(model, "acab", {4, 3});
    expect_ids(model, "aab", {0, 3});
    expect_ids(model, "cab", {2, 3});
  }
}

TEST(Models, APrefixCountsForMergesThatStandBeforeIt) {
  const std::string vocabulary = R"("vocab":{"a":0,"##b":1,"##c":2,"ab":3,"##bc":4,"abc":5})";
  const std::string prefix = R"("continuing_subword_prefix":"##")";
  const std::string merges = R"("merges":[["a","##b"],["ab","##c"]])";
  for (const std::string& model : {R"({"type":"BPE",)" + vocabulary + "," + merges + "," + prefix + "}",
                                   R"({"type":"BPE",)" + prefix + "," + vocabulary + "," + merges + "}"}) {
    expect_ids(model, "abc", {5});
    expect_ids(model, "ab", {3});
  }
}

// The reference fails as well, when it meets an unknown word and not before.
TEST(Models, NeedTheirUnknownTokenOnlyForUnknownText) {
  std::string unigram(kUnigram);
  unigram.replace(unigram.find(R"("unk_id":0)"), 10, R"("unk_id":null)");
  std::string word_piece(kWordPiece), word_level(kWordLevel);
  word_piece.replace(word_piece.find(R"("unk_token":"?")"), 15, R"("unk_token":"!")");
  word_level.replace(word_level.find(R"("unk_token":"?")"), 15, R"("unk_token":"!")");
  for (const std::string& model : {unigram, word_piece, word_level}) {
    const auto tokenizer = Tokenizer::from_json(with_model(model));
    ASSERT_TRUE(tokenizer) << model << tokenizer.error().message;
    EXPECT_EQ((*tokenizer)->encode("a").value(), std::vector<TokenId>{1});
    const auto ids = (*tokenizer)->encode("z");
    ASSERT_FALSE(ids) << model;
    EXPECT_EQ(ids.error().fault, Fault::kCorrupt);
  }
}

}  // namespace
}  // namespace amphora::text
