// The table of GGUF architectures.
#include "package/gguf_architectures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

namespace amphora::package {
namespace {

// What llama.cpp and transformers know of the Gemma families and their files do not say.
constexpr GgufGemma kGemma2 = {
    .layers_of_largest = 46, .attention_softcap = 50, .final_softcap = 30, .window = 4096};
constexpr GgufGemma kGemma3 = {
    .layers_of_largest = 62, .attention_softcap = {}, .final_softcap = {}, .window = {}};

// Whether llama.cpp divides by the sum follows from the architecture alone, but where a key says it.
constexpr GgufMixture kMaybeExperts = {.required = false, .normalised = true, .sigmoid = false};
constexpr GgufMixture kExperts = {.required = true, .normalised = true, .sigmoid = false};
constexpr GgufMixture kQwen2Experts = {.required = true, .normalised = false, .sigmoid = false};
constexpr GgufMixture kDeepSeekExperts = {.required = false, .normalised = false, .sigmoid = false};
constexpr GgufMixture kGlmExperts = {.required = true, .normalised = false, .sigmoid = true};

constexpr std::array kArchitectures = {
    GgufArchitecture{.name = "llama",
                     .arch_name = "llama",
                     .paired_rows = true,
                     .window_period = 0,
                     .mixture = &kMaybeExperts},
    GgufArchitecture{.name = "qwen2", .arch_name = "qwen2"},
    GgufArchitecture{.name = "qwen3", .arch_name = "qwen3"},
    GgufArchitecture{.name = "gemma2",
                     .arch_name = "gemma2",
                     .norms = GgufNorms::kSandwich,
                     .one_in_norms = true,
                     .window_period = 2,
                     .gemma = &kGemma2},
    GgufArchitecture{.name = "gemma3",
                     .arch_name = "gemma3_text",
                     .norms = GgufNorms::kSandwich,
                     .one_in_norms = true,
                     .window_period = 6,
                     .local_rope_base = 10000,
                     .gemma = &kGemma3},
    GgufArchitecture{.name = "phi3", .arch_name = "phi3", .gate_in_up = true, .window_period = 0},
    GgufArchitecture{.name = "qwen2moe", .arch_name = "qwen2_moe", .mixture = &kQwen2Experts},
    GgufArchitecture{.name = "qwen3moe", .arch_name = "qwen3_moe", .mixture = &kExperts},
    GgufArchitecture{.name = "qwen3next",
                     .arch_name = "qwen3_next",
                     .norms = GgufNorms::kPostAttention,
                     .mixer = GgufMixer::kGroupedDelta,
                     .one_in_norms = true,
                     .mixture = &kExperts},
    GgufArchitecture{.name = "qwen35",
                     .arch_name = "qwen3_5_text",
                     .norms = GgufNorms::kPostAttention,
                     .mixer = GgufMixer::kTiledDelta,
                     .one_in_norms = true},
    GgufArchitecture{.name = "qwen35moe",
                     .arch_name = "qwen3_5_moe_text",
                     .norms = GgufNorms::kPostAttention,
                     .mixer = GgufMixer::kTiledDelta,
                     .one_in_norms = true,
                     .mixture = &kExperts},
    GgufArchitecture{.name = "deepseek2",
                     .arch_name = "deepseek_v3",
                     .mixer = GgufMixer::kLatent,
                     .mixture = &kDeepSeekExperts},
    GgufArchitecture{.name = "glm4moe",
                     .arch_name = "glm4_moe",
                     .norms = GgufNorms::kPostAttention,
                     .mixture = &kGlmExperts},
    GgufArchitecture{.name = "granite",
                     .arch_name = "granite",
                     .paired_rows = true,
                     .scales = true,
                     .mixture = &kMaybeExperts},
    GgufArchitecture{.name = "granitemoe",
                     .arch_name = "granitemoe",
                     .paired_rows = true,
                     .scales = true,
                     .mixture = &kMaybeExperts},
    GgufArchitecture{.name = "olmo2",
                     .arch_name = "olmo2",
                     .norms = GgufNorms::kAfter,
                     .window_period = 4,
                     .local_rope_base = 0},
};

constexpr std::array kRefused = {
    std::pair<std::string_view, std::string_view>{
        "smollm3", "every fourth of its layers turns no positions, which has no counterpart here"},
};

}  // namespace

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  const auto found = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  return found == kArchitectures.end() ? nullptr : &*found;
}

std::string_view reason_against(std::string_view name) {
  for (const auto& [architecture, reason] : kRefused)
    if (architecture == name) return reason;
  return {};
}

std::string supported_gguf_architectures() {
  std::vector<std::string_view> names;
  std::ranges::transform(kArchitectures, std::back_inserter(names), &GgufArchitecture::name);
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace amphora::package
