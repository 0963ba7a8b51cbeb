// Which element type each tensor of a conversion gets (docs/formats/cmf.md §3, "What gets which dtype").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/dtype.h"
#include "amphora/package.h"
#include "amphora/result.h"
#include "base/name_pattern.h"

namespace amphora {

/// What a tensor is to become. Without a dtype it is `keep`: f32, f16, bf16 and the types of CMF stay, the
/// block types of GGUF become f16.
struct QuantTarget {
  std::optional<DType> dtype;
};
/// "keep", or a type by its name on the command line or in the specification ("q8", "q8_row").
Result<QuantTarget> parse_quant_target(std::string_view name);

/// A target of its own for the tensors in whose names the pattern is found.
struct QuantRule {
  NamePattern pattern;
  QuantTarget target;
  std::string text;  ///< as it was given
};
/// `REGEX=TARGET`, cut at the last `=`.
Result<QuantRule> parse_quant_rule(std::string_view text);

struct PlannedTensor {
  const PackageTensor* source = nullptr;
  DType dtype = DType::kF16;
  uint64_t bytes = 0;     ///< of the payload
  bool verbatim = false;  ///< the source's payload is copied as it is
  bool fallback = false;  ///< the wanted type cannot carry this shape, so it gets q8_2f
};

struct QuantPlanOptions {
  QuantTarget target{DType::kQ8Row};
  std::vector<QuantRule> rules;  ///< the last one that matches a tensor decides
  bool no_fallback = false;      ///< refuse instead of falling back
};

/// The plan for every tensor, in the package's order. The package must outlive it.
Result<std::vector<PlannedTensor>> plan_quantisation(const Package& package, const QuantPlanOptions& options);

}  // namespace amphora
