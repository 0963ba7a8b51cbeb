// The rules by which families place windows and linear attention.
#include "package/hf_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "package/name_table.h"

namespace amphora::package {
namespace {

constexpr uint32_t kQwenMaxWindowLayers = 28;
constexpr uint32_t kQwenFullAttentionInterval = 4;

constexpr std::array kTypeNames = {
    NamedValue<LayerType>{"full_attention", LayerType::kFullAttention},
    NamedValue<LayerType>{"sliding_attention", LayerType::kSlidingAttention},
    NamedValue<LayerType>{"linear_attention", LayerType::kLinearAttention},
};

bool has_windows(LayerRule rule) { return rule != LayerRule::kFull && rule != LayerRule::kLinearInterval; }

/// Whether a window counts only with use_sliding_window.
bool must_be_used(LayerRule rule) {
  return rule == LayerRule::kWindowedIfUsed || rule == LayerRule::kUpperWindowed ||
         rule == LayerRule::kLowerOddWindowed;
}

/// Whether layer_types may say something else than the rule.
bool types_decide(LayerRule rule) {
  return rule == LayerRule::kUpperWindowed || rule == LayerRule::kLowerOddWindowed ||
         rule == LayerRule::kWindowPattern || rule == LayerRule::kLinearInterval;
}

/// Whether layers of this type are possible under the rule.
bool allows(LayerRule rule, LayerType type) {
  return type == LayerType::kFullAttention ||
         type == (rule == LayerRule::kLinearInterval ? LayerType::kLinearAttention
                                                     : LayerType::kSlidingAttention);
}

/// A number of layers after which a pattern begins anew; 0 is rejected.
uint32_t read_period(ObjectReader& in, std::string_view key, std::optional<uint32_t> older,
                     uint32_t otherwise) {
  const uint32_t period = in.find_integer(key).value_or(older.value_or(otherwise));
  if (period == 0) in.reject(key, "0 is no pattern");
  return std::max(1u, period);
}

/// The layer types that follow from the family's rule alone.
std::vector<LayerType> types_by_rule(ObjectReader& in, const Family& family, const ModelSpec& spec) {
  std::vector<LayerType> types(spec.num_layers, LayerType::kFullAttention);
  const auto window_where = [&](auto condition) {
    for (uint32_t layer = 0; layer < spec.num_layers; ++layer)
      if (spec.sliding_window && condition(layer)) types[layer] = LayerType::kSlidingAttention;
  };
  switch (family.layers) {
    case LayerRule::kFull: break;
    case LayerRule::kWindowed:
    case LayerRule::kWindowedIfUsed: window_where([](uint32_t) { return true; }); break;
    case LayerRule::kUpperWindowed:
    case LayerRule::kLowerOddWindowed: {
      const uint32_t limit = in.find_integer("max_window_layers").value_or(kQwenMaxWindowLayers);
      if (family.layers == LayerRule::kUpperWindowed)
        window_where([=](uint32_t layer) { return layer >= limit; });
      else
        window_where([=](uint32_t layer) { return layer < limit && layer % 2 == 0; });
      break;
    }
    case LayerRule::kWindowPattern: {
      const uint32_t period =
          read_period(in, "sliding_window_pattern", in.find_integer("_sliding_window_pattern"),
                      family.gemma->window_pattern);
      for (uint32_t layer = 0; layer < spec.num_layers; ++layer)
        if ((layer + 1) % period != 0) types[layer] = LayerType::kSlidingAttention;
      break;
    }
    case LayerRule::kLinearInterval: {
      const uint32_t period =
          read_period(in, "full_attention_interval", std::nullopt, kQwenFullAttentionInterval);
      for (uint32_t layer = 0; layer < spec.num_layers; ++layer)
        if ((layer + 1) % period != 0) types[layer] = LayerType::kLinearAttention;
      break;
    }
  }
  return types;
}

/// The window as it takes effect.
std::optional<uint32_t> read_window(ObjectReader& in, const Family& family) {
  if (!has_windows(family.layers)) return std::nullopt;
  if (must_be_used(family.layers) && !in.find_bool("use_sliding_window").value_or(false)) return std::nullopt;
  const json::Value* written = in.object().find("sliding_window");
  const bool none = written != nullptr && written->is_null();  // null is a statement here, absence is not
  if (none) return std::nullopt;
  if (written == nullptr && family.sliding_window == 0) return std::nullopt;
  const uint32_t window = in.find_integer("sliding_window").value_or(family.sliding_window);
  if (window == 0) in.reject("sliding_window", "a window of 0 positions");
  return window;
}

std::vector<LayerType> read_types(ObjectReader& in, LayerRule rule) {
  std::vector<LayerType> types;
  for (const std::string& name : in.find_strings("layer_types")) {
    const LayerType* type = find_value(kTypeNames, name);
    if (type != nullptr && allows(rule, *type))
      types.push_back(*type);
    else
      in.reject("layer_types", fmt::format("layers of type '{}' are not supported", name),
                Fault::kUnsupported);
  }
  return types;
}

}  // namespace

void read_layers(ObjectReader& in, const Family& family, ModelSpec& spec) {
  spec.sliding_window = read_window(in, family);
  if (!in.ok()) return;
  spec.layer_types = types_by_rule(in, family, spec);
  if (in.object().find_present("layer_types") != nullptr) {
    std::vector<LayerType> types = read_types(in, family.layers);
    if (types.size() != spec.num_layers)
      in.reject("layer_types", fmt::format("has {} elements for {} layers", types.size(), spec.num_layers));
    if (!types_decide(family.layers) && types != spec.layer_types)
      in.reject("layer_types", fmt::format("{} does not have these layers", family.architecture),
                Fault::kUnsupported);
    spec.layer_types = std::move(types);
  }
  const bool any_local =
      std::ranges::find(spec.layer_types, LayerType::kSlidingAttention) != spec.layer_types.end();
  if (any_local && !spec.sliding_window) in.reject("sliding_window", "sliding layers without a window");
  if (!any_local) spec.sliding_window.reset();
}

}  // namespace amphora::package
