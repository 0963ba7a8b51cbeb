// Conversations through published chat templates, against what transformers renders (E11).
//
// The templates belong to their models, so they are not in this repository: where one has not been fetched,
// its test says so and is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "amphora/json.h"
#include "base/testing/fetched.h"
#include "base/testing/test_data.h"
#include "text/chat.h"
#include "text/testing/json_lines.h"

namespace amphora::text {
namespace {

using testing::read_lines;
using testing::read_text;

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

void expect_answer(const std::string& name, const json::Value& golden, const Result<std::string>& output) {
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

// Tags and other bracketed words of a template: what could be a marker of its model.
std::vector<std::string> tags_of(const std::string& source) {
  std::vector<std::string> tags;
  for (const auto& [open, close] : {std::pair("<", ">"), std::pair("[", "]")}) {
    for (size_t at = source.find(open); at != std::string::npos; at = source.find(open, at + 1)) {
      const size_t end = source.find_first_of(std::string(close) + open + " \n\\'\"", at + 1);
      if (end != std::string::npos && source.substr(end, 1) == close && end - at > 2)
        tags.push_back(source.substr(at, end + 1 - at));
    }
  }
  std::ranges::sort(tags);
  const auto [first, last] = std::ranges::unique(tags);
  tags.erase(first, last);
  return tags;
}

// Tags that no value of the request holds are the template's own, wherever they show up in the prompt: none
// of them may count as quoted. Gives how many there were.
size_t expect_own_tags_unquoted(const std::string& name, const std::vector<std::string>& tags,
                                const ChatTemplate& chat_template, const ChatRequest& request) {
  const auto prompt = chat_template.render_quoted(request);
  if (!prompt) return 0;
  const std::string asked = json::dump(request.messages) + json::dump(request.tools);
  const auto is_quoted = [&](size_t offset) {
    return std::ranges::any_of(prompt->quoted, [&](const QuotedRange& range) {
      return range.begin <= offset && offset < range.end;
    });
  };
  size_t count = 0;
  for (const std::string& tag : tags) {
    if (asked.find(tag) != std::string::npos) continue;
    for (size_t at = prompt->text.find(tag); at != std::string::npos; at = prompt->text.find(tag, at + 1)) {
      EXPECT_FALSE(is_quoted(at) || is_quoted(at + tag.size() - 1))
          << name << ": '" << tag << "' at " << at << " of " << prompt->text;
      ++count;
    }
  }
  return count;
}

struct ChatFile {
  const char* name;
  const char* path;  ///< of the template's file among the fetched ones
  size_t renders, errors;
};

void PrintTo(const ChatFile& file, std::ostream* out) { *out << file.name; }

class ChatGolden : public ::testing::TestWithParam<ChatFile> {};

TEST_P(ChatGolden, RendersAsTransformers) {
  const std::filesystem::path path = testing::fetched(GetParam().path);
  AMPHORA_SKIP_WITHOUT(path, "scripts/fetch-tokenizers.sh, scripts/fetch-templates.sh");
  std::string source = read_text(path);
  if (path.extension() == ".json") source = json::parse(source).value().find("chat_template")->text();
  const auto chat_template = ChatTemplate::parse(source);
  ASSERT_TRUE(chat_template) << chat_template.error().message;
  const auto lines =
      read_lines(testing::test_data("jinja") / (std::string("chat_") + GetParam().name + ".jsonl"));
  ASSERT_EQ(lines.size(), 1 + GetParam().renders + GetParam().errors);
  size_t errors = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const ChatRequest request = request_from(lines[i], *lines[0].find("special_tokens"));
    expect_answer(lines[i].find("name")->text(), lines[i], (*chat_template)->render(request));
    errors += lines[i].find("error") != nullptr ? 1 : 0;
  }
  EXPECT_EQ(errors, GetParam().errors);
}

INSTANTIATE_TEST_SUITE_P(
    Published, ChatGolden,
    ::testing::Values(ChatFile{"qwen3", "tokenizers/qwen3/tokenizer_config.json", 26, 6},
                      ChatFile{"llama3", "tokenizers/llama3/tokenizer_config.json", 30, 2},
                      ChatFile{"gemma3", "tokenizers/gemma3/tokenizer_config.json", 23, 9},
                      ChatFile{"deepseek_v3", "tokenizers/deepseek_v3/tokenizer_config.json", 26, 6},
                      ChatFile{"qwen2_5_coder", "templates/Qwen-Qwen2.5-7B-Instruct.jinja", 27, 5}));

// The templates that come with llama.cpp's sources, one test each.
struct TemplateGoldens {
  json::Value head;
  std::map<std::string, json::Value> answers;  ///< by template
};

const TemplateGoldens& template_goldens() {
  static const TemplateGoldens all = [] {
    TemplateGoldens read;
    auto lines = read_lines(testing::test_data("jinja/templates.jsonl"));
    read.head = std::move(lines.at(0));
    for (size_t i = 1; i < lines.size(); ++i)
      read.answers.emplace(lines[i].find("template")->text(), *lines[i].find("answers"));
    return read;
  }();
  return all;
}

std::vector<std::string> template_names() {
  std::vector<std::string> names;
  for (const auto& [name, answers] : template_goldens().answers) names.push_back(name);
  return names;
}

class TemplateGolden : public ::testing::TestWithParam<std::string> {};

TEST_P(TemplateGolden, RendersAsTransformers) {
  const std::filesystem::path path = testing::fetched("templates") / GetParam();
  AMPHORA_SKIP_WITHOUT(path, "scripts/fetch-templates.sh");
  const std::string source = read_text(path);
  const auto chat_template = ChatTemplate::parse(source);
  ASSERT_TRUE(chat_template) << chat_template.error().message;
  const auto& requests = template_goldens().head.find("requests")->items();
  const auto& answers = template_goldens().answers.at(GetParam()).items();
  ASSERT_EQ(requests.size(), 32u);
  ASSERT_EQ(answers.size(), 32u);
  const std::vector<std::string> tags = tags_of(source);
  size_t renders = 0, own_tags = 0;
  for (size_t i = 0; i < requests.size(); ++i) {
    ChatRequest request = request_from(requests[i], json::Value::object());
    request.own_variables = template_goldens().head.find("special_tokens")->members();
    expect_answer(requests[i].find("name")->text(), answers[i], (*chat_template)->render(request));
    renders += answers[i].find("output") != nullptr ? 1 : 0;
    own_tags += expect_own_tags_unquoted(requests[i].find("name")->text(), tags, **chat_template, request);
  }
  RecordProperty("renders", std::to_string(renders));
  RecordProperty("own_tags", std::to_string(own_tags));
}

INSTANTIATE_TEST_SUITE_P(Published, TemplateGolden, ::testing::ValuesIn(template_names()),
                         [](const auto& instance) {
                           std::string name = instance.param.substr(0, instance.param.rfind(".jinja"));
                           std::ranges::replace_if(
                               name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; },
                               '_');
                           return name;
                         });

// So that none can go missing silently: 16 templates whose goldens were given, and the others of the archive.
TEST(TemplateFile, IsThereForEveryTemplate) {
  EXPECT_EQ(template_names().size(), 70u);
  size_t outputs = 0, errors = 0;
  for (const json::Value& line : read_lines(testing::test_data("jinja/templates.jsonl")))
    if (const json::Value* answers = line.find("answers"))
      for (const json::Value& answer : answers->items())
        (answer.find("output") != nullptr ? outputs : errors) += 1;
  EXPECT_EQ(outputs, 1842u);
  EXPECT_EQ(errors, 398u);
}

}  // namespace
}  // namespace amphora::text
