// The naming rules as tables.
#include "package/hf_names.h"

#include <algorithm>
#include <array>

namespace amphora::package {
namespace {

struct Rule {
  std::string_view prefix;       ///< replaced …
  std::string_view replacement;  ///< … by this
  std::string_view what;         ///< for the note
};

/// In order: the first whose prefix fits is taken. The bare names are those of checkpoints saved from the
/// inner model.
constexpr std::array kRules = {
    Rule{"model.language_model.", "model.", "under 'model.language_model.'"},
    Rule{"language_model.model.", "model.", "under 'language_model.'"},
    Rule{"language_model.lm_head.", "lm_head.", "under 'language_model.'"},
    Rule{"model.", "model.", ""},
    Rule{"lm_head.", "lm_head.", ""},
    Rule{"mtp.", "model.mtp.", ""},
    Rule{"layers.", "model.layers.", "without 'model.'"},
    Rule{"embed_tokens.", "model.embed_tokens.", "without 'model.'"},
    Rule{"norm.", "model.norm.", "without 'model.'"},
};

/// Parts of names that families spell in their own way, replaced where they stand.
struct Spelling {
  std::string_view part, replacement;
  std::string_view only_in = {};  ///< names that have this part too; empty: any
};
constexpr std::string_view kMixtralBlock = ".block_sparse_moe.";
constexpr std::array kSpellings = {
    Spelling{".w1.weight", ".gate_proj.weight", kMixtralBlock},
    Spelling{".w3.weight", ".up_proj.weight", kMixtralBlock},
    Spelling{".w2.weight", ".down_proj.weight", kMixtralBlock},
    Spelling{kMixtralBlock, ".mlp."},
    Spelling{".mlp.shared_experts.", ".mlp.shared_expert."},  // DeepSeek, GLM
    Spelling{".mlp.gate.e_score_correction_bias", ".mlp.expert_bias"},
};
constexpr std::string_view kAdapterPrefix = "base_model.model.";

constexpr std::array<std::string_view, 7> kOtherParts = {
    "vision_tower.", "multi_modal_projector.", "vision_model.", "visual.",
    "audio_tower.",  "embed_vision.",          "embed_audio.",
};

struct Suffix {
  std::string_view suffix, quantiser;
};
constexpr std::array kQuantisedSuffixes = {
    Suffix{".qweight", "GPTQ or AWQ"},
    Suffix{".qzeros", "GPTQ or AWQ"},
    Suffix{".g_idx", "GPTQ"},
    Suffix{".absmax", "bitsandbytes"},
    Suffix{".quant_map", "bitsandbytes"},
    Suffix{".SCB", "bitsandbytes"},
    Suffix{".weight_scale", "an 8-bit method with separate scales"},
    Suffix{".weight_scale_inv", "an 8-bit method with separate scales"},
    Suffix{".weight_packed", "compressed-tensors"},
};

void respell(std::string& name) {
  for (const Spelling& spelling : kSpellings) {
    const size_t at = name.find(spelling.part);
    if (at != std::string::npos && name.find(spelling.only_in) != std::string::npos)
      name.replace(at, spelling.part.size(), spelling.replacement);
  }
}

}  // namespace

std::optional<CanonicalName> canonical_name(std::string_view name) {
  const bool adapter = name.starts_with(kAdapterPrefix);
  if (adapter) name.remove_prefix(kAdapterPrefix.size());
  for (const Rule& rule : kRules) {
    if (!name.starts_with(rule.prefix)) continue;
    std::string canonical(rule.replacement);
    canonical += name.substr(rule.prefix.size());
    respell(canonical);
    return CanonicalName{std::move(canonical),
                         adapter ? std::string_view("under 'base_model.model.'") : rule.what};
  }
  return std::nullopt;
}

bool is_other_part(std::string_view name) {
  if (name.starts_with("model.")) name.remove_prefix(std::string_view("model.").size());
  return std::ranges::any_of(kOtherParts, [&](std::string_view part) { return name.starts_with(part); });
}

bool is_rotary_table(std::string_view name) { return name.ends_with("rotary_emb.inv_freq"); }

std::string_view quantiser_of(std::string_view name) {
  for (const Suffix& entry : kQuantisedSuffixes)
    if (name.ends_with(entry.suffix)) return entry.quantiser;
  return {};
}

std::string_view prefix_of(std::string_view name) {
  size_t end = name.find('.');
  if (end != std::string_view::npos) end = name.find('.', end + 1);
  return end == std::string_view::npos ? name : name.substr(0, end + 1);
}

}  // namespace amphora::package
