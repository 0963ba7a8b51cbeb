// `render`: the exact text that a chat template makes of a conversation.
#include <filesystem>

#include "amphora/package.h"
#include "base/file.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "engine/prompt.h"
#include "text/chat.h"

namespace amphora::cli {
namespace {

struct RenderArguments {
  std::string model, request, tools, chat_template;
  bool no_generation_prompt = false;
  std::vector<std::string> variables;
};

// "2026-01-31T12:34:56", with or without "Z", as seconds since 1970 (UTC).
Result<int64_t> parse_iso_time(std::string_view text) {
  std::tm time{};
  const std::string copy(text);
  const char* rest = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (rest == nullptr) rest = strptime(copy.c_str(), "%Y-%m-%d", &time);
  if (rest == nullptr || (*rest != '\0' && std::string_view(rest) != "Z")) {
    return fail(Fault::kUsage, fmt::format("'{}' is not an ISO 8601 time", text));
  }
  return static_cast<int64_t>(timegm(&time));
}

Result<json::Value> read_json(const std::string& path) {
  AMPHORA_ASSIGN(const std::string text, read_text(path));
  auto value = json::parse(text, {.depth = 256});
  if (!value) value.error().message = path + ": " + value.error().message;
  return value;
}

Result<text::ChatRequest> read_request(const RenderArguments& arguments) {
  AMPHORA_ASSIGN(json::Value document, read_json(arguments.request));
  text::ChatRequest request;
  request.add_generation_prompt = !arguments.no_generation_prompt;
  if (document.is_array()) {
    request.messages = std::move(document);
  } else if (document.is_object()) {
    for (json::Member& member : document.members()) {
      if (member.key == "messages") {
        request.messages = std::move(member.value);
      } else if (member.key == "tools") {
        request.tools = std::move(member.value);
      } else if (member.key == "add_generation_prompt" && member.value.is_bool()) {
        request.add_generation_prompt = member.value.as_bool() && !arguments.no_generation_prompt;
      } else if (member.key == "variables" && member.value.is_object()) {
        request.variables = std::move(member.value.members());
      } else if (member.key == "now" && member.value.is_string()) {
        AMPHORA_ASSIGN(request.now_unix_seconds, parse_iso_time(member.value.text()));
      } else {
        return fail_at(Fault::kUsage, {}, "$" + json::path_step(member.key), std::nullopt,
                       "not a key of a render request (messages, tools, add_generation_prompt, now, and an "
                       "object of variables for all else that the template asks for), or of the wrong type");
      }
    }
  }
  if (!request.messages.is_array()) return fail(Fault::kUsage, "the request has no array of messages");
  if (!arguments.tools.empty()) {
    AMPHORA_ASSIGN(request.tools, read_json(arguments.tools));
  }
  for (const std::string& variable : arguments.variables) {
    const size_t equals = variable.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(Fault::kUsage, fmt::format("--var wants name=value, not '{}'", variable));
    // A value that reads as JSON is that value (true, 3, "x"); anything else is a string.
    const std::string text = variable.substr(equals + 1);
    auto value = json::parse(text);
    request.variables.push_back(
        {variable.substr(0, equals), value ? *std::move(value) : json::Value::string(text)});
  }
  return request;
}

// A bare template file, or the template of a model with its special tokens as variables.
Result<std::string> render_text(const RenderArguments& arguments, const text::ChatRequest& request) {
  if (std::filesystem::path(arguments.model).extension() == ".jinja") {
    AMPHORA_ASSIGN(const std::string source, read_text(arguments.model));
    AMPHORA_ASSIGN(const auto chat_template, text::ChatTemplate::parse(source));
    return chat_template->render(request);
  }
  AMPHORA_ASSIGN(const auto package, open_package(arguments.model));
  AMPHORA_ASSIGN(const auto vocabulary, Vocabulary::load(package));
  AMPHORA_ASSIGN(const auto format, arguments.chat_template.empty()
                                        ? ChatFormat::create(vocabulary)
                                        : named_chat_format(vocabulary, arguments.chat_template));
  return format.render(request);
}

Result<int> render(const RenderArguments& arguments, const Globals& globals) {
  AMPHORA_ASSIGN(const text::ChatRequest request, read_request(arguments));
  const auto text = render_text(arguments, request);
  if (!globals.json) {
    if (!text) return std::unexpected(text.error());
    print(*text);
    return 0;
  }
  if (!text) {
    print_json_line(json::Value::object({{"error", text_value(describe(text.error()))}}));
    return exit_status(text.error().fault);
  }
  print_json_line(json::Value::object({{"text", text_value(*text)}}));
  return 0;
}

Action declare_render(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<RenderArguments>();
  app.add_option("MODEL", arguments->model, "a model, or a bare .jinja file")->required();
  app.add_option("REQUEST", arguments->request,
                 "JSON file ('-': standard input): an array of messages, or an object with messages, tools,\n"
                 "add_generation_prompt, variables, now")
      ->required();
  app.add_option("--tools", arguments->tools, "JSON file with the tools");
  app.add_option("--chat-template", arguments->chat_template,
                 "'chatml' or a template file, instead of the model's own")
      ->check(not_empty());
  app.add_flag("--no-generation-prompt", arguments->no_generation_prompt, "do not open the assistant's turn");
  app.add_option("--var", arguments->variables, "a template variable: name=value (JSON, or else a string)");
  return [arguments, &globals] { return render(*arguments, globals); };
}

}  // namespace

const Verb kRender{"render", "what a chat template makes of a conversation",
                   "amphora render model.cmf request.json", declare_render};

}  // namespace amphora::cli
