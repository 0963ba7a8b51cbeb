// The post-processors of tokenizer.json.
#include "text/tokenizer/post_processor.h"

#include <algorithm>

namespace amphora::text {
namespace {

Result<std::vector<TokenId>> read_ids(const json::Value& ids, const Component& component) {
  std::vector<TokenId> out;
  for (const json::Value& item : ids.items()) {
    const auto id = item.is_number() ? item.as_unsigned() : std::nullopt;
    if (!id || *id > UINT32_MAX)
      return component.corrupt("special_tokens", "holds an id that is no token id");
    out.push_back(static_cast<TokenId>(*id));
  }
  return out;
}

}  // namespace

Result<PostProcessor> PostProcessor::build(Component& component) {
  if (component.type() == "ByteLevel") {  // changes offsets, which are not part of the result
    for (const std::string_view key : {"add_prefix_space", "trim_offsets", "use_regex"})
      component.ignore(key);
    AMPHORA_TRY(component.finish());
    return PostProcessor();
  }
  if (component.type() == "TemplateProcessing") return build_template(component);
  if (component.type() == "Sequence") return build_sequence(component);
  if (component.type() == "BertProcessing") return build_classifier(component);
  if (component.type() == "RobertaProcessing") {
    for (const std::string_view key : {"add_prefix_space", "trim_offsets"}) component.ignore(key);
    return build_classifier(component);
  }
  return component.unsupported_type();
}

Result<PostProcessor> PostProcessor::build_sequence(Component& component) {
  PostProcessor sequence;
  AMPHORA_ASSIGN(auto parts, component.parts("processors"));
  AMPHORA_TRY(component.finish());
  for (Component& part : parts) {
    AMPHORA_ASSIGN(PostProcessor processor, build(part));
    if (!processor.is_template_) continue;
    // A second template would see the parts of the first as several texts.
    if (sequence.is_template_)
      return fail_at(Fault::kUnsupported, {}, component.place(), std::nullopt,
                     "tokenizer: post-processor 'Sequence' with two templates is not supported");
    sequence = std::move(processor);
  }
  return sequence;
}

// `[text, id]` of the fields "cls" and "sep", which go before and behind the text.
Result<PostProcessor> PostProcessor::build_classifier(Component& component) {
  PostProcessor processor;
  processor.is_template_ = true;
  std::vector<std::vector<TokenId>> ends;
  for (const std::string_view key : {"cls", "sep"}) {
    const json::Value* token = component.find(key);
    const bool pair = token != nullptr && token->is_array() && token->items().size() == 2 &&
                      token->items()[0].is_string() && token->items()[1].is_number();
    const auto id = pair ? token->items()[1].as_unsigned() : std::nullopt;
    if (!id || *id > UINT32_MAX) return component.corrupt(key, "is not a pair of text and token id");
    ends.push_back({static_cast<TokenId>(*id)});
  }
  AMPHORA_TRY(component.finish());
  const Piece cls{Source::kSpecial, 0, ends[0]}, sep{Source::kSpecial, 0, ends[1]};
  processor.single_ = {cls, {Source::kFirst}, sep};
  // RoBERTa's models know no types of texts, and get a separator on both sides of the gap.
  if (component.type() == "RobertaProcessing")
    processor.pair_ = {cls, {Source::kFirst}, sep, sep, {Source::kSecond}, sep};
  else
    processor.pair_ = {cls, {Source::kFirst}, sep, {Source::kSecond, 1}, {Source::kSpecial, 1, ends[1]}};
  return processor;
}

Result<PostProcessor> PostProcessor::build_template(Component& component) {
  PostProcessor processor;
  processor.is_template_ = true;
  const json::Value* tokens = component.find("special_tokens");
  if (tokens != nullptr && !tokens->is_object())
    return component.corrupt("special_tokens", "is not an object");
  AMPHORA_ASSIGN(processor.single_, read_pieces(component, "single", tokens));
  AMPHORA_ASSIGN(processor.pair_, read_pieces(component, "pair", tokens));
  AMPHORA_TRY(component.finish());
  return processor;
}

Result<std::vector<PostProcessor::Piece>> PostProcessor::read_pieces(Component& component,
                                                                     std::string_view key,
                                                                     const json::Value* tokens) {
  const json::Value* list = component.find(key);
  if (list == nullptr || !list->is_array()) return component.corrupt(key, "is not an array");
  std::vector<Piece> pieces;
  for (const json::Value& item : list->items()) {
    if (!item.is_object() || item.members().size() != 1)
      return component.corrupt(key, "holds an unknown piece");
    const auto& [kind, piece] = item.members()[0];
    const json::Value* id = piece.is_object() ? piece.find("id") : nullptr;
    if (id == nullptr || !id->is_string()) return component.corrupt(key, "holds a piece without id");
    const json::Value* type = piece.find("type_id");
    const auto type_id = type != nullptr && type->is_number() ? type->as_unsigned() : std::nullopt;
    if (!type_id || *type_id > UINT32_MAX) return component.corrupt(key, "holds a piece without type_id");
    const auto type_of_piece = static_cast<uint32_t>(*type_id);
    if (kind == "Sequence") {
      const bool is_second = id->text() == "B";
      if (!is_second && id->text() != "A") return component.corrupt(key, "uses a text that is not A or B");
      if (is_second && key == "single") return component.corrupt(key, "uses a second text");
      pieces.push_back({is_second ? Source::kSecond : Source::kFirst, type_of_piece});
      continue;
    }
    if (kind != "SpecialToken") return component.corrupt(key, fmt::format("holds a piece '{}'", kind));
    const json::Value* token = tokens == nullptr ? nullptr : tokens->find(id->text());
    const json::Value* ids = token == nullptr || !token->is_object() ? nullptr : token->find("ids");
    if (ids == nullptr || !ids->is_array())
      return component.corrupt("special_tokens", fmt::format("does not give the ids of '{}'", id->text()));
    AMPHORA_ASSIGN(auto special, read_ids(*ids, component));
    pieces.push_back({Source::kSpecial, type_of_piece, std::move(special)});
  }
  return pieces;
}

std::vector<TokenId> PostProcessor::apply(std::vector<TokenId> ids, bool add_special) const {
  if (single_.size() == 1 && single_[0].source == Source::kFirst) return ids;
  std::vector<TokenId> out;
  for (const Piece& piece : single_) {
    const bool is_special = piece.source == Source::kSpecial;
    if (is_special && !add_special) continue;
    const std::vector<TokenId>& added = is_special ? piece.special : ids;
    out.insert(out.end(), added.begin(), added.end());
  }
  return out;
}

EncodedPair PostProcessor::apply_to_pair(const std::vector<TokenId>& first,
                                         const std::vector<TokenId>& second, bool add_special) const {
  EncodedPair out;
  for (const Piece& piece : pair_) {
    if (piece.source == Source::kSpecial && !add_special) continue;
    const std::vector<TokenId>& added = piece.source == Source::kSpecial ? piece.special
                                        : piece.source == Source::kFirst ? first
                                                                         : second;
    out.ids.insert(out.ids.end(), added.begin(), added.end());
    out.type_ids.insert(out.type_ids.end(), added.size(), piece.type_id);
  }
  return out;
}

}  // namespace amphora::text
