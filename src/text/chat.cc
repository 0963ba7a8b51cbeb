// Chat templates: see chat.h.
#include "text/chat.h"

#include <algorithm>
#include <utility>

#include "text/jinja/evaluator.h"
#include "text/jinja/from_json.h"
#include "text/jinja/parser.h"

namespace amphora::text {
namespace {

// As transformers prepares a message: members that are null are dropped, and reasoning is found under the
// name that the template reads, whichever name it came under.
json::Value prepared_message(const json::Value& message) {
  json::Value present = json::Value::object();
  for (const json::Member& member : message.members())
    if (!member.value.is_null()) present.members().push_back(member);
  const json::Value* reasoning = nullptr;
  for (const char* name : {"reasoning_content", "thinking", "reasoning"})
    if (reasoning == nullptr) reasoning = present.find(name);
  if (reasoning == nullptr) return present;
  json::Value result = json::Value::object({{"thinking", *reasoning}});
  for (const json::Member& member : present.members()) result.set(member.key, member.value);
  result.set("reasoning_content", *reasoning);
  return result;
}

Result<json::Value> prepared_messages(const json::Value& messages) {
  if (!messages.is_array()) return fail(Fault::kUsage, "messages must be an array");
  if (messages.items().empty())
    return fail(Fault::kRefused,
                "Cannot apply chat template to an empty conversation. Provide at least one message.");
  json::Value result = json::Value::array();
  for (const json::Value& message : messages.items()) {
    if (!message.is_object()) return fail(Fault::kUsage, "each message must be an object");
    result.items().push_back(prepared_message(message));
  }
  return result;
}

Status check_objects(const json::Value& list, std::string_view what) {
  const auto is_object = [](const json::Value& item) { return item.is_object(); };
  if (list.is_null() || (list.is_array() && std::ranges::all_of(list.items(), is_object))) return {};
  return fail(Fault::kUsage, std::string(what) + " must be an array of objects");
}

// As Python's keyword arguments: those that the conversation itself fills cannot be given twice.
Status check_variable(const json::Member& variable) {
  if (variable.key == "messages" || variable.key == "tools" || variable.key == "add_generation_prompt")
    return fail(Fault::kUsage,
                "'" + variable.key + "' cannot be a template variable: the request has it already");
  return variable.key == "documents" ? check_objects(variable.value, "documents") : Status{};
}

}  // namespace

struct ChatTemplate::Impl {
  jinja::ScopedBlock block;
  std::string source;
};

namespace {

Status define_all(jinja::Evaluator& evaluator, const json::Value& variables, bool quoted) {
  for (const json::Member& variable : variables.members()) {
    AMPHORA_ASSIGN(jinja::Value value, jinja::from_json(variable.value, quoted));
    evaluator.define(variable.key, std::move(value));
  }
  return {};
}

}  // namespace

ChatTemplate::ChatTemplate(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
ChatTemplate::~ChatTemplate() = default;

Result<std::shared_ptr<const ChatTemplate>> ChatTemplate::parse(std::string_view source) {
  AMPHORA_ASSIGN(jinja::ScopedBlock block, jinja::parse_template(source));
  return std::make_shared<const ChatTemplate>(
      std::make_unique<const Impl>(Impl{std::move(block), std::string(source)}));
}

Result<std::string> ChatTemplate::render(const ChatRequest& request) const {
  AMPHORA_ASSIGN(QuotedText prompt, render_quoted(request));
  return std::move(prompt.text);
}

bool ChatTemplate::mentions(std::string_view text) const {
  return impl_->source.find(text) != std::string::npos;
}

Result<QuotedText> ChatTemplate::render_quoted(const ChatRequest& request) const {
  AMPHORA_ASSIGN(json::Value messages, prepared_messages(request.messages));
  AMPHORA_TRY(check_objects(request.tools, "tools"));
  json::Value variables = json::Value::object();
  variables.set("messages", std::move(messages));
  variables.set("tools", request.tools);
  variables.set("documents", json::Value());
  variables.set("add_generation_prompt", json::Value::boolean(request.add_generation_prompt));
  for (const json::Member& variable : request.variables) {
    AMPHORA_TRY(check_variable(variable));
    variables.set(variable.key, variable.value);
  }
  jinja::Runtime runtime(request.now_unix_seconds);
  jinja::Evaluator evaluator(runtime);
  AMPHORA_TRY(define_all(evaluator, json::Value::object(request.own_variables), /*quoted=*/false));
  AMPHORA_TRY(define_all(evaluator, variables, /*quoted=*/true));
  return evaluator.render(impl_->block);
}

Result<std::string> ChatTemplate::render_variables(const json::Value& variables,
                                                   std::optional<int64_t> now_unix_seconds) const {
  if (!variables.is_object()) return fail(Fault::kUsage, "template variables must be an object");
  jinja::Runtime runtime(now_unix_seconds);
  jinja::Evaluator evaluator(runtime);
  AMPHORA_TRY(define_all(evaluator, variables, /*quoted=*/false));
  AMPHORA_ASSIGN(QuotedText output, evaluator.render(impl_->block));
  return std::move(output.text);
}

std::string_view chatml_template() {
  return "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
         "'<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' "
         "}}{% endif %}";
}

}  // namespace amphora::text
