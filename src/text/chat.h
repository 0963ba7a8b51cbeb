// Chat templates: Jinja as Hugging Face configures it, from a conversation to the prompt's exact text.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"
#include "text/quoted_text.h"

namespace amphora::text {

/// What a template is rendered with.
struct ChatRequest {
  json::Value messages;  ///< array of objects
  json::Value tools;     ///< array, or null for none
  bool add_generation_prompt = true;
  std::vector<json::Member>
      variables;  ///< further template variables (bos_token, eos_token, enable_thinking …)
  /// Variables that belong to the template as its own text does (bos_token and the like, from the model's
  /// files): the only ones that are not quoted. Those in `variables` come before them.
  std::vector<json::Member> own_variables;
  std::optional<int64_t> now_unix_seconds;  ///< clock of strftime_now, UTC; absent: the system's
};

/// A parsed template. Immutable; render() can be called from several threads at once.
class ChatTemplate {
 public:
  /// A syntax error names line and column.
  static Result<std::shared_ptr<const ChatTemplate>> parse(std::string_view source);
  ~ChatTemplate();
  /// The prompt's text. raise_exception gives kRefused with its text; steps, depth and output size are
  /// bounded.
  Result<std::string> render(const ChatRequest& request) const;
  /// As render(), and which parts of the prompt were quoted from the request.
  Result<QuotedText> render_quoted(const ChatRequest& request) const;
  /// Whether that text stands in the template's source.
  bool mentions(std::string_view text) const;
  /// As render(), with any set of variables (an object) instead of a conversation.
  Result<std::string> render_variables(const json::Value& variables,
                                       std::optional<int64_t> now_unix_seconds) const;

  struct Impl;
  explicit ChatTemplate(std::unique_ptr<const Impl> impl);

 private:
  std::unique_ptr<const Impl> impl_;
};

/// The ChatML template, for `--chat-template chatml` and nothing else.
std::string_view chatml_template();

}  // namespace amphora::text
