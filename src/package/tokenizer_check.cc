// Looks at single sections of a tokenizer.json.
#include "package/tokenizer_check.h"

#include <fmt/format.h>

#include <unordered_set>

#include "package/json_members.h"
#include "package/tokenizer_json.h"
#include "text/tokenizer.h"

namespace amphora::package {
namespace {

json::Value section(std::string_view tokenizer_json, std::string_view key) {
  const auto text = find_member_text(tokenizer_json, key);
  if (!text) return {};
  auto value = json::parse(*text);
  return value ? *std::move(value) : json::Value();
}

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

}  // namespace

std::optional<UnknownPreTokenizer> find_unknown_pre_tokenizer(std::string_view tokenizer_json) {
  const json::Value own = section(tokenizer_json, "pre_tokenizer");
  if (own.is_null()) return std::nullopt;
  // A tokenizer with nothing else in it that could be refused.
  TokenizerParts parts;
  parts.pre_tokenizer = json::dump(own);
  parts.model = bpe_model_json(
      R"("unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)"
      R"("byte_fallback":false,"ignore_merges":false)",
      std::vector<std::string>{"a"}, {});
  const auto tokenizer = text::Tokenizer::from_json(package::tokenizer_json(parts));
  if (tokenizer || tokenizer.error().fault != Fault::kUnsupported) return std::nullopt;
  return UnknownPreTokenizer{std::move(parts.pre_tokenizer), tokenizer.error().message};
}

std::string with_pre_tokenizer(std::string_view tokenizer_json, const PreTokenizer& pre_tokenizer) {
  const auto own = find_member_text(tokenizer_json, "pre_tokenizer");
  if (!own) return std::string(tokenizer_json);
  const auto begin = static_cast<size_t>(own->data() - tokenizer_json.data());
  std::string text(tokenizer_json.substr(0, begin));
  text += pre_tokenizer_json(pre_tokenizer);
  return text += tokenizer_json.substr(begin + own->size());
}

std::vector<std::string> notes_on_blocks(std::string_view tokenizer_json) {
  std::vector<std::string> notes;
  for (const std::string_view key : {"truncation", "padding"})
    if (const auto text = find_member_text(tokenizer_json, key); text && *text != "null")
      notes.push_back(fmt::format("tokenizer.json has a {0} block, which is ignored: amphora never {1} ids",
                                  key, key == "padding" ? "pads" : "cuts"));
  return notes;
}

std::vector<std::string> notes_on_settings(std::string_view tokenizer_json,
                                           const json::Value& tokenizer_config) {
  std::vector<std::string> notes;
  if (!tokenizer_config.is_object()) return notes;
  if (tokenizer_config.find_present("add_bos_token") != nullptr ||
      tokenizer_config.find_present("add_eos_token") != nullptr) {
    const Frame frame = frame_of(section(tokenizer_json, "post_processor"));
    note_frame("add_bos_token", "before", frame.before, tokenizer_config, notes);
    note_frame("add_eos_token", "behind", frame.behind, tokenizer_config, notes);
  }
  const json::Value* decoder = tokenizer_config.find_present("added_tokens_decoder");
  if (decoder == nullptr || !decoder->is_object() || decoder->members().empty()) return notes;
  std::unordered_set<std::string> known;
  const json::Value added = section(tokenizer_json, "added_tokens");
  if (added.is_array())
    for (const json::Value& item : added.items())
      if (const json::Value* content = item.is_object() ? item.find_present("content") : nullptr)
        known.insert(content->text());
  size_t missing = 0;
  std::string first;
  for (const json::Member& member : decoder->members()) {
    const json::Value* content = member.value.is_object() ? member.value.find_present("content") : nullptr;
    if (content == nullptr || known.contains(content->text())) continue;
    if (missing++ == 0) first = content->text().substr(0, 40);
  }
  if (missing != 0)
    notes.push_back(
        fmt::format("tokenizer_config.json adds {} tokens that tokenizer.json does not have as added ones, "
                    "the first \"{}\": "
                    "transformers adds them when it loads, here tokenizer.json alone counts",
                    missing, first));
  return notes;
}

}  // namespace amphora::package
