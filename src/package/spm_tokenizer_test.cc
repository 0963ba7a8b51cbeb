// SentencePiece models as tokenizers: ids and texts are those of the sentencepiece library
// (tests/oracle/make_sentencepiece_models.py; golden_spiece.json was made with the model beside it).
#include "package/spm_tokenizer.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "amphora/json.h"
#include "base/file.h"
#include "base/testing/test_data.h"
#include "formats/sentencepiece/testing/model_builder.h"
#include "package/spm_merges.h"
#include "text/tokenizer.h"

namespace amphora::package {
namespace {

using sentencepiece::ModelType;
using sentencepiece::PieceType;
using sentencepiece::testing::bytes_field;
using sentencepiece::testing::ModelBuilder;
using sentencepiece::testing::varint_field;

std::filesystem::path trained(std::string_view name) {
  return testing::test_data("tokenizers/trained") / name;
}

std::string read(const std::filesystem::path& path) {
  auto text = read_small_file(path, 1 << 24);
  EXPECT_TRUE(text) << path;
  return text.value_or("");
}

struct Loaded {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  bool is_standard = false;
};

Loaded load(std::string_view file) {
  const auto written = write_bare_spm_tokenizer(as_bytes(file));
  EXPECT_TRUE(written) << written.error().message;
  if (!written) return {};
  const auto tokenizer = text::Tokenizer::from_json(written->json);
  EXPECT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
  return {tokenizer.value_or(nullptr), written->is_standard};
}

std::vector<uint32_t> ids_of(const json::Value& array) {
  std::vector<uint32_t> ids;
  for (const json::Value& id : array.items()) ids.push_back(static_cast<uint32_t>(*id.as_unsigned()));
  return ids;
}

std::string streamed(const std::shared_ptr<const text::Tokenizer>& tokenizer, std::span<const uint32_t> ids) {
  text::StreamDecoder stream(tokenizer, /*skip_special=*/true);
  std::string text;
  for (const uint32_t id : ids) text += stream.push(id).value();
  return text + stream.finish().value();
}

void expect_text(const text::Tokenizer& tokenizer, const std::string& text,
                 const std::vector<uint32_t>& ids) {
  const auto found = tokenizer.encode(text, {.parse_special = false});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(*found, ids) << "text '" << text << "'";
}

void expect_decoded(const std::shared_ptr<const text::Tokenizer>& tokenizer, const std::vector<uint32_t>& ids,
                    const std::string& text) {
  EXPECT_EQ(tokenizer->decode(ids, /*skip_special=*/true).value(), text) << ::testing::PrintToString(ids);
  EXPECT_EQ(streamed(tokenizer, ids), text) << ::testing::PrintToString(ids);
}

TEST(SpmTokenizer, GivesTheIdsOfAllGoldenTexts) {
  const auto [tokenizer, is_standard] = load(read(trained("unigram_t5") / "spiece.model"));
  ASSERT_TRUE(tokenizer);
  EXPECT_FALSE(is_standard);
  const auto golden = json::parse(read(trained("unigram_t5") / "golden_spiece.json"));
  ASSERT_TRUE(golden);
  ASSERT_EQ(golden->items().size(), 77u);
  for (const json::Value& line : golden->items()) {
    expect_text(*tokenizer, line.find("text")->text(), ids_of(*line.find("ids")));
    expect_decoded(tokenizer, ids_of(*line.find("ids")), line.find("decoded")->text());
  }
}

class TrainedModel : public ::testing::TestWithParam<const char*> {};

TEST_P(TrainedModel, GivesTheLibrarysIdsAndText) {
  const auto [tokenizer, is_standard] = load(read(trained(GetParam()) / "spiece.model"));
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(is_standard, std::string_view(GetParam()) == "spm_bpe");
  const auto golden = json::parse(read(trained(GetParam()) / "golden.json"));
  ASSERT_TRUE(golden) << golden.error().message;
  ASSERT_GT(golden->find("encode")->items().size(), 80u);
  for (const json::Value& line : golden->find("encode")->items()) {
    expect_text(*tokenizer, line.items()[0].text(), ids_of(line.items()[1]));
    expect_decoded(tokenizer, ids_of(line.items()[1]), line.items()[2].text());
  }
  // Hugging Face's components show unknown pieces and bytes that are no UTF-8 in their own way.
  if (is_standard) return;
  for (const json::Value& line : golden->find("decode")->items())
    expect_decoded(tokenizer, ids_of(line.items()[0]), line.items()[1].text());
}

INSTANTIATE_TEST_SUITE_P(SpmTokenizer, TrainedModel,
                         ::testing::Values("spm_bpe", "spm_bpe_symbols", "spm_bpe_sentences",
                                           "spm_bpe_unused", "spm_unigram_suffix", "spm_unigram_bytes",
                                           "spm_unigram_ties", "spm_word", "spm_char"));

TEST(SpmTokenizer, RefusesADenormalizer) {
  ModelBuilder builder = ModelBuilder::with(ModelType::kUnigram, {{"a", -1}});
  builder.denormalizer = bytes_field(2, "map");
  const std::string file = builder.file();
  const auto written = write_bare_spm_tokenizer(as_bytes(file));
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().fault, Fault::kUnsupported);
  EXPECT_EQ(written.error().place, "denormalizer_spec");
}

// A piece that is a letter of two files' kinds, with a score that only float has: what is written is read
// back.
TEST(SpmTokenizer, KeepsScoresAndOddTexts) {
  ModelBuilder builder = ModelBuilder::with(
      ModelType::kUnigram, {{"\"\\\n", -1.1f}, {"\u0001", -1.3e-30f}, {"a", -16777217.0f}, {"\u2581", -2}});
  const auto [tokenizer, is_standard] = load(builder.file());
  ASSERT_TRUE(tokenizer);
  EXPECT_EQ(tokenizer->encode("a\"\\\n\u0001").value(), (std::vector<uint32_t>{6, 5, 3, 4}));
}

std::optional<std::vector<Merge>> merges_of(std::vector<sentencepiece::testing::PieceRecord> pieces) {
  const std::string file = ModelBuilder::with(ModelType::kBpe, std::move(pieces)).file();
  const auto model = sentencepiece::decode_model(as_bytes(file));
  EXPECT_TRUE(model) << model.error().message;
  return find_equal_merges(*model);
}

TEST(SpmMerges, AreGivenWhereAListSaysTheSame) {
  const auto merges = merges_of({{"a", -9}, {"b", -10}, {"c", -11}, {"ab", -1}, {"abc", -3}, {"bc", -2}});
  ASSERT_TRUE(merges);
  ASSERT_EQ(merges->size(), 4u);
  EXPECT_EQ((*merges)[0].left, 3u);  // a b, then b c, then ab c, then a bc
  EXPECT_EQ((*merges)[2].left, 6u);
  EXPECT_EQ((*merges)[3].right, 8u);
}

TEST(SpmMerges, AreNotGivenWhereAListCannotSayTheSame) {
  // two pieces of one score
  EXPECT_FALSE(merges_of({{"a", -9}, {"b", -10}, {"ab", -1}, {"ba", -1}}));
  // a character that is no piece
  EXPECT_FALSE(merges_of({{"a", -9}, {"ab", -1}}));
  // a piece that is longer than any list should hold
  EXPECT_FALSE(merges_of({{"a", -9}, {std::string(600, 'a'), -1}}));
}

}  // namespace
}  // namespace amphora::package
