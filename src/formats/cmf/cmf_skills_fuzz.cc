// Any text as the `skills` of a header: refused, or every record can be routed by.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "formats/cmf/skill_routing.h"
#include "formats/cmf/skills.h"

namespace {

constexpr std::string_view kBeforeSkills =
    R"({"format":"cmf","version":2,"arch":{"arch_name":"tiny","hidden_size":4,"intermediate_size":8,"num_layers":2,)"
    R"("num_attention_heads":1,"num_kv_heads":1,"head_dim":4,"vocab_size":3,"layer_types":["FullAttention",)"
    R"("FullAttention"],"rms_norm_eps":1e-06,"max_position_embeddings":16},"skills":)";

std::vector<amphora::cmf::TensorRecord> some_tensors() {
  std::vector<amphora::cmf::TensorRecord> tensors;
  for (const std::string_view name : {"w", "skill.s.w", "skill.a.b.w"}) {
    amphora::cmf::TensorRecord tensor;
    tensor.name = name;
    tensor.shape = {2, 2};
    tensors.push_back(tensor);
  }
  return tensors;
}

void route(const amphora::json::Value& header, const amphora::cmf::SkillRecord& skill) {
  const auto selection = amphora::cmf::selection_of(header, skill.id);
  if (selection.has_value() != skill.selectable) std::abort();
  if (!selection) return;
  const std::vector<double> phi = {0.5, -1, 2, 0};
  const double energy = amphora::cmf::routing_energy(*selection, phi);
  if (std::isnan(energy) || energy < 0) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace amphora;
  const std::string text =
      std::string(kBeforeSkills) + std::string(reinterpret_cast<const char*>(data), size) + "}";
  const auto header = cmf::decode_header(as_bytes(text), cmf::kEnvelopeBytes);
  if (!header) return 0;
  const cmf::ArchDimensions arch = cmf::dimensions_of(*header);
  for (const auto& tensors : {std::vector<cmf::TensorRecord>(), some_tensors()}) {
    const auto skills = cmf::decode_skills(*header, cmf::kEnvelopeBytes, arch, nullptr, tensors);
    if (!skills) continue;
    for (const cmf::SkillRecord& skill : *skills) route(*header, skill);
  }
  return 0;
}
