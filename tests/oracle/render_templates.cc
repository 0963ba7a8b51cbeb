// Renders templates from standard input, one JSON object a line: {"template", "context"}, or {"template",
// "messages", "tools", …} for a conversation. Answers each with a line: {"output"}, or {"error", "code"}.
//
// For differential_jinja.py, which compares the answers with jinja2's. The clock stands at 2026-01-31 00:00
// UTC unless "now" says otherwise.
#include <iostream>
#include <string>

#include "amphora/json.h"
#include "text/chat.h"

namespace {

using amphora::Result;
namespace json = amphora::json;

Result<std::string> render(const json::Value& job) {
  AMPHORA_ASSIGN(const auto chat_template, amphora::text::ChatTemplate::parse(job.find("template")->text()));
  const json::Value* now = job.find("now");
  const int64_t seconds = now != nullptr ? now->as_integer().value_or(0) : 1769817600;
  const json::Value* messages = job.find("messages");
  if (messages == nullptr) return chat_template->render_variables(*job.find("context"), seconds);
  amphora::text::ChatRequest request;
  request.messages = *messages;
  request.now_unix_seconds = seconds;
  if (const json::Value* tools = job.find("tools")) request.tools = *tools;
  if (const json::Value* adds = job.find("add_generation_prompt"))
    request.add_generation_prompt = adds->as_bool();
  if (const json::Value* variables = job.find("variables")) request.variables = variables->members();
  return chat_template->render(request);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    const auto job = json::parse(line, {.depth = 256});
    if (!job) {
      std::cerr << job.error().message << '\n';
      return 2;
    }
    const auto output = render(*job);
    json::Value answer = json::Value::object();
    if (output) {
      answer.set("output", json::Value::string(*output));
    } else {
      answer.set("error", json::Value::string(output.error().message));
      answer.set("code", json::Value::string(output.error().code));
    }
    std::cout << json::dump(answer) << std::endl;
  }
  return 0;
}
