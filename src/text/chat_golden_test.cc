// Conversations through published chat templates, against what transformers renders.
//
// The templates belong to their models, so they are not in this repository: where a template has not been
// fetched, its test says so and is skipped. AMPHORA_TOKENIZERS or the cache folder holds
// <name>/tokenizer_config.json, or <name>/chat_template.jinja.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "amphora/json.h"
#include "base/testing/test_data.h"
#include "text/chat.h"

namespace amphora::text {
namespace {

std::filesystem::path tokenizers_folder() {
  if (const char* folder = std::getenv("AMPHORA_TOKENIZERS")) return folder;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"))
    return std::filesystem::path(cache) / "amphora/tokenizers";
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home == nullptr ? "." : home) / ".cache/amphora/tokenizers";
}

std::optional<std::string> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::optional<std::string> find_template(const std::string& name) {
  if (auto source = read_file(tokenizers_folder() / name / "chat_template.jinja")) return source;
  const auto config_text = read_file(tokenizers_folder() / name / "tokenizer_config.json");
  if (!config_text) return std::nullopt;
  const auto config = json::parse(*config_text);
  if (!config) return std::nullopt;
  const json::Value* source = config->find_present("chat_template");
  return source == nullptr ? std::nullopt : std::optional(source->text());
}

ChatRequest request_from(const json::Value& golden, const json::Value& special_tokens) {
  ChatRequest request;
  request.messages = *golden.find("messages");
  request.tools = *golden.find("tools");
  request.add_generation_prompt = golden.find("add_generation_prompt")->as_bool();
  request.now_unix_seconds = 1751632496;  // 2025-07-04T12:34:56
  request.variables = special_tokens.members();
  for (const json::Member& member : golden.find("kwargs")->members()) request.variables.push_back(member);
  return request;
}

void expect_as_golden(const json::Value& golden, const Result<std::string>& output) {
  const std::string& name = golden.find("name")->text();
  if (const json::Value* wanted = golden.find("output")) {
    EXPECT_TRUE(output) << name << ": " << (output ? "" : output.error().message);
    EXPECT_EQ(output.value_or(""), wanted->text()) << name;
    return;
  }
  EXPECT_FALSE(output) << name << " rendered: " << output.value_or("");
  if (output) return;
  EXPECT_NE(output.error().message.find(golden.find("error")->text()), std::string::npos)
      << name << "\nwanted " << golden.find("error")->text() << "\ngot    " << output.error().message;
}

class ChatGolden : public ::testing::TestWithParam<const char*> {};

TEST_P(ChatGolden, RendersAsTransformers) {
  const std::string name = GetParam();
  const auto source = find_template(name);
  if (!source) GTEST_SKIP() << "NOT RUN: no template of " << name << " in " << tokenizers_folder();
  const auto chat_template = ChatTemplate::parse(*source);
  ASSERT_TRUE(chat_template) << chat_template.error().message;
  std::ifstream file(testing::test_data("jinja") / ("chat_" + name + ".jsonl"));
  std::string line;
  ASSERT_TRUE(std::getline(file, line));
  const auto head = json::parse(line);
  ASSERT_TRUE(head);
  size_t count = 0;
  for (; std::getline(file, line); ++count) {
    const auto golden = json::parse(line);
    ASSERT_TRUE(golden);
    expect_as_golden(*golden, (*chat_template)->render(request_from(*golden, *head->find("special_tokens"))));
  }
  EXPECT_GT(count, 30u);
}

INSTANTIATE_TEST_SUITE_P(Published, ChatGolden,
                         ::testing::Values("qwen3", "llama3", "gemma3", "deepseek_v3"));

}  // namespace
}  // namespace amphora::text
