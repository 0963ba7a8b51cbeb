// Looks at single sections of a tokenizer.json.
#include "package/tokenizer_check.h"

#include <fmt/format.h>

#include "package/json_members.h"
#include "package/tokenizer_json.h"
#include "text/tokenizer.h"

namespace amphora::package {

std::optional<UnknownPreTokenizer> find_unknown_pre_tokenizer(std::string_view tokenizer_json) {
  const json::Value own = parse_member(tokenizer_json, "pre_tokenizer");
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

}  // namespace amphora::package
