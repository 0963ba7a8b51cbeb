// Rope kinds as transformers defines them (modeling_rope_utils.py).
#include "package/hf_rope.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <vector>

#include "package/object_reader.h"

namespace amphora::package {
namespace {

const json::Value kNoParameters = json::Value::object();

std::unexpected<Error> unsupported(std::string place, std::string message) {
  return fail_at(Fault::kUnsupported, "Rope", std::move(place), std::nullopt, std::move(message));
}

/// The parameters of one type of layer, and where they stand.
struct Source {
  const json::Value* object = &kNoParameters;
  std::string path;
};

struct Context {
  uint32_t max_position_embeddings;
  std::optional<uint32_t> original_max_position_embeddings;  ///< at the configuration's top level
  uint32_t rotary_dim;
  double theta;
};

/// `rope_type`, or `type` as it used to be called.
Result<std::string> kind_of(ObjectReader& in) {
  const std::string* kind = in.find_string("rope_type");
  const std::string* old = in.find_string("type");
  AMPHORA_TRY(in.status());
  if (kind != nullptr && old != nullptr && *kind != *old)
    return unsupported(in.place("type"), fmt::format("rope_type is '{}' and type is '{}'", *kind, *old));
  if (kind == nullptr) kind = old;
  return kind == nullptr ? "default" : *kind;
}

double read_factor(ObjectReader& in, const Context& context, uint32_t original) {
  const double factor =
      in.find_number("factor").value_or(static_cast<double>(context.max_position_embeddings) / original);
  if (!(factor > 0)) in.reject("factor", fmt::format("{} is not above 0", factor));
  return factor;
}

uint32_t read_original(ObjectReader& in, const Context& context) {
  const uint32_t original =
      in.find_integer("original_max_position_embeddings")
          .value_or(context.original_max_position_embeddings.value_or(context.max_position_embeddings));
  if (original != 0) return original;
  in.reject("original_max_position_embeddings", "0 positions");
  return 1;  // keeps the arithmetic that follows defined; the fault is recorded
}

Status apply_default(ObjectReader&, const Context&, ModelSpec&) { return {}; }

Status apply_linear(ObjectReader& in, const Context& context, ModelSpec& spec) {
  const double factor = in.read_number("factor");
  if (!(factor > 0)) in.reject("factor", fmt::format("{} is not above 0", factor));
  AMPHORA_TRY(in.status());
  spec.rope_freq_factors.assign(context.rotary_dim / 2, static_cast<float>(factor));
  return {};
}

/// Long wavelengths are divided by `factor`, short ones stay, those between are interpolated.
Status apply_llama3(ObjectReader& in, const Context& context, ModelSpec& spec) {
  const double factor = in.read_number("factor");
  const double low = in.read_number("low_freq_factor");
  const double high = in.read_number("high_freq_factor");
  const double original = in.read_integer("original_max_position_embeddings");
  if (!(factor > 0)) in.reject("factor", fmt::format("{} is not above 0", factor));
  if (!(low > 0 && high > low))
    in.reject("high_freq_factor",
              fmt::format("{} is not above low_freq_factor {}, or that not above 0", high, low));
  if (!(original > 0)) in.reject("original_max_position_embeddings", "0 positions");
  AMPHORA_TRY(in.status());
  for (uint32_t i = 0; i < context.rotary_dim / 2; ++i) {
    const double frequency = std::pow(context.theta, -2.0 * i / context.rotary_dim);
    const double turns = original * frequency / (2 * std::numbers::pi);  // in the original context
    const double smooth = std::clamp((turns - low) / (high - low), 0.0, 1.0);
    spec.rope_freq_factors.push_back(static_cast<float>(1 / ((1 - smooth) / factor + smooth)));
  }
  return {};
}

double yarn_magnitude(double scale, double mscale) {
  return scale <= 1 ? 1 : 0.1 * mscale * std::log(scale) + 1;
}

Status apply_yarn(ObjectReader& in, const Context& context, ModelSpec& spec) {
  YarnSpec yarn;
  yarn.original_max_position_embeddings = read_original(in, context);
  yarn.factor = read_factor(in, context, yarn.original_max_position_embeddings);
  const auto or_if_zero = [](std::optional<double> value, double otherwise) {
    return value.value_or(0) != 0 ? *value : otherwise;  // `value or otherwise` in the reference
  };
  yarn.beta_fast = or_if_zero(in.find_number("beta_fast"), 32);
  yarn.beta_slow = or_if_zero(in.find_number("beta_slow"), 1);
  if (!(yarn.beta_slow > 0 && yarn.beta_fast > 0)) in.reject("beta_fast", "the betas are not above 0");
  const double mscale = in.find_number("mscale").value_or(0);
  const double mscale_all_dim = in.find_number("mscale_all_dim").value_or(0);
  const auto attention_factor = in.find_number("attention_factor");
  const bool truncate = in.find_bool("truncate").value_or(true);
  AMPHORA_TRY(in.status());
  if (!truncate)
    return unsupported(in.place("truncate"), "yarn without truncation of its range is not supported");
  if (attention_factor)
    yarn.attention_factor = *attention_factor;
  else if (mscale != 0 && mscale_all_dim != 0)
    yarn.attention_factor = yarn_magnitude(yarn.factor, mscale) / yarn_magnitude(yarn.factor, mscale_all_dim);
  else
    yarn.attention_factor = yarn_magnitude(yarn.factor, 1);
  // Only latent attention also scales its softmax, by the square of this magnitude.
  if (spec.mla && mscale_all_dim != 0) yarn.mscale_all_dim = mscale_all_dim;
  spec.yarn = yarn;
  return {};
}

Status apply_longrope(ObjectReader& in, const Context& context, ModelSpec& spec) {
  LongRopeSpec longrope;
  longrope.original_max_position_embeddings = read_original(in, context);
  longrope.short_factors = in.find_floats("short_factor");
  longrope.long_factors = in.find_floats("long_factor");
  const size_t wanted = context.rotary_dim / 2;
  for (const auto& [key, factors] : {std::pair{"short_factor", &longrope.short_factors},
                                     std::pair{"long_factor", &longrope.long_factors}}) {
    if (factors->size() != wanted)
      in.reject(key, fmt::format("has {} elements, wanted {} (half the rotary dimensions)", factors->size(),
                                 wanted));
    if (std::ranges::any_of(*factors, [](float factor) { return !(factor > 0); }))
      in.reject(key, "a factor is not above 0");
  }
  const double factor = read_factor(in, context, longrope.original_max_position_embeddings);
  const auto attention_factor = in.find_number("attention_factor");
  AMPHORA_TRY(in.status());
  if (attention_factor)
    longrope.attention_factor = *attention_factor;
  else if (factor > 1)
    longrope.attention_factor = std::sqrt(
        1 + std::log(factor) / std::log(static_cast<double>(longrope.original_max_position_embeddings)));
  if (!std::isfinite(longrope.attention_factor)) {
    in.reject("original_max_position_embeddings", "leaves no finite attention factor");
    return in.status();
  }
  spec.longrope = longrope;
  return {};
}

struct Kind {
  std::string_view name;
  Status (*apply)(ObjectReader& in, const Context& context, ModelSpec& spec);
};
constexpr std::array kKinds = {
    Kind{"default", apply_default}, Kind{"linear", apply_linear},     Kind{"llama3", apply_llama3},
    Kind{"yarn", apply_yarn},       Kind{"longrope", apply_longrope},
};

/// Equal, but for the two spellings of the kind and for what only the newer object carries.
bool agree(json::Value newer, json::Value older) {
  for (json::Value* parameters : {&newer, &older}) {
    const json::Value* kind = parameters->find("rope_type");
    if (kind == nullptr) kind = parameters->find("type");
    const json::Value name = kind == nullptr ? json::Value::string("default") : *kind;
    parameters->erase("type");
    parameters->set("rope_type", name);
    parameters->erase("rope_theta");
    parameters->erase("partial_rotary_factor");
  }
  return newer == older;
}

struct Sources {
  Source global;
  std::optional<Source> local;  ///< set if sliding layers have parameters of their own
};

Result<Sources> find_sources(ObjectReader& root) {
  Sources sources;
  const json::Value* newer = root.find_object("rope_parameters");
  const json::Value* older = root.find_object("rope_scaling");
  AMPHORA_TRY(root.status());
  if (newer == nullptr) {
    if (older != nullptr) sources.global = {older, root.place("rope_scaling")};
    return sources;
  }
  const std::string path = root.place("rope_parameters");
  if (newer->find("full_attention") == nullptr && newer->find("sliding_attention") == nullptr) {
    sources.global = {newer, path};
  } else {
    ObjectReader by_type(*newer, path);
    const auto take = [&](std::string_view key) -> Source {
      const json::Value* object = by_type.find_object(key);
      return {object == nullptr ? &kNoParameters : object, by_type.place(key)};
    };
    sources.global = take("full_attention");
    sources.local = take("sliding_attention");
    AMPHORA_TRY(by_type.status());
    for (const json::Member& member : newer->members())
      if (member.key != "full_attention" && member.key != "sliding_attention")
        return unsupported(by_type.place(member.key),
                           fmt::format("rope parameters of the unknown layer type '{}'", member.key));
  }
  if (older != nullptr && !agree(*sources.global.object, *older))
    return fail_at(Fault::kCorrupt, "Rope", path, std::nullopt, "rope_parameters and rope_scaling disagree");
  return sources;
}

/// A base that may stand in two places, which must then agree.
double read_theta(ObjectReader& in, ObjectReader& root, std::string_view root_key, double otherwise) {
  const auto inner = in.find_number("rope_theta");
  const auto outer = root.find_number(root_key);
  if (inner && outer && *inner != *outer)
    in.reject("rope_theta", fmt::format("{} here and {} as {}", *inner, *outer, root_key));
  const double theta = inner ? *inner : outer.value_or(otherwise);
  if (!(theta > 1)) in.reject("rope_theta", fmt::format("{} is not above 1", theta));
  return theta;
}

double read_partial(ObjectReader& in, double otherwise) {
  const double partial = in.find_number("partial_rotary_factor").value_or(otherwise);
  if (!(partial > 0 && partial <= 1))
    in.reject("partial_rotary_factor", fmt::format("{} is not above 0 and at most 1", partial));
  return partial;
}

Status decode_local(const std::optional<Source>& source, ObjectReader& root, const RopeDefaults& defaults,
                    ModelSpec& spec) {
  ObjectReader in(source ? *source->object : kNoParameters, source ? source->path : std::string());
  AMPHORA_ASSIGN(const std::string kind, kind_of(in));
  if (kind != "default")
    return unsupported(in.place("rope_type"),
                       fmt::format("rope kind '{}' on sliding layers is not supported", kind));
  spec.rope_local_base_freq =
      read_theta(in, root, "rope_local_base_freq", defaults.local_theta.value_or(spec.rope_theta));
  const double partial = read_partial(in, spec.partial_rotary_factor);
  if (partial != spec.partial_rotary_factor) spec.local_partial_rotary_factor = partial;
  return in.status();
}

}  // namespace

Status decode_rope(const json::Value& config, const std::string& path, const RopeDefaults& defaults,
                   ModelSpec& spec) {
  ObjectReader root(config, path);
  AMPHORA_ASSIGN(const Sources sources, find_sources(root));
  ObjectReader in(*sources.global.object, sources.global.path);
  AMPHORA_ASSIGN(const std::string kind, kind_of(in));

  spec.rope_theta = read_theta(in, root, "rope_theta", defaults.theta);
  spec.partial_rotary_factor = read_partial(in, read_partial(root, defaults.partial));
  AMPHORA_TRY(root.status());
  AMPHORA_TRY(in.status());
  if (kind == "dynamic")
    return unsupported(
        in.place("rope_type"),
        "rope kind 'dynamic' changes its base with the length of the text, which is not supported");
  const auto* known = std::ranges::find(kKinds, kind, &Kind::name);
  if (known == kKinds.end())
    return unsupported(in.place("rope_type"),
                       fmt::format("unknown rope kind '{}' (known: default, linear, llama3, "
                                   "yarn, longrope)",
                                   kind));

  const bool own_local = sources.local.has_value() || defaults.local_theta.has_value() ||
                         config.find_present("rope_local_base_freq") != nullptr;
  const bool has_local =
      std::ranges::find(spec.layer_types, LayerType::kSlidingAttention) != spec.layer_types.end();
  // LongRoPE turns all layers alike; the other kinds are those of global layers alone.
  if (kind != "default" && kind != "longrope" && has_local && !own_local)
    return unsupported(in.place("rope_type"),
                       fmt::format("rope kind '{}' on sliding layers is not supported", kind));
  if (defaults.local_theta && !sources.local && config.find_present("rope_parameters") != nullptr)
    return fail_at(Fault::kCorrupt, "Rope", root.place("rope_parameters"), std::nullopt,
                   "wanted one object for each type of layer (full_attention, sliding_attention)");
  if (own_local) AMPHORA_TRY(decode_local(sources.local, root, defaults, spec));

  // As the runtime counts them: docs/formats/cmf.md §12, partial_rotary_factor.
  const auto rotary = static_cast<uint32_t>(spec.head_dim * spec.partial_rotary_factor);
  const Context context{spec.max_position_embeddings, root.find_integer("original_max_position_embeddings"),
                        std::max(2u, rotary), spec.rope_theta};
  AMPHORA_TRY(root.status());
  return known->apply(in, context, spec);
}

}  // namespace amphora::package
