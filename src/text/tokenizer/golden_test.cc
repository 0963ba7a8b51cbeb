// The tokenizer against what Hugging Face `tokenizers` computed: tests/oracle/make_tokenizer_cases.py.
#include <gtest/gtest.h>

#include "amphora/json.h"
#include "base/testing/fetched.h"
#include "base/testing/test_data.h"
#include "text/testing/json_lines.h"
#include "text/tokenizer.h"
#include "text/tokenizer/testing/component_tokenizers.h"

namespace amphora::text {
namespace {

using testing::ids_of;
using testing::read_lines;
using testing::read_text;

std::string streamed(const std::shared_ptr<const Tokenizer>& tokenizer, std::span<const TokenId> ids,
                     bool skip_special) {
  StreamDecoder stream(tokenizer, skip_special);
  std::string text;
  for (const TokenId id : ids) text += stream.push(id).value();
  return text + stream.finish().value();
}

void expect_decoded(const std::shared_ptr<const Tokenizer>& tokenizer, const std::vector<TokenId>& ids,
                    const std::string& text, bool skip_special) {
  const auto decoded = tokenizer->decode(ids, skip_special);
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(*decoded, text) << ::testing::PrintToString(ids);
  EXPECT_EQ(streamed(tokenizer, ids, skip_special), text) << ::testing::PrintToString(ids);
}

void expect_encoded(const Tokenizer& tokenizer, const std::string& text, const EncodeOptions& options,
                    const json::Value& wanted) {
  const auto ids = tokenizer.encode(text, options);
  ASSERT_TRUE(ids) << ids.error().message;
  EXPECT_EQ(*ids, ids_of(wanted)) << "text '" << text << "' add_special " << options.add_special
                                  << " parse_special " << options.parse_special;
}

// The cases "encode", "pairs" and "decode" of one object.
void expect_cases(const std::shared_ptr<const Tokenizer>& tokenizer, const json::Value& cases) {
  ASSERT_FALSE(cases.find("encode")->items().empty());
  for (const json::Value& line : cases.find("encode")->items()) {
    const auto& fields = line.items();
    expect_encoded(*tokenizer, fields[0].text(), {}, fields[1]);
    expect_encoded(*tokenizer, fields[0].text(), {.add_special = false}, fields[2]);
    expect_encoded(*tokenizer, fields[0].text(), {.parse_special = false}, fields[3]);
  }
  ASSERT_EQ(cases.find("pairs")->items().size(), 2u);
  for (const json::Value& line : cases.find("pairs")->items()) {
    const auto& fields = line.items();
    for (const bool add_special : {true, false}) {
      const auto pair =
          tokenizer->encode_pair(fields[0].text(), fields[1].text(), {.add_special = add_special});
      ASSERT_TRUE(pair) << pair.error().message;
      EXPECT_EQ(pair->ids, ids_of(fields[add_special ? 2 : 4])) << add_special;
      EXPECT_EQ(pair->type_ids, ids_of(fields[add_special ? 3 : 5])) << add_special;
    }
  }
  for (const json::Value& line : cases.find("decode")->items()) {
    const auto& fields = line.items();
    expect_decoded(tokenizer, ids_of(fields[0]), fields[1].text(), false);
    expect_decoded(tokenizer, ids_of(fields[0]), fields[2].text(), true);
  }
}

TEST(TokenizerGolden, EveryComponentDoesWhatTheReferenceDoes) {
  const auto lines = read_lines(testing::test_data("tokenizers/components.jsonl"));
  ASSERT_EQ(lines.size(), 140u);
  const json::Value& models = *lines[0].find("models");
  for (size_t i = 1; i < lines.size(); ++i) {
    SCOPED_TRACE(lines[i].find("name")->text());
    const auto tokenizer =
        Tokenizer::from_json(json::dump(testing::component_tokenizer_json(models, lines[i])));
    ASSERT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
    expect_cases(*tokenizer, lines[i]);
  }
}

class OwnVocabulary : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(OwnVocabulary, GivesTheReferencesIdsAndText) {
  const auto [name, path] = GetParam();
  const auto tokenizer = Tokenizer::from_json(read_text(testing::test_data(path)));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto lines = read_lines(testing::test_data(std::string("tokenizers/") + name + ".jsonl"));
  ASSERT_EQ(lines.size(), 1u);
  expect_cases(*tokenizer, lines[0]);
}

INSTANTIATE_TEST_SUITE_P(TokenizerGolden, OwnVocabulary,
                         ::testing::Values(std::pair("tiny-llama", "hf/tiny/llama/tokenizer.json"),
                                           std::pair("base-model", "base-model/tokenizer.json")));

// A file with one case a line: a text with its ids and what they decode to; ids from a text that was cut in
// two, with what they decode to; a pair of texts.
struct LineCounts {
  size_t texts, cuts, pairs;
  bool operator==(const LineCounts&) const = default;
};

void PrintTo(const LineCounts& counts, std::ostream* out) {
  *out << counts.texts << " texts, " << counts.cuts << " cuts, " << counts.pairs << " pairs";
}

void expect_pair(const Tokenizer& tokenizer, const json::Value& line) {
  const auto& texts = line.find("pair")->items();
  const auto pair = tokenizer.encode_pair(texts.at(0).text(), texts.at(1).text());
  ASSERT_TRUE(pair) << pair.error().message;
  EXPECT_EQ(pair->ids, ids_of(*line.find("ids")));
  EXPECT_EQ(pair->type_ids, ids_of(*line.find("type_ids")));
}

void expect_lines(const std::shared_ptr<const Tokenizer>& tokenizer, const std::filesystem::path& path,
                  const LineCounts& wanted) {
  LineCounts counts{};
  for (const json::Value& line : read_lines(path)) {
    const json::Value& ids = *line.find("ids");
    if (const json::Value* text = line.find("text")) {
      expect_encoded(*tokenizer, text->text(), {}, ids);
      const json::Value& plain = *line.find("ids_plain");
      expect_encoded(*tokenizer, text->text(), {.add_special = false}, plain);
      expect_decoded(tokenizer, ids_of(plain), line.find("decoded")->text(), false);
      expect_decoded(tokenizer, ids_of(ids), line.find("decoded_skip")->text(), true);
      ++counts.texts;
    } else if (line.find("pair") != nullptr) {
      expect_pair(*tokenizer, line);
      ++counts.pairs;
    } else {
      expect_decoded(tokenizer, ids_of(ids), line.find("decoded")->text(), false);
      ++counts.cuts;
    }
  }
  EXPECT_EQ(counts, wanted) << path;
}

struct GoldenFile {
  const char* name;
  LineCounts lines;
};

void PrintTo(const GoldenFile& file, std::ostream* out) { *out << file.name; }

class TrainedVocabulary : public ::testing::TestWithParam<GoldenFile> {};

// Small vocabularies trained for these tests with the reference's and SentencePiece's trainers.
TEST_P(TrainedVocabulary, GivesTheReferencesIdsAndText) {
  const std::filesystem::path folder =
      testing::test_data(std::string("tokenizers/trained/") + GetParam().name);
  const auto tokenizer = Tokenizer::from_json(read_text(folder / "tokenizer.json"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
  expect_lines(*tokenizer, folder / "golden.jsonl", GetParam().lines);
}

INSTANTIATE_TEST_SUITE_P(TokenizerGolden, TrainedVocabulary,
                         ::testing::Values(GoldenFile{"wordpiece", {77, 30, 1}},
                                           GoldenFile{"unigram_t5", {77, 42, 1}},
                                           GoldenFile{"unigram_albert", {77, 40, 1}}));

// Vocabularies of published models are other people's: scripts/fetch-tokenizers.sh gets them into the user's
// cache.
class PublishedVocabulary : public ::testing::TestWithParam<GoldenFile> {};

TEST_P(PublishedVocabulary, GivesTheReferencesIdsAndText) {
  const std::string name = GetParam().name;
  const std::filesystem::path path = testing::fetched("tokenizers") / name / "tokenizer.json";
  AMPHORA_SKIP_WITHOUT(path, "scripts/fetch-tokenizers.sh");
  const auto loaded = Tokenizer::from_json(read_text(path));
  ASSERT_TRUE(loaded) << loaded.error().place << ": " << loaded.error().message;
  expect_lines(*loaded, testing::test_data("tokenizers/published/" + name + ".jsonl"), GetParam().lines);
}

INSTANTIATE_TEST_SUITE_P(
    TokenizerGolden, PublishedVocabulary,
    ::testing::Values(GoldenFile{"gemma3", {77, 36, 1}}, GoldenFile{"qwen2_5", {16, 0, 0}},
                      GoldenFile{"qwen3", {77, 40, 1}}, GoldenFile{"llama2", {77, 58, 1}},
                      GoldenFile{"llama3", {77, 46, 1}}, GoldenFile{"deepseek_v3", {77, 44, 1}}));

}  // namespace
}  // namespace amphora::text
