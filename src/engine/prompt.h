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
#include "engine/special_tokens.h"
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

  /// The prompt's ids: special tokens that the template writes count as such; whatever the messages and tools
  /// say is ordinary text, so no content can forge a turn. The tokenizer's BOS is added unless the template
  /// has written it.
  ///
  /// How: special tokens that occur in a string of the request are replaced by marks of private-use
  /// characters before rendering, so the template may trim, split or quote contents as it likes; the marks
  /// turn back into ordinary text when the prompt is encoded. A request without such strings is rendered and
  /// encoded as it is.
  Result<std::vector<TokenId>> encode(const text::ChatRequest& request) const;

 private:
  text::ChatRequest with_token_variables(text::ChatRequest request) const;
  ChatFormat(std::shared_ptr<const Vocabulary> vocabulary,
             std::shared_ptr<const text::ChatTemplate> chat_template);

  std::shared_ptr<const Vocabulary> vocabulary_;
  std::shared_ptr<const text::ChatTemplate> template_;
  engine::SpecialTokens specials_;
};

}  // namespace amphora
