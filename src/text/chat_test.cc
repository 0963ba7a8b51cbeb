// What ChatTemplate adds to Jinja: the variables of a conversation, errors with their place, the clock.
#include "text/chat.h"

#include <gtest/gtest.h>

namespace amphora::text {
namespace {

json::Value parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << text;
  return value ? *value : json::Value();
}

Result<std::string> render(std::string_view source, const ChatRequest& request) {
  AMPHORA_ASSIGN(const auto chat_template, ChatTemplate::parse(source));
  return chat_template->render(request);
}

ChatRequest request_of(std::string_view messages) {
  ChatRequest request;
  request.messages = parsed(messages);
  return request;
}

TEST(ChatTemplate, GivesTheVariablesThatTransformersGives) {
  ChatRequest request = request_of(R"([{"role": "user", "content": "hi"}])");
  request.variables = {{"bos_token", json::Value::string("<s>")},
                       {"enable_thinking", json::Value::boolean(false)}};
  const std::string_view source =
      "{{ bos_token }}|{{ messages }}|{{ tools is none }}|{{ documents is none }}|{{ add_generation_prompt "
      "}}|"
      "{{ enable_thinking }}|{{ eos_token is defined }}";
  EXPECT_EQ(render(source, request).value_or("error"),
            "<s>|[{'role': 'user', 'content': 'hi'}]|True|True|True|False|False");
}

TEST(ChatTemplate, DropsNullMembersOfMessages) {
  const auto output = render("{{ messages[0].content is defined }}{{ messages[0].x.y is none }}",
                             request_of(R"([{"role": "user", "content": null, "x": {"y": null}}])"));
  EXPECT_EQ(output.value_or("error"), "FalseTrue");
}

TEST(ChatTemplate, FillsReasoningUnderTheNamesThatTemplatesRead) {
  const std::string_view source = "{{ messages[0] }}";
  EXPECT_EQ(render(source, request_of(R"([{"role": "a", "reasoning_content": "r"}])")).value_or("error"),
            "{'thinking': 'r', 'role': 'a', 'reasoning_content': 'r'}");
  EXPECT_EQ(render(source, request_of(R"([{"role": "a", "thinking": "t"}])")).value_or("error"),
            "{'thinking': 't', 'role': 'a', 'reasoning_content': 't'}");
  EXPECT_EQ(render(source, request_of(R"([{"role": "a", "reasoning": "q"}])")).value_or("error"),
            "{'thinking': 'q', 'role': 'a', 'reasoning': 'q', 'reasoning_content': 'q'}");
}

TEST(ChatTemplate, RefusesAnEmptyConversation) {
  const auto output = render("x", request_of("[]"));
  ASSERT_FALSE(output);
  EXPECT_EQ(output.error().message,
            "Cannot apply chat template to an empty conversation. Provide at least one message.");
}

TEST(ChatTemplate, RefusesWhatIsNoConversation) {
  EXPECT_FALSE(render("x", request_of("{}")));
  EXPECT_FALSE(render("x", request_of("[1]")));
}

TEST(ChatTemplate, RefusesToolsAndDocumentsThatAreNoObjects) {
  ChatRequest request = request_of(R"([{"role": "user"}])");
  for (const char* tools : {"{}", "[1]", "\"f\"", "[{}, null]"}) {
    request.tools = parsed(tools);
    EXPECT_FALSE(render("x", request)) << tools;
  }
  request.tools = parsed("[]");
  EXPECT_EQ(render("{{ tools }}", request).value_or("error"), "[]");
  request.variables = {{"documents", parsed(R"([{"title": "t"}])")}};
  EXPECT_EQ(render("{{ documents }}", request).value_or("error"), "[{'title': 't'}]");
  request.variables = {{"documents", parsed("[\"t\"]")}};
  EXPECT_FALSE(render("x", request));
}

TEST(ChatTemplate, RefusesVariablesThatTheConversationFills) {
  for (const char* name : {"messages", "tools", "add_generation_prompt"}) {
    ChatRequest request = request_of(R"([{"role": "user"}])");
    request.variables = {{name, json::Value::boolean(false)}};
    const auto output = render("x", request);
    ASSERT_FALSE(output) << name;
    EXPECT_EQ(output.error().fault, Fault::kUsage);
  }
}

TEST(ChatTemplate, RefusesByNameWhatHasNoTextOrIsNotSupported) {
  struct Case {
    const char* source;
    const char* message;
  };
  const Case kCases[] = {
      {"{{ messages | map('upper') }}", "line 1, column 1: the text of a generator is not supported"},
      {"ab{{ [messages[0].role.strip] }}", "line 1, column 3: the text of a builtin_function_or_method"},
      {"{{ 'a'.encode() }}", "line 1, column 7: attribute 'encode' of 'str' is not supported"},
      {"{{ self }}", "line 1, column 4: self is not supported"},
      {"{{ [1] | tojson(indent=' ' | safe) }}",
       "safe HTML as an indent or a separator of tojson is not supported"},
      {"{{ [1] | tojson(separators=(',', ':' | safe)) }}",
       "safe HTML as an indent or a separator of tojson is not supported"},
      {"{{ strftime_now('%Ed') }}", "'%E' in a time format is not supported"},
      {"{{ strftime_now('%5Y') }}", "'%5' in a time format is not supported"},
  };
  for (const Case& test : kCases) {
    const auto output = render(test.source, request_of(R"([{"role": "user"}])"));
    ASSERT_FALSE(output) << test.source;
    EXPECT_EQ(output.error().fault, Fault::kUnsupported) << test.source;
    EXPECT_NE(output.error().message.find(test.message), std::string::npos) << output.error().message;
  }
}

TEST(ChatTemplate, PassesOnWhatATemplateRaisesAndRendersAgain) {
  const auto chat_template = ChatTemplate::parse(
      "{% if messages[0].role != 'user' %}{{ raise_exception('roles must alternate') }}{% endif %}ok");
  ASSERT_TRUE(chat_template);
  const auto refused = (*chat_template)->render(request_of(R"([{"role": "assistant"}])"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kRefused);
  EXPECT_EQ(refused.error().code, "TemplateRaised");
  EXPECT_EQ(refused.error().message, "roles must alternate");
  EXPECT_EQ((*chat_template)->render(request_of(R"([{"role": "user"}])")).value_or("error"), "ok");
}

TEST(ChatTemplate, SaysWhereAnErrorIs) {
  struct Case {
    const char* source;
    const char* message;
  };
  const Case kCases[] = {
      {"a\n  {{ 'é' ~ x | nosuch }}", "template error at line 2, column 16: No filter named 'nosuch'."},
      {"{{ x is nosuch }}", "template error at line 1, column 9: No test named 'nosuch'."},
      {"\n\n{% nosuch %}", "template error at line 3, column 4: Encountered unknown tag 'nosuch'."},
      {"{% include 'x' %}",
       "template error at line 1, column 4: tag 'include' is not supported in chat templates"},
      {"x\n{{ 1 +\n 'a' }}",
       "template error at line 2, column 4: unsupported operand type(s) for +: 'int' and 'str'"},
      {"{% if true %}\n{{ missing.x }}{% endif %}",
       "template error at line 2, column 11: 'missing' is undefined"},
  };
  for (const Case& test : kCases) {
    const auto output = render(test.source, request_of(R"([{"role": "user"}])"));
    ASSERT_FALSE(output) << test.source;
    EXPECT_EQ(output.error().message, test.message);
  }
}

TEST(ChatTemplate, TellsTheTimeOfTheCallersClock) {
  ChatRequest request = request_of(R"([{"role": "user"}])");
  request.now_unix_seconds = 1769817600;  // 2026-01-31 00:00:00 UTC
  EXPECT_EQ(render("{{ strftime_now('%d %b %Y') }}", request).value_or("error"), "31 Jan 2026");
  request.now_unix_seconds = -1;
  EXPECT_EQ(render("{{ strftime_now('%F %T %a %j') }}", request).value_or("error"),
            "1969-12-31 23:59:59 Wed 365");
  request.now_unix_seconds = 951827696;  // a leap day
  EXPECT_EQ(render("{{ strftime_now('%F %T %a %j') }}", request).value_or("error"),
            "2000-02-29 12:34:56 Tue 060");
  request.now_unix_seconds = INT64_MAX;
  EXPECT_FALSE(render("{{ strftime_now('%F') }}", request));
}

// What other programs were reported to get wrong, by the numbers of these reports; cases.jsonl and
// features.jsonl have more of each.
TEST(ChatTemplate, RendersWhatPeersGotWrong) {
  struct Case {
    const char* number;
    const char* source;
    const char* output;
  };
  const Case kCases[] = {
      {"E1", "{{ s[::-1] }} {{ s[1:] }} {{ s[:-1] }} {{ s[-2:] }} {{ s[::2] }} {{ s[5:1:-2] }}",
       "gfedcba bcdefg abcdef fg aceg fd"},
      {"E1", "{{ l[::-1] }}{{ l[1:] }}{{ l[:-1] }}{{ l[-2:] }}{{ l[::2] }}{{ l[5:1:-2] }}",
       "[3, 2, 1, 0][1, 2, 3][0, 1, 2][2, 3][0, 2][3]"},
      {"E2",
       "{% for i in l %}{% for j in l %}{% if j == 1 %}{% continue %}{% endif %}{% if j == 3 %}{% break %}{% "
       "endif %}"
       "{{ loop.index0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% else %}never{% endfor %}"
       "{% if i == 1 %}{% break %}{% endif %}{% endfor %}{% for x in [] %}{% else %}empty{% endfor %}",
       "0TrueFalse4 2FalseFalse4 0TrueFalse4 2FalseFalse4 empty"},
      {"E3",
       "{% set ns = namespace(found=false) %}{% set plain = 0 %}{% for i in l %}{% set ns.found = true %}"
       "{% set plain = i %}{% endfor %}{{ ns.found }} {{ plain }}",
       "True 0"},
      {"E4", "{{ d | tojson }}", "{\"b\": 1, \"a\": [1, 2], \"c\": \"\u00e9\u2014\"}"},
      {"E5", "{{ d | tojson(separators=(',',':')) }}", "{\"b\":1,\"a\":[1,2],\"c\":\"\u00e9\u2014\"}"},
      {"E5", "{{ d | tojson(sort_keys=True) }}", "{\"a\": [1, 2], \"b\": 1, \"c\": \"\u00e9\u2014\"}"},
      {"E5", "{{ d | tojson(ensure_ascii=True) }}", "{\"b\": 1, \"a\": [1, 2], \"c\": \"\\u00e9\\u2014\"}"},
      {"E5", "{{ {'b': [1, 2]} | tojson(indent=2) }}", "{\n  \"b\": [\n    1,\n    2\n  ]\n}"},
      {"E5", "{{ {'b': [1, 2]} | tojson(indent='\\t') }}", "{\n\t\"b\": [\n\t\t1,\n\t\t2\n\t]\n}"},
      {"E6", "{{ strftime_now(\"%d %b %Y\") }}", "31 Jan 2026"},
  };
  const json::Value context = parsed(
      "{\"s\": \"abcdefg\", \"l\": [0, 1, 2, 3], \"d\": {\"b\":1,\"a\":[1,2],\"c\":\"\u00e9\u2014\"}}");
  const auto render_it = [&](const char* source) -> Result<std::string> {
    AMPHORA_ASSIGN(const auto chat_template, ChatTemplate::parse(source));
    return chat_template->render_variables(context, 1769817600);  // 2026-01-31 00:00:00 UTC
  };
  for (const Case& test : kCases) {
    const auto output = render_it(test.source);
    EXPECT_TRUE(output) << test.number << ": " << (output ? "" : output.error().message);
    EXPECT_EQ(output.value_or("error"), test.output) << test.number;
    EXPECT_EQ(render_it(test.source).value_or("error"), test.output) << test.number << ", again";
  }
  for (const char* refused : {"{{ s[::0] }}", "{{ l[::0] }}", "{{ d | tojson(bogus=1) }}"})
    EXPECT_FALSE(render_it(refused)) << refused;
}

TEST(ChatTemplate, RefusesTextThatIsNotUtf8) {
  EXPECT_FALSE(ChatTemplate::parse("a\xFF"));
  ChatRequest request = request_of(R"([{"role": "user"}])");
  request.variables = {{"bad", json::Value::string("\xC3")}};
  EXPECT_FALSE(render("x", request));
}

TEST(ChatTemplate, HasChatMl) {
  EXPECT_EQ(render(chatml_template(), request_of(R"([{"role": "user", "content": "Hi"}])")).value_or("error"),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
}

}  // namespace
}  // namespace amphora::text
