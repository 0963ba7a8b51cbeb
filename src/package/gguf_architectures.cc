// The table of GGUF architectures.
#include "package/gguf_architectures.h"

#include <algorithm>
#include <array>

namespace amphora::package {
namespace {

constexpr std::array kArchitectures = {
    GgufArchitecture{"llama", "llama", true, false},
    GgufArchitecture{"qwen2", "qwen2", false, false},
    GgufArchitecture{"qwen3", "qwen3", false, false},
    GgufArchitecture{"gemma3", "gemma3_text", false, true},
};

}  // namespace

const GgufArchitecture* find_gguf_architecture(std::string_view name) {
  const auto found = std::ranges::find(kArchitectures, name, &GgufArchitecture::name);
  return found == kArchitectures.end() ? nullptr : &*found;
}

std::string_view supported_gguf_architectures() { return "llama, qwen2, qwen3, gemma3"; }

}  // namespace amphora::package
