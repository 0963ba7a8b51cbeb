// Reading one component of tokenizer.json.
#include "text/tokenizer/component.h"

#include <algorithm>

#include "unicode/utf8.h"

namespace amphora::text {

Result<Component> Component::open(const json::Value& value, std::string_view role, std::string place,
                                  int depth) {
  Component component;
  component.value_ = &value;
  component.role_ = role;
  component.place_ = std::move(place);
  component.depth_ = depth;
  if (depth > kMaxComponentDepth)
    return fail_at(Fault::kRefused, {}, component.place_, std::nullopt,
                   fmt::format("tokenizer: {}s are nested more than {} deep", role, kMaxComponentDepth));
  if (!value.is_object())
    return fail_at(
        Fault::kCorrupt, {}, component.place_, std::nullopt,
        fmt::format("tokenizer: found {} where a {} was expected", json::kind_name(value.kind()), role));
  AMPHORA_ASSIGN(component.type_, component.string("type"));
  return component;
}

const json::Value* Component::find(std::string_view key) {
  read_.push_back(key);
  return value_->find_present(key);
}

std::unexpected<Error> Component::corrupt(std::string_view key, std::string_view what) const {
  return fail_at(Fault::kCorrupt, {}, place_ + json::path_step(key), std::nullopt,
                 fmt::format("tokenizer: {} '{}': '{}' {}", role_, type_, key, what));
}

std::unexpected<Error> Component::unsupported_type() const {
  return fail_at(Fault::kUnsupported, {}, place_, std::nullopt,
                 fmt::format("tokenizer: {} '{}' is not supported", role_, type_));
}

Status Component::finish() const {
  for (const json::Member& member : value_->members())
    if (std::ranges::find(read_, std::string_view(member.key)) == read_.end())
      return fail_at(
          Fault::kUnsupported, {}, place_ + json::path_step(member.key), std::nullopt,
          fmt::format("tokenizer: {} '{}': field '{}' is not supported", role_, type_, member.key));
  return {};
}

Result<bool> Component::boolean(std::string_view key, std::optional<bool> if_absent) {
  const json::Value* field = find(key);
  if (field == nullptr && if_absent) return *if_absent;
  if (field == nullptr || !field->is_bool()) return corrupt(key, "is not true or false");
  return field->as_bool();
}

Result<std::string> Component::string(std::string_view key) {
  const json::Value* field = find(key);
  if (field == nullptr || !field->is_string()) return corrupt(key, "is not a string");
  return field->text();
}

Result<char32_t> Component::character(std::string_view key) {
  AMPHORA_ASSIGN(const std::string text, string(key));
  if (text.empty() || unicode::decode_utf8(text, 0).bytes != text.size())
    return corrupt(key, "is not one character");
  return unicode::decode_utf8(text, 0).code_point;
}

Result<uint64_t> Component::count(std::string_view key) {
  const json::Value* field = find(key);
  const auto number = field != nullptr && field->is_number() ? field->as_unsigned() : std::nullopt;
  if (!number) return corrupt(key, "is not a count");
  return *number;
}

Result<Pattern> Component::pattern(std::string_view key) {
  const json::Value* field = find(key);
  if (field != nullptr && field->is_object() && field->members().size() == 1 &&
      field->members()[0].value.is_string()) {
    const auto& [kind, value] = field->members()[0];
    if (kind == "String") return Pattern::literal(value.text());
    if (kind == "Regex") return Pattern::regex(value.text());
  }
  return corrupt(key, "is neither {\"String\": …} nor {\"Regex\": …}");
}

Result<SplitBehavior> Component::split_behavior(std::string_view key,
                                                std::optional<SplitBehavior> if_absent) {
  struct Name {
    std::string_view text;
    SplitBehavior value;
  };
  constexpr Name kNames[] = {{"Removed", SplitBehavior::kRemoved},
                             {"Isolated", SplitBehavior::kIsolated},
                             {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
                             {"MergedWithNext", SplitBehavior::kMergedWithNext},
                             {"Contiguous", SplitBehavior::kContiguous}};
  if (if_absent && find(key) == nullptr) return *if_absent;
  AMPHORA_ASSIGN(const std::string text, string(key));
  for (const Name& name : kNames)
    if (name.text == text) return name.value;
  return fail_at(Fault::kUnsupported, {}, place_ + json::path_step(key), std::nullopt,
                 fmt::format("tokenizer: {} '{}': {} '{}' is not supported", role_, type_, key, text));
}

Result<std::vector<Component>> Component::parts(std::string_view key) {
  const json::Value* field = find(key);
  if (field == nullptr || !field->is_array()) return corrupt(key, "is not an array");
  std::vector<Component> parts;
  for (size_t i = 0; i < field->items().size(); ++i) {
    AMPHORA_ASSIGN(
        Component part,
        open(field->items()[i], role_, fmt::format("{}{}[{}]", place_, json::path_step(key), i), depth_ + 1));
    parts.push_back(std::move(part));
  }
  return parts;
}

}  // namespace amphora::text
