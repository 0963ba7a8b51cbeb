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
  std::vector<Piece> ends;
  for (const std::string_view key : {"cls", "sep"}) {
    const json::Value* token = component.find(key);
    const bool pair = token != nullptr && token->is_array() && token->items().size() == 2 &&
                      token->items()[0].is_string() && token->items()[1].is_number();
    const auto id = pair ? token->items()[1].as_unsigned() : std::nullopt;
    if (!id || *id > UINT32_MAX) return component.corrupt(key, "is not a pair of text and token id");
    ends.emplace_back(std::vector{static_cast<TokenId>(*id)});
  }
  AMPHORA_TRY(component.finish());
  processor.pieces_ = {ends[0], std::nullopt, ends[1]};
  return processor;
}

Result<PostProcessor> PostProcessor::build_template(Component& component) {
  PostProcessor processor;
  processor.is_template_ = true;
  processor.pieces_.clear();
  const json::Value* single = component.find("single");
  const json::Value* tokens = component.find("special_tokens");
  component.ignore("pair");
  AMPHORA_TRY(component.finish());
  if (single == nullptr || !single->is_array()) return component.corrupt("single", "is not an array");
  if (tokens != nullptr && !tokens->is_object())
    return component.corrupt("special_tokens", "is not an object");
  for (const json::Value& item : single->items()) {
    if (!item.is_object() || item.members().size() != 1)
      return component.corrupt("single", "holds an unknown piece");
    const auto& [kind, piece] = item.members()[0];
    const json::Value* id = piece.is_object() ? piece.find("id") : nullptr;
    if (id == nullptr || !id->is_string()) return component.corrupt("single", "holds a piece without id");
    if (kind == "Sequence") {
      if (id->text() != "A") return component.corrupt("single", "uses a second text");
      processor.pieces_.emplace_back(std::nullopt);
      continue;
    }
    if (kind != "SpecialToken") return component.corrupt("single", fmt::format("holds a piece '{}'", kind));
    const json::Value* token = tokens == nullptr ? nullptr : tokens->find(id->text());
    const json::Value* ids = token == nullptr || !token->is_object() ? nullptr : token->find("ids");
    if (ids == nullptr || !ids->is_array())
      return component.corrupt("special_tokens", fmt::format("does not give the ids of '{}'", id->text()));
    AMPHORA_ASSIGN(auto list, read_ids(*ids, component));
    processor.pieces_.emplace_back(std::move(list));
  }
  return processor;
}

std::vector<TokenId> PostProcessor::apply(std::vector<TokenId> ids, bool add_special) const {
  if (pieces_.size() == 1 && !pieces_[0]) return ids;
  std::vector<TokenId> out;
  for (const Piece& piece : pieces_) {
    if (piece && !add_special) continue;
    const std::vector<TokenId>& added = piece ? *piece : ids;
    out.insert(out.end(), added.begin(), added.end());
  }
  return out;
}

}  // namespace amphora::text
