// From text and conversations to prompt ids: the tokenizer and the chat template of a package.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/package.h"
#include "amphora/session.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace amphora {

/// The text side of a package. Immutable; can be used from several threads at once.
class Vocabulary {
 public:
  /// Parses the package's tokenizer; kUnsupported if it has none. The chat template is not looked at: a
  /// broken one does not stop raw completion.
  static Result<std::shared_ptr<const Vocabulary>> load(std::shared_ptr<const Package> package);

  const std::shared_ptr<const text::Tokenizer>& tokenizer() const { return tokenizer_; }
  const TokenizerConfig& config() const { return package_->tokenizer; }
  /// Whether generation ends at this id: any end-of-sequence id of the package.
  bool is_stop(TokenId id) const;

  /// Ids of a text for raw completion, with the BOS that the tokenizer adds, never two. Special tokens in the
  /// text count as such only if asked for.
  Result<std::vector<TokenId>> encode_text(std::string_view text, bool parse_special = false) const;
  /// The ids behind what the tokenizer puts before every text (its BOS), unless they begin with it already.
  std::vector<TokenId> with_prefix(std::vector<TokenId> ids) const;

 private:
  Vocabulary(std::shared_ptr<const Package> package, std::shared_ptr<const text::Tokenizer> tokenizer,
             std::vector<TokenId> prefix);

  std::shared_ptr<const Package> package_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  std::vector<TokenId> prefix_;
};

/// Turns conversations into prompts with a chat template.
class ChatFormat {
 public:
  /// With the package's own template; kUnsupported, naming `--chat-template`, if it has none.
  static Result<ChatFormat> create(std::shared_ptr<const Vocabulary> vocabulary);
  /// With another template (`--chat-template chatml|FILE`).
  static Result<ChatFormat> create(std::shared_ptr<const Vocabulary> vocabulary,
                                   std::string_view template_source);

  /// The prompt's text, byte for byte as Hugging Face renders it. bos_token, eos_token and pad_token are
  /// variables of the template unless the request sets them.
  Result<std::string> render(const text::ChatRequest& request) const;

  /// The prompt's ids. Special tokens that the template writes count as such; whatever the messages and tools
  /// say is ordinary text, in every role, so no content can forge a turn, a thought or a tool's answer. The
  /// tokenizer's BOS is added unless the template has written it.
  ///
  /// How: the template is rendered once, with the request as it is, and the renderer keeps account of which
  /// bytes of the prompt it quoted from the request (text/quoted_text.h). A marker (find_markers in
  /// prompt.cc) counts only if the template wrote its first and its last byte: `<|` + role + `|>` does, two
  /// contents that make one side by side do not. Cutting, trimming, splitting and joining keep the account to
  /// the byte; what any other operation makes of quoted text is quoted as a whole, so that the account can
  /// only err towards ordinary text. Where no content holds a marker the ids are those of Hugging Face.
  Result<std::vector<TokenId>> encode(const text::ChatRequest& request) const;

 private:
  text::ChatRequest with_token_variables(text::ChatRequest request) const;
  ChatFormat(std::shared_ptr<const Vocabulary> vocabulary,
             std::shared_ptr<const text::ChatTemplate> chat_template);

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const text::ChatTemplate> template_;
  std::vector<TokenId> markers_;  ///< in ascending order
};

}  // namespace amphora
