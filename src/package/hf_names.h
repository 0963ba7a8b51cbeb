// Tensor names of Hugging Face checkpoints to the canonical ones: `model.…` and `lm_head.…`.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace amphora::package {

struct CanonicalName {
  std::string name;
  std::string_view rule;  ///< what was done to the name ("without 'base_model.model.'"), or empty
};

/// The canonical form of a tensor's name; empty if no known naming fits.
std::optional<CanonicalName> canonical_name(std::string_view name);

/// Whether the tensor belongs to a part of a multimodal model that is not its language model.
bool is_other_part(std::string_view name);

/// Whether the tensor is a table of rotary frequencies, which the configuration determines.
bool is_rotary_table(std::string_view name);

/// The method that left a tensor of this name behind ("GPTQ or AWQ"), or empty: plain weights have no such
/// names.
std::string_view quantiser_of(std::string_view name);

/// The first two steps of a dotted name, for messages: "transformer.h.".
std::string_view prefix_of(std::string_view name);

}  // namespace amphora::package
