// The tokenizer against what Hugging Face `tokenizers` computed: tests/oracle/make_tokenizer_cases.py.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

#include "amphora/json.h"
#include "base/testing/test_data.h"
#include "text/tokenizer.h"

namespace amphora::text {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<json::Value> read_lines(const std::filesystem::path& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::vector<json::Value> lines;
  for (std::string line; std::getline(in, line);) {
    auto value = json::parse(line);
    EXPECT_TRUE(value) << path << ": " << value.error().message;
    if (value) lines.push_back(*std::move(value));
  }
  return lines;
}

std::vector<TokenId> ids_of(const json::Value& array) {
  std::vector<TokenId> ids;
  for (const json::Value& id : array.items()) ids.push_back(static_cast<TokenId>(*id.as_unsigned()));
  return ids;
}

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

// The cases "encode" and "decode" of one object.
void expect_cases(const std::shared_ptr<const Tokenizer>& tokenizer, const json::Value& cases) {
  ASSERT_FALSE(cases.find("encode")->items().empty());
  for (const json::Value& line : cases.find("encode")->items()) {
    const auto& fields = line.items();
    expect_encoded(*tokenizer, fields[0].text(), {}, fields[1]);
    expect_encoded(*tokenizer, fields[0].text(), {.add_special = false}, fields[2]);
    expect_encoded(*tokenizer, fields[0].text(), {.parse_special = false}, fields[3]);
  }
  for (const json::Value& line : cases.find("decode")->items()) {
    const auto& fields = line.items();
    expect_decoded(tokenizer, ids_of(fields[0]), fields[1].text(), false);
    expect_decoded(tokenizer, ids_of(fields[0]), fields[2].text(), true);
  }
}

TEST(TokenizerGolden, EveryComponentDoesWhatTheReferenceDoes) {
  const auto lines = read_lines(testing::test_data("tokenizers/components.jsonl"));
  ASSERT_GT(lines.size(), 130u);
  const json::Value& models = *lines[0].find("models");
  for (size_t i = 1; i < lines.size(); ++i) {
    SCOPED_TRACE(lines[i].find("name")->text());
    json::Value whole = *lines[i].find("parts");
    const json::Value& model = *lines[i].find("model");
    whole.set("model", model.is_string() ? *models.find(model.text()) : model);
    whole.set("version", json::Value::string("1.0"));
    const auto tokenizer = Tokenizer::from_json(json::dump(whole));
    ASSERT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
    expect_cases(*tokenizer, lines[i]);
  }
}

class OwnVocabulary : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(OwnVocabulary, GivesTheReferencesIdsAndText) {
  const auto [name, path] = GetParam();
  const auto tokenizer = Tokenizer::from_json(read_file(testing::test_data(path)));
  ASSERT_TRUE(tokenizer) << tokenizer.error().message;
  const auto lines = read_lines(testing::test_data(std::string("tokenizers/") + name + ".jsonl"));
  ASSERT_EQ(lines.size(), 1u);
  expect_cases(*tokenizer, lines[0]);
}

INSTANTIATE_TEST_SUITE_P(TokenizerGolden, OwnVocabulary,
                         ::testing::Values(std::pair("tiny-llama", "hf/tiny/llama/tokenizer.json"),
                                           std::pair("base-model", "base-model/tokenizer.json")));

// A file with one case a line: a text with its ids and what they decode to, or ids alone.
void expect_lines(const std::shared_ptr<const Tokenizer>& tokenizer, const std::filesystem::path& path) {
  const auto lines = read_lines(path);
  ASSERT_GT(lines.size(), 10u);
  for (const json::Value& line : lines) {
    const json::Value* ids = line.find("ids");
    if (const json::Value* text = line.find("text")) {
      expect_encoded(*tokenizer, text->text(), {}, *ids);
      if (const json::Value* plain = line.find("ids_plain")) {
        expect_encoded(*tokenizer, text->text(), {.add_special = false}, *plain);
        expect_decoded(tokenizer, ids_of(*plain), line.find("decoded")->text(), false);
        expect_decoded(tokenizer, ids_of(*ids), line.find("decoded_skip")->text(), true);
      }
    } else {
      expect_decoded(tokenizer, ids_of(*ids), line.find("decoded")->text(), false);
    }
  }
}

class TrainedVocabulary : public ::testing::TestWithParam<const char*> {};

// Small vocabularies trained for these tests with the reference's and SentencePiece's trainers.
TEST_P(TrainedVocabulary, GivesTheReferencesIdsAndText) {
  const std::filesystem::path folder = testing::test_data(std::string("tokenizers/trained/") + GetParam());
  const auto tokenizer = Tokenizer::from_json(read_file(folder / "tokenizer.json"));
  ASSERT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
  expect_lines(*tokenizer, folder / "golden.jsonl");
}

INSTANTIATE_TEST_SUITE_P(TokenizerGolden, TrainedVocabulary,
                         ::testing::Values("wordpiece", "unigram_t5", "unigram_albert"));

// Vocabularies of published models are other people's: scripts/fetch-tokenizers.sh gets them into the user's
// cache.
std::filesystem::path fetched_vocabulary(std::string_view name) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  std::filesystem::path folder = cache != nullptr && *cache != '\0' ? std::filesystem::path(cache)
                                 : home != nullptr                  ? std::filesystem::path(home) / ".cache"
                                                                    : std::filesystem::path();
  return folder / "amphora" / "tokenizers" / name / "tokenizer.json";
}

class PublishedVocabulary : public ::testing::TestWithParam<const char*> {};

TEST_P(PublishedVocabulary, GivesTheReferencesIdsAndText) {
  const std::filesystem::path path = fetched_vocabulary(GetParam());
  if (!std::filesystem::exists(path)) {
    std::cout << "not run: vocabulary " << GetParam()
              << " has not been fetched (scripts/fetch-tokenizers.sh)\n";
    GTEST_SKIP() << "not run: vocabulary " << GetParam()
                 << " has not been fetched (scripts/fetch-tokenizers.sh)";
  }
  const auto loaded = Tokenizer::from_json(read_file(path));
  ASSERT_TRUE(loaded) << loaded.error().place << ": " << loaded.error().message;
  expect_lines(*loaded, testing::test_data(std::string("tokenizers/published/") + GetParam() + ".jsonl"));
}

INSTANTIATE_TEST_SUITE_P(TokenizerGolden, PublishedVocabulary,
                         ::testing::Values("gemma3", "qwen2_5", "qwen3", "llama2", "llama3", "deepseek_v3"));

}  // namespace
}  // namespace amphora::text
