// Compares a tokenizer.json with the files beside it, as far as transformers lets them change ids.
#include "package/settings_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "package/added_tokens.h"
#include "package/bpe_classes.h"
#include "package/json_members.h"
#include "package/object_reader.h"
#include "package/tokenizer_json.h"

namespace amphora::package {
namespace {

constexpr size_t kMaxNamed = 3;
constexpr size_t kMaxShownBytes = 40;

/// Whether a token is put before and behind a text.
struct Frame {
  bool before = false, behind = false;
};

Frame frame_of(const json::Value& post_processor) {
  Frame frame;
  if (!post_processor.is_object()) return frame;
  const json::Value* type = post_processor.find_present("type");
  if (type == nullptr || !type->is_string()) return frame;
  if (type->text() == "RobertaProcessing" || type->text() == "BertProcessing") return {true, true};
  if (type->text() == "Sequence") {
    const json::Value* processors = post_processor.find_present("processors");
    if (processors != nullptr && processors->is_array())
      for (const json::Value& item : processors->items()) {
        const Frame inner = frame_of(item);
        frame.before |= inner.before;
        frame.behind |= inner.behind;
      }
    return frame;
  }
  const json::Value* single = post_processor.find_present("single");
  if (type->text() != "TemplateProcessing" || single == nullptr || !single->is_array() ||
      single->items().empty())
    return frame;
  const auto is_token = [](const json::Value& item) {
    return item.is_object() && item.find_present("SpecialToken") != nullptr;
  };
  return {is_token(single->items().front()), is_token(single->items().back())};
}

void note_frame(std::string_view key, std::string_view where, bool has_one, const json::Value& config,
                std::vector<std::string>& notes) {
  const json::Value* said = config.find_present(key);
  if (said == nullptr || !said->is_bool() || said->as_bool() == has_one) return;
  notes.push_back(fmt::format(
      "tokenizer_config.json has {} = {}, but the post-processor of tokenizer.json puts {} {} a text: "
      "tokenizer.json counts, as in transformers 5",
      key, said->as_bool(), has_one ? "a token" : "none", where));
}

/// Of a ByteLevel in the pre-tokenizer, if there is one.
std::optional<bool> byte_level_prefix(const json::Value& pre_tokenizer) {
  if (!pre_tokenizer.is_object()) return std::nullopt;
  const json::Value* type = pre_tokenizer.find_present("type");
  if (type == nullptr || !type->is_string()) return std::nullopt;
  if (type->text() == "ByteLevel") {
    const json::Value* prefix = pre_tokenizer.find_present("add_prefix_space");
    return prefix != nullptr && prefix->is_bool() ? std::optional(prefix->as_bool()) : std::nullopt;
  }
  const json::Value* inner = pre_tokenizer.find_present("pretokenizers");
  if (inner != nullptr && inner->is_array())
    for (const json::Value& item : inner->items())
      if (const auto prefix = byte_level_prefix(item)) return prefix;
  return std::nullopt;
}

/// Only classes that build a tokenizer from its parts read the setting beside a tokenizer.json.
void note_prefix(std::string_view tokenizer_json, const TokenizerDirectory& directory,
                 std::vector<std::string>& notes) {
  const json::Value* said = directory.tokenizer_config.find_present("add_prefix_space");
  if (said == nullptr || !said->is_bool()) return;
  const BpeClass* known = find_bpe_class(tokenizer_class_of(directory).text);
  if (known == nullptr || known->framing == Framing::kClip) return;
  const auto has = byte_level_prefix(parse_member(tokenizer_json, "pre_tokenizer"));
  if (!has || *has == said->as_bool()) return;
  notes.push_back(
      fmt::format("tokenizer_config.json has add_prefix_space = {}, but tokenizer.json has {}: {} of "
                  "transformers takes the former, here tokenizer.json counts",
                  said->as_bool(), *has, known->name));
}

/// Whatever is malformed is for the tokenizer's own reader to name.
std::unordered_map<std::string, AddedToken> added_tokens_of(std::string_view tokenizer_json) {
  std::unordered_map<std::string, AddedToken> tokens;
  const json::Value added = parse_member(tokenizer_json, "added_tokens");
  if (!added.is_array()) return tokens;
  for (const json::Value& item : added.items()) {
    if (!item.is_object()) continue;
    ObjectReader in(item, "$");
    const uint32_t id = in.read_integer("id");
    auto token = read_token(item, "$", false);
    if (!in.ok() || !token) continue;
    token->id = id;
    tokens.emplace(token->content, *token);
  }
  return tokens;
}

/// Texts of tokens, each once: a token can have several parts to play.
class TokenNames {
 public:
  void add(const std::string& content) {
    if (std::ranges::find(contents_, content) == contents_.end()) contents_.push_back(content);
  }
  bool empty() const { return contents_.empty(); }
  std::string text() const {
    std::string text;
    for (size_t i = 0; i < std::min(contents_.size(), kMaxNamed); ++i) {
      std::string_view shown = contents_[i];
      size_t end = std::min(shown.size(), kMaxShownBytes);
      while (end < shown.size() && (static_cast<uint8_t>(shown[end]) & 0xC0) == 0x80) --end;
      text += (i == 0 ? "" : ", ") + json_text(shown.substr(0, end));
    }
    if (contents_.size() > kMaxNamed) text += fmt::format(" and {} more", contents_.size() - kMaxNamed);
    return text;
  }

