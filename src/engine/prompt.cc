// From text and conversations to prompt ids: see prompt.h.
#include "engine/prompt.h"

#include <algorithm>

#include "amphora/json.h"

namespace amphora {
namespace {

using Ids = std::vector<TokenId>;

void append(Ids& ids, const Ids& more) { ids.insert(ids.end(), more.begin(), more.end()); }

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

/// A private-use character of plane 16.
std::string private_character(uint32_t index) {
  const uint32_t code = 0x100000 + index;
  return {static_cast<char>(0xF4), static_cast<char>(0x80 | ((code >> 12) & 0x3F)),
          static_cast<char>(0x80 | ((code >> 6) & 0x3F)), static_cast<char>(0x80 | (code & 0x3F))};
}

/// Special tokens in the strings of a request, and the character that stands for each while the template
/// runs.
class Marks {
 public:
  Marks(const engine::SpecialTokens& specials, const text::ChatRequest& request)
      : specials_(specials), request_text_(json::dump(request.messages) + json::dump(request.tools)) {}

  void mark(json::Value& value) {
    if (value.is_string()) {
      std::string text = value.text();
      if (mark(text)) value = json::Value::string(std::move(text));
    }
    for (json::Value& item : value.items()) mark(item);
    for (json::Member& member : value.members()) {
      mark(member.key);
      mark(member.value);
    }
  }

  bool empty() const { return token_of_.empty(); }

  /// The text with marks turned back; whether there were any.
  bool restore(std::string& text) const {
    bool found = false;
    for (const auto& [mark, token] : token_of_) {
      for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + token.size())) {
        text.replace(at, mark.size(), token);
        found = true;
      }
    }
    return found;
  }

 private:
  bool mark(std::string& text) {
    std::string marked;
    size_t done = 0;
    for (size_t at = 0; at < text.size();) {
      const std::string_view token = specials_.find_at(text, at);
      if (token.empty()) {
        ++at;
        continue;
      }
      marked.append(text, done, at - done);
      marked += mark_of(token);
      at += token.size();
      done = at;
    }
    if (done == 0) return false;
    marked.append(text, done);
    text = std::move(marked);
    return true;
  }

  const std::string& mark_of(std::string_view token) {
    const auto known = std::ranges::find(token_of_, token, &std::pair<std::string, std::string>::second);
    if (known != token_of_.end()) return known->first;
    do {
      next_mark_ = private_character(next_index_++);
    } while (request_text_.find(next_mark_) != std::string::npos);
    return token_of_.emplace_back(next_mark_, token).first;
  }

  const engine::SpecialTokens& specials_;
  std::string request_text_;
  std::vector<std::pair<std::string, std::string>> token_of_;  ///< mark, token
  std::string next_mark_;
  uint32_t next_index_ = 0;
};

/// Encodes a rendered prompt whose contents carry marks. Between two special tokens of the template, a
/// stretch with marks is ordinary text as a whole; all else is encoded as it stands.
Result<Ids> encode_marked(const text::Tokenizer& tokenizer, const engine::SpecialTokens& specials,
                          const Marks& marks, std::string_view text) {
  Ids ids;
  size_t plain = 0;    // start of what is still to be encoded as it stands
  size_t stretch = 0;  // start of the stretch since the last special token
  for (size_t at = 0; at <= text.size();) {
    const std::string_view token = at < text.size() ? specials.find_at(text, at) : std::string_view();
    if (token.empty() && at < text.size()) {
      ++at;
      continue;
    }
    std::string content(text.substr(stretch, at - stretch));
    if (marks.restore(content)) {
      AMPHORA_ASSIGN(const Ids before, tokenizer.encode(text.substr(plain, stretch - plain),
                                                        {.add_special = false, .parse_special = true}));
      AMPHORA_ASSIGN(const Ids inside,
                     tokenizer.encode(content, {.add_special = false, .parse_special = false}));
      append(ids, before);
      append(ids, inside);
      plain = at;
    }
    at += std::max<size_t>(token.size(), 1);
    stretch = at;
  }
  AMPHORA_ASSIGN(const Ids rest,
                 tokenizer.encode(text.substr(plain), {.add_special = false, .parse_special = true}));
  append(ids, rest);
  return ids;
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
      specials_(*vocabulary_->tokenizer()) {}

text::ChatRequest ChatFormat::with_token_variables(text::ChatRequest request) const {
  const TokenizerConfig& config = vocabulary_->config();
  const auto define = [&](const char* name, std::optional<TokenId> id) {
    const std::string* piece = id ? vocabulary_->tokenizer()->find_piece(*id) : nullptr;
    if (!piece || std::ranges::find(request.variables, name, &json::Member::key) != request.variables.end())
      return;
    request.variables.push_back({name, json::Value::string(*piece)});
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
  text::ChatRequest marked = with_token_variables(request);
  Marks marks(specials_, request);
  marks.mark(marked.messages);
  marks.mark(marked.tools);
  AMPHORA_ASSIGN(const std::string text, template_->render(marked));
  const text::Tokenizer& tokenizer = *vocabulary_->tokenizer();
  AMPHORA_ASSIGN(Ids ids, marks.empty()
                              ? tokenizer.encode(text, {.add_special = false, .parse_special = true})
                              : encode_marked(tokenizer, specials_, marks, text));
  return vocabulary_->with_prefix(std::move(ids));
}

}  // namespace amphora
