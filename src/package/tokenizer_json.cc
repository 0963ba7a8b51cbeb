// A tokenizer.json put together from its parts.
#include "package/tokenizer_json.h"

#include <fmt/format.h>

#include <iterator>

#include "amphora/json.h"

namespace amphora::package {
namespace {

std::string added_tokens_json(std::span<const AddedToken> tokens) {
  std::string json;
  for (const AddedToken& token : tokens)
    fmt::format_to(std::back_inserter(json),
                   R"({}{{"id":{},"content":{},"single_word":{},"lstrip":{},"rstrip":{},"normalized":{},)"
                   R"("special":{}}})",
                   json.empty() ? "" : ",", token.id, json_text(token.content), token.single_word,
                   token.strip_left, token.strip_right, token.normalized, token.special);
  return json;
}

}  // namespace

std::string json_text(std::string_view text) { return json::dump(json::Value::string(std::string(text))); }

std::string post_processor_json(const std::optional<NamedToken>& bos, const std::optional<NamedToken>& eos) {
  if (!bos && !eos) return "null";
  const auto special = [](const std::optional<NamedToken>& token, int type_id) {
    return token ? fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}})", json_text(token->text),
                               type_id)
                 : std::string();
  };
  const auto sequence = [&](std::string_view name, int type_id) {
    std::string items = special(bos, type_id);
    if (bos) items += ',';
    items += fmt::format(R"({{"Sequence":{{"id":"{}","type_id":{}}}}})", name, type_id);
    if (eos) items += ',' + special(eos, type_id);
    return items;
  };
  const auto definition = [](const NamedToken& token) {
    return fmt::format(R"({0}:{{"id":{0},"ids":[{1}],"tokens":[{0}]}})", json_text(token.text), token.id);
  };
  std::string definitions = bos ? definition(*bos) : "";
  if (eos && !(bos && bos->id == eos->id)) definitions += (bos ? "," : "") + definition(*eos);
  return fmt::format(
      R"({{"type":"TemplateProcessing","single":[{}],"pair":[{},{}],"special_tokens":{{{}}}}})",
      sequence("A", 0), sequence("A", 0), sequence("B", 1), definitions);
}

std::string bpe_model_json(std::string_view fields, std::span<const std::string> pieces,
                           std::span<const Merge> merges) {
  std::string json = fmt::format(R"({{"type":"BPE","dropout":null,{},"vocab":{{)", fields);
  for (uint32_t id = 0; id < pieces.size(); ++id)
    fmt::format_to(std::back_inserter(json), "{}{}:{}", id == 0 ? "" : ",", json_text(pieces[id]), id);
  json += R"(},"merges":[)";
  for (size_t i = 0; i < merges.size(); ++i) {
    if (i != 0) json += ',';
    json += json_text(pieces[merges[i].left] + ' ' + pieces[merges[i].right]);
  }
  return json += "]}";
}

LlamaComponents llama_components(bool prefix, std::optional<std::string_view> unknown, bool byte_fallback) {
  const std::string mark =
      fmt::format(R"({{"type":"Replace","pattern":{{"String":" "}},"content":"{}"}})", kSpaceMark);
  const std::string unmark =
      fmt::format(R"({{"type":"Replace","pattern":{{"String":"{}"}},"content":" "}})", kSpaceMark);
  LlamaComponents components;
  components.normalizer =
      prefix ? fmt::format(R"({{"type":"Sequence","normalizers":[{{"type":"Prepend","prepend":"{}"}},{}]}})",
                           kSpaceMark, mark)
             : mark;
  components.decoder =
      fmt::format(R"({{"type":"Sequence","decoders":[{},{{"type":"ByteFallback"}},{{"type":"Fuse"}}{}]}})",
                  unmark, prefix ? R"(,{"type":"Strip","content":" ","start":1,"stop":0})" : "");
  components.model_fields = fmt::format(
      R"("unk_token":{},"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":true,)"
      R"("byte_fallback":{},"ignore_merges":false)",
      unknown ? json_text(*unknown) : "null", byte_fallback);
  return components;
}

std::string tokenizer_json(const TokenizerParts& parts) {
  return fmt::format(
      R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{}],"normalizer":{},"pre_tokenizer":{},)"
      R"("post_processor":{},"decoder":{},"model":{}}})",
      added_tokens_json(parts.added_tokens), parts.normalizer, parts.pre_tokenizer, parts.post_processor,
      parts.decoder, parts.model);
}

}  // namespace amphora::package
