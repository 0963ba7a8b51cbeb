// What stands between a package and a plan: see findings.h.
#include "model/findings.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <ranges>
#include <span>

namespace amphora::model {
namespace {

/// How many of a kind are named: a model of another make can differ in every tensor of every layer.
constexpr size_t kMostNamed = 8;

// "model.layers.12.mlp.up_proj.weight" in three parts; without a layer number the head is the whole name.
struct LayeredName {
  std::string_view head, tail;
  std::optional<uint32_t> layer;
};

LayeredName split_layer(std::string_view name) {
  constexpr std::string_view kMark = "layers.";
  const size_t mark = name.find(kMark);
  if (mark == std::string_view::npos) return {name, {}, {}};
  const size_t begin = mark + kMark.size();
  uint32_t layer = 0;
  const auto [end, fault] = std::from_chars(name.data() + begin, name.data() + name.size(), layer);
  if (fault != std::errc{}) return {name, {}, {}};
  return {name.substr(0, begin), std::string_view(end, name.data() + name.size()), layer};
}

std::string list_layers(std::vector<uint32_t> layers) {
  std::ranges::sort(layers);
  std::string text;
  for (size_t i = 0; i < layers.size();) {
    size_t last = i;
    while (last + 1 < layers.size() && layers[last + 1] <= layers[last] + 1) ++last;
    if (!text.empty()) text += ',';
    text += std::to_string(layers[i]);
    if (layers[last] != layers[i]) text += '-' + std::to_string(layers[last]);
    i = last + 1;
  }
  return layers.size() == 1 ? text : '{' + text + '}';
}

void append(std::string& text, std::string_view part) {
  if (!text.empty()) text += "; ";
  text += part;
}

std::string and_more(size_t count) { return "… and " + std::to_string(count) + " more"; }

std::string join(std::span<const std::string> parts) {
  std::string text;
  for (const std::string& part : parts.first(std::min(parts.size(), kMostNamed))) append(text, part);
  if (parts.size() > kMostNamed) append(text, and_more(parts.size() - kMostNamed));
  return text;
}

}  // namespace

std::string list_names(const std::vector<std::string>& names) {
  struct Group {
    std::string_view head, tail;
    std::vector<uint32_t> layers;
  };
  std::vector<Group> groups;  // in order of first appearance
  for (const std::string& name : names) {
    const LayeredName parts = split_layer(name);
    auto group = std::ranges::find_if(groups, [&](const Group& known) {
      return known.head == parts.head && known.tail == parts.tail &&
             !known.layers.empty() == parts.layer.has_value();
    });
    if (group == groups.end()) group = groups.insert(group, {parts.head, parts.tail, {}});
    if (parts.layer) group->layers.push_back(*parts.layer);
  }
  std::string text;
  size_t named = 0;
  for (const Group& group : groups | std::views::take(kMostNamed)) {
    if (!text.empty()) text += ", ";
    text += group.head;
    if (!group.layers.empty()) text += list_layers(group.layers);
    text += group.tail;
    named += std::max<size_t>(group.layers.size(), 1);
  }
  if (groups.size() > kMostNamed) text += ", " + and_more(names.size() - named);
  return text;
}

void Findings::unsupported_operator(std::string_view name, std::string_view tensor) {
  auto known = std::ranges::find(operators_, name, &Operator::name);
  if (known == operators_.end()) known = operators_.insert(known, {std::string(name), {}});
  known->tensors.emplace_back(tensor);
}

void Findings::unsupported(std::string words) { unsupported_.push_back(std::move(words)); }
void Findings::contradiction(std::string words) { contradictions_.push_back(std::move(words)); }

bool Findings::empty() const {
  return operators_.empty() && unsupported_.empty() && contradictions_.empty() && missing_.empty() &&
         unused_.empty();
}

Error Findings::error() const {
  const bool cannot = !operators_.empty() || !unsupported_.empty();
  std::string text;
  for (const Operator& one : operators_)
    append(text, one.name + " (" + list_names(one.tensors) + ") is not supported");
  if (!unsupported_.empty()) append(text, join(unsupported_));
  if (!contradictions_.empty()) append(text, join(contradictions_));
  if (!missing_.empty()) append(text, "missing tensors: " + list_names(missing_));
  if (!unused_.empty()) append(text, "unused tensors: " + list_names(unused_));
  const bool only_missing = !cannot && !missing_.empty();
  return Error{cannot ? Fault::kUnsupported : Fault::kCorrupt, only_missing ? "Missing" : "", "",
               std::nullopt, "this model cannot run: " + text};
}

}  // namespace amphora::model