 private:
  std::vector<std::string> contents_;
};

Status note_tokens(std::string_view tokenizer_json, const TokenizerDirectory& directory,
                   std::vector<std::string>& notes) {
  AMPHORA_ASSIGN(const TokenSettings settings, read_token_settings(directory, {}, true));
  const auto own = added_tokens_of(tokenizer_json);
  const bool have_properties = directory.tokenizer_config.is_object() &&
                               directory.tokenizer_config.find_present("added_tokens_decoder") != nullptr;
  const auto is_part = [&](const std::string& content) {
    return std::ranges::any_of(settings.parts,
                               [&](const auto& part) { return part && part->content == content; });
  };
  TokenNames missing, moved, changed;
  for (const AddedToken& token : settings.with_ids) {
    const auto found = own.find(token.content);
    if (found == own.end()) {
      missing.add(token.content);
    } else if (found->second.id != token.id) {
      moved.add(token.content);
    } else if (have_properties) {
      AddedToken wanted = token;
      wanted.special = token.special || is_part(token.content);
      if (wanted != found->second) changed.add(token.content);
    }
  }
  const auto look_for = [&](const AddedToken& token) {
    if (!token.content.empty() && !own.contains(token.content)) missing.add(token.content);
  };
  for (const auto& part : settings.parts)
    if (part) look_for(*part);
  for (const AddedToken& token : settings.others) look_for(token);
  if (!missing.empty())
    notes.push_back(
        fmt::format("the settings beside tokenizer.json add {}, which it does not have as added tokens: "
                    "transformers adds them when it loads, here tokenizer.json alone counts",
                    missing.text()));
  if (!moved.empty())
    notes.push_back(fmt::format(
        "the settings beside tokenizer.json give other ids than it does to {}: tokenizer.json counts",
        moved.text()));
  if (!changed.empty())
    notes.push_back(fmt::format(
        "added_tokens_decoder and tokenizer.json give other properties (lstrip, rstrip, single_word, "
        "normalized, special) to {}: transformers takes the former, here tokenizer.json counts",
        changed.text()));
  return {};
}

}  // namespace

Result<std::vector<std::string>> notes_on_settings(std::string_view tokenizer_json,
                                                   const TokenizerDirectory& directory) {
  std::vector<std::string> notes;
  const json::Value& config = directory.tokenizer_config;
  if (config.is_object()) {
    if (config.find_present("add_bos_token") != nullptr || config.find_present("add_eos_token") != nullptr) {
      const Frame frame = frame_of(parse_member(tokenizer_json, "post_processor"));
      note_frame("add_bos_token", "before", frame.before, config, notes);
      note_frame("add_eos_token", "behind", frame.behind, config, notes);
    }
    note_prefix(tokenizer_json, directory, notes);
  }
  AMPHORA_TRY(note_tokens(tokenizer_json, directory, notes));
  return notes;
}

}  // namespace amphora::package
