// What the name of a tensor says: whose it is, and which expert's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/package.h"

namespace amphora::package {

/// The ids of the skills that a package's header registers.
std::vector<std::string> skill_ids(const Package& package);

/// A tensor's name without `skill.{id}.` in front: that of the tensor which a skill replaces.
std::string_view own_name(std::string_view name, std::span<const std::string> skill_ids);

/// A weight matrix of one expert: `….mlp.experts.{expert}.{gate,up,down}_proj.weight`.
struct ExpertWeight {
  uint64_t expert = 0;
  std::string family;             ///< the name with `*` for the number: one family per layer and projection
  std::optional<uint32_t> layer;  ///< of `model.layers.{layer}.`; absent in other stacks
};
/// `name` may be that of a skill's tensor; each skill has its own families.
std::optional<ExpertWeight> find_expert_weight(std::string_view name, std::span<const std::string> skill_ids);

/// A decimal number without sign, leading zeros or anything else.
template <class T>
std::optional<T> parse_decimal(std::string_view text);
extern template std::optional<uint32_t> parse_decimal(std::string_view text);
extern template std::optional<uint64_t> parse_decimal(std::string_view text);

}  // namespace amphora::package
