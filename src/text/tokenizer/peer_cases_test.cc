// Texts that other programs were reported to get wrong, with the ids of Hugging Face `tokenizers`
// (tests/oracle/make_peer_cases.py): whole words looked up before merging (D1), runs of line ends (D2), text
// around special tokens (D3) and behind tokens that are not special (D4), Metaspace's flags (D6).
#include <gtest/gtest.h>

#include <string>

#include "amphora/json.h"
#include "base/testing/fetched.h"
#include "base/testing/test_data.h"
#include "text/testing/json_lines.h"
#include "text/tokenizer.h"

namespace amphora::text {
namespace {

using testing::ids_of;
using testing::read_lines;
using testing::read_text;

void replace_all(std::string& text, std::string_view before, std::string_view after) {
  size_t count = 0;
  for (size_t at = text.find(before); at != std::string::npos;
       at = text.find(before, at + after.size()), ++count)
    text.replace(at, before.size(), after);
  EXPECT_GT(count, 0u) << before;
}

// The tokenizer.json of a line that stands on a published vocabulary.
std::string published_json(const json::Value& line, const std::filesystem::path& path) {
  std::string whole = read_text(path);
  const json::Value* change = line.find("change");
  if (change != nullptr && change->text() == "merges not ignored")
    replace_all(whole, R"("ignore_merges": true)", R"("ignore_merges": false)");
  if (change != nullptr && change->text() == "nothing special")
    replace_all(whole, R"("special": true)", R"("special": false)");
  if (const json::Value* more = line.find("more_tokens")) {
    std::string tokens;
    for (const json::Value& token : more->items()) tokens += json::dump(token) + ",";
    replace_all(whole, R"("added_tokens": [)", R"("added_tokens": [)" + tokens);
  }
  return whole;
}

std::string made_json(const json::Value& line, const json::Value& models) {
  json::Value whole = *line.find("parts");
  whole.set("model", *models.find(line.find("base")->text()));
  whole.set("version", json::Value::string("1.0"));
  return json::dump(whole);
}

void expect_cases(const Tokenizer& tokenizer, const json::Value& line) {
  const auto& cases = line.find("cases")->items();
  ASSERT_GE(cases.size(), 3u);
  for (const json::Value& each : cases) {
    const auto& fields = each.items();
    EXPECT_EQ(tokenizer.encode(fields[0].text()), ids_of(fields[1])) << fields[0].text();
    const auto plain = tokenizer.encode(fields[0].text(), {.add_special = false});
    EXPECT_EQ(plain, ids_of(fields[2])) << fields[0].text();
    EXPECT_EQ(tokenizer.decode(ids_of(fields[2])), fields[3].text());
  }
}

TEST(PeerCases, OfOwnTokenizers) {
  const json::Value models = *read_lines(testing::test_data("tokenizers/components.jsonl"))[0].find("models");
  size_t compared = 0;
  for (const json::Value& line : read_lines(testing::test_data("tokenizers/peers.jsonl"))) {
    if (line.find("parts") == nullptr) continue;
    SCOPED_TRACE(line.find("name")->text());
    ++compared;
    const auto tokenizer = Tokenizer::from_json(made_json(line, models));
    if (line.find("refused") != nullptr) {
      EXPECT_FALSE(tokenizer) << "the reference refuses it";
      continue;
    }
    ASSERT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
    expect_cases(**tokenizer, line);
  }
  EXPECT_EQ(compared, 12u) << "four schemes, three values of the old flag";
}

class PeerCases : public ::testing::TestWithParam<std::pair<const char*, size_t>> {};

TEST_P(PeerCases, OfPublishedVocabularies) {
  const auto [base, lines] = GetParam();
  const std::filesystem::path path = testing::fetched("tokenizers") / base / "tokenizer.json";
  AMPHORA_SKIP_WITHOUT(path, "scripts/fetch-tokenizers.sh");
  std::shared_ptr<const Tokenizer> unchanged;
  size_t compared = 0;
  for (const json::Value& line : read_lines(testing::test_data("tokenizers/peers.jsonl"))) {
    if (line.find("base")->text() != base) continue;
    SCOPED_TRACE(line.find("name")->text());
    ++compared;
    const bool is_changed = line.find("change") != nullptr || line.find("more_tokens") != nullptr;
    std::shared_ptr<const Tokenizer> tokenizer = is_changed ? nullptr : unchanged;
    if (tokenizer == nullptr) {
      auto loaded = Tokenizer::from_json(published_json(line, path));
      ASSERT_TRUE(loaded) << loaded.error().place << ": " << loaded.error().message;
      tokenizer = *std::move(loaded);
      if (!is_changed) unchanged = tokenizer;
    }
    expect_cases(*tokenizer, line);
  }
  EXPECT_EQ(compared, lines);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, PeerCases,
                         ::testing::Values(std::pair("gemma3", size_t{3}), std::pair("qwen2_5", size_t{3}),
                                           std::pair("qwen3", size_t{4}), std::pair("llama2", size_t{5}),
                                           std::pair("llama3", size_t{5}),
                                           std::pair("deepseek_v3", size_t{3})));

// D3: without BOS, a text comes back as it was. The exceptions spell tokens: bytes of SentencePiece's
// fallback, its mark for spaces, and Llama 2's special tokens, before which its decoder leaves a space out.
class RoundTrip : public ::testing::TestWithParam<std::pair<const char*, size_t>> {};

TEST_P(RoundTrip, GivesTheTextBack) {
  const auto [base, exceptions] = GetParam();
  const std::filesystem::path path = testing::fetched("tokenizers") / base / "tokenizer.json";
  AMPHORA_SKIP_WITHOUT(path, "scripts/fetch-tokenizers.sh");
  const auto tokenizer = Tokenizer::from_json(read_text(path)).value();
  size_t texts = 0, changed = 0;
  for (const json::Value& line :
       read_lines(testing::test_data(std::string("tokenizers/published/") + base + ".jsonl"))) {
    const json::Value* text = line.find("text");
    if (text == nullptr) continue;
    ++texts;
    const auto decoded = tokenizer->decode(tokenizer->encode(text->text(), {.add_special = false}).value());
    if (decoded != text->text()) ++changed;
  }
  EXPECT_EQ(texts, 77u);
  EXPECT_EQ(changed, exceptions);
}

INSTANTIATE_TEST_SUITE_P(Vocabularies, RoundTrip,
                         ::testing::Values(std::pair("gemma3", size_t{2}), std::pair("llama2", size_t{3}),
                                           std::pair("llama3", size_t{0}),
                                           std::pair("deepseek_v3", size_t{0})));

}  // namespace
}  // namespace amphora::text
