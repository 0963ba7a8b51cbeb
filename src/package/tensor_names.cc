// Names taken apart.
#include "package/tensor_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace amphora::package {
namespace {

constexpr std::string_view kSkillPrefix = "skill.";
constexpr std::string_view kLayersPrefix = "model.layers.";
constexpr std::string_view kExperts = ".mlp.experts.";
constexpr std::array<std::string_view, 3> kExpertMatrices = {".gate_proj.weight", ".up_proj.weight",
                                                             ".down_proj.weight"};

}  // namespace

template <class T>
std::optional<T> parse_decimal(std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (text.size() > 1 && text.front() == '0') return std::nullopt;
  return value;
}
template std::optional<uint32_t> parse_decimal(std::string_view text);
template std::optional<uint64_t> parse_decimal(std::string_view text);

std::vector<std::string> skill_ids(const Package& package) {
  std::vector<std::string> ids;
  const json::Value* skills = package.header.find_present("skills");
  if (skills == nullptr) return ids;
  for (const json::Value& skill : skills->items())
    if (const json::Value* id = skill.find("id"); id != nullptr && id->is_string()) ids.push_back(id->text());
  return ids;
}

std::string_view own_name(std::string_view name, std::span<const std::string> skill_ids) {
  if (!name.starts_with(kSkillPrefix)) return name;
  const std::string_view rest = name.substr(kSkillPrefix.size());
  for (const std::string& id : skill_ids)  // no id is the dotted beginning of another: at most one fits
    if (rest.size() > id.size() && rest.starts_with(id) && rest[id.size()] == '.')
      return rest.substr(id.size() + 1);
  return name;
}

std::optional<ExpertWeight> find_expert_weight(std::string_view name,
                                               std::span<const std::string> skill_ids) {
  const std::string_view own = own_name(name, skill_ids);
  const size_t experts = own.find(kExperts);
  if (experts == std::string_view::npos) return std::nullopt;
  const size_t number = experts + kExperts.size();
  const size_t dot = own.find('.', number);
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view matrix = own.substr(dot);
  const auto expert = parse_decimal<uint64_t>(own.substr(number, dot - number));
  if (!expert || std::ranges::find(kExpertMatrices, matrix) == kExpertMatrices.end()) return std::nullopt;
  ExpertWeight weight{*expert, "", std::nullopt};
  const std::string_view before = name.substr(0, name.size() - own.size() + number);
  weight.family = fmt::format("{}*{}", before, matrix);
  if (own.starts_with(kLayersPrefix))
    weight.layer = parse_decimal<uint32_t>(own.substr(kLayersPrefix.size(), experts - kLayersPrefix.size()));
  return weight;
}

}  // namespace amphora::package
