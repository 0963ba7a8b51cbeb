// From text and conversations to prompt ids: see prompt.h.
#include "engine/prompt.h"

#include <algorithm>

#include "amphora/json.h"

namespace amphora {
namespace {

using Ids = std::vector<TokenId>;

bool starts_with(const Ids& ids, const Ids& prefix) {
  return ids.size() >= prefix.size() && std::equal(prefix.begin(), prefix.end(), ids.begin());
}

/// What the tokenizer puts before a text: found by looking, since post-processors can say it in many ways.
Result<Ids> find_prefix(const text::Tokenizer& tokenizer) {
  constexpr std::string_view kProbe = "a";
  AMPHORA_ASSIGN(const Ids plain, tokenizer.encode(kProbe, {.add_special = false, .parse_special = false}));
  AMPHORA_ASSIGN(const Ids whole, tokenizer.encode(kProbe, {.add_special = true, .parse_special = false}));
  const auto body = std::ranges::search(whole, plain);
  return Ids(whole.begin(), body.begin());
}

/// Tokens that steer the model, so that nobody's words may become one: special tokens; what the template
/// writes itself, though the vocabulary does not call it special (`<tool_call>`, `<think>`, DeepSeek's
/// `<｜User｜>`); and what has the form of such a token (`<|fim_prefix|>`). Other added tokens are common
/// text that the vocabulary keeps whole, such as runs of spaces and HTML tags.
std::vector<TokenId> find_markers(const text::Tokenizer& tokenizer, const text::ChatTemplate& chat_template) {
  const auto encloses = [](std::string_view piece, std::string_view left, std::string_view right) {
    return piece.size() > left.size() + right.size() && piece.starts_with(left) && piece.ends_with(right);
  };
  const auto is_written = [&](std::string_view text) {
    return text.find_first_not_of(" \t\n\v\f\r") != std::string_view::npos && chat_template.mentions(text);
  };
  std::vector<TokenId> markers;
  for (const TokenId id : tokenizer.added_ids()) {
    const std::string piece = *tokenizer.find_piece(id);
    const std::string normal_form = tokenizer.decode(std::span(&id, 1)).value_or(piece);
    if (tokenizer.is_special(id) || encloses(piece, "<|", "|>") || encloses(piece, "<\uff5c", "\uff5c>") ||
        is_written(piece) || is_written(normal_form))
      markers.push_back(id);
  }
  return markers;
}

}  // namespace

Result<std::shared_ptr<const Vocabulary>> Vocabulary::load(std::shared_ptr<const Package> package) {
  if (package->tokenizer_json.empty())
    return fail_at(Fault::kUnsupported, "", package->path.string(), std::nullopt,
                   "this model has no tokenizer");
  AMPHORA_ASSIGN(auto tokenizer, text::Tokenizer::from_json(package->tokenizer_json));
  AMPHORA_ASSIGN(auto prefix, find_prefix(*tokenizer));
  return std::shared_ptr<const Vocabulary>(
      new Vocabulary(std::move(package), std::move(tokenizer), std::move(prefix)));
}

Vocabulary::Vocabulary(std::shared_ptr<const Package> package,
                       std::shared_ptr<const text::Tokenizer> tokenizer, std::vector<TokenId> prefix)
    : package_(std::move(package)), tokenizer_(std::move(tokenizer)), prefix_(std::move(prefix)) {}

bool Vocabulary::is_stop(TokenId id) const {
  return std::ranges::find(config().eos_token_ids, id) != config().eos_token_ids.end();
}

std::vector<TokenId> Vocabulary::with_prefix(std::vector<TokenId> ids) const {
  if (!starts_with(ids, prefix_)) ids.insert(ids.begin(), prefix_.begin(), prefix_.end());
  return ids;
}

Result<std::vector<TokenId>> Vocabulary::encode_text(std::string_view text, bool parse_special) const {
  AMPHORA_ASSIGN(Ids ids, tokenizer_->encode(text, {.add_special = false, .parse_special = parse_special}));
  return with_prefix(std::move(ids));
}

Result<ChatFormat> ChatFormat::create(std::shared_ptr<const Vocabulary> vocabulary) {
  const auto& source = vocabulary->config().chat_template;
  if (!source)
    return fail(
        Fault::kUnsupported,
        "this model has no chat template: use raw completion, or name one with --chat-template chatml|FILE");
  const std::string copy = *source;
  return create(std::move(vocabulary), copy);
}

Result<ChatFormat> ChatFormat::create(std::shared_ptr<const Vocabulary> vocabulary,
                                      std::string_view template_source) {
  AMPHORA_ASSIGN(auto chat_template, text::ChatTemplate::parse(template_source));
  return ChatFormat(std::move(vocabulary), std::move(chat_template));
}

ChatFormat::ChatFormat(std::shared_ptr<const Vocabulary> vocabulary,
                       std::shared_ptr<const text::ChatTemplate> chat_template)
    : vocabulary_(std::move(vocabulary)),
      template_(std::move(chat_template)),
      markers_(find_markers(*vocabulary_->tokenizer(), *template_)) {}

text::ChatRequest ChatFormat::with_token_variables(text::ChatRequest request) const {
  const TokenizerConfig& config = vocabulary_->config();
  const auto define = [&](const char* name, std::optional<TokenId> id) {
    const std::string* piece = id ? vocabulary_->tokenizer()->find_piece(*id) : nullptr;
    if (!piece || std::ranges::find(request.variables, name, &json::Member::key) != request.variables.end())
      return;
    request.own_variables.push_back({name, json::Value::string(*piece)});
  };
  define("bos_token", config.bos_token_id);
  define("eos_token",
         config.eos_token_ids.empty() ? std::nullopt : std::optional(config.eos_token_ids.front()));
  define("pad_token", config.pad_token_id);
  return request;
}

Result<std::string> ChatFormat::render(const text::ChatRequest& request) const {
  return template_->render(with_token_variables(request));
}

Result<std::vector<TokenId>> ChatFormat::encode(const text::ChatRequest& request) const {
  AMPHORA_ASSIGN(const text::QuotedText prompt, template_->render_quoted(with_token_variables(request)));
  AMPHORA_ASSIGN(Ids ids,
                 vocabulary_->tokenizer()->encode(
                     prompt.text, {.add_special = false, .quoted = prompt.quoted, .markers = markers_}));
  return vocabulary_->with_prefix(std::move(ids));
}

}  // namespace amphora
