// Which element type each tensor of a conversion gets (docs/formats/cmf.md §3, "What gets which dtype").
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/dtype.h"
#include "amphora/package.h"
#include "amphora/result.h"
#include "base/name_pattern.h"
#include "quant/codec.h"
#include "quant/vbit_budget.h"

namespace amphora {

/// Types whose rows have widths of their own: vbit and vbit_ro.
constexpr bool is_vbit(DType dtype) { return dtype == DType::kVbit || dtype == DType::kVbitRo; }

/// What a tensor is to become. Without a dtype it is `keep`: f32, f16, bf16 and the types of CMF stay, the
/// block types of GGUF become f16.
struct QuantTarget {
  std::optional<DType> dtype;
  /// Mean bits per weight of vbit and vbit_ro, if they were given. A tensor that is vbit already is then
  /// encoded again; else it is copied.
  std::optional<double> vbit_budget = {};
};
/// "keep", or a type by its name on the command line or in the specification ("q8", "q8_row"); vbit and
/// vbit_ro may have a budget behind a colon, a number from 3 to 8 ("vbit:4.5").
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
  uint64_t bytes = 0;     ///< of the payload; for vbit not known until plan_vbit_rows()
  bool verbatim = false;  ///< the source's payload is copied as it is
  bool fallback = false;  ///< the wanted type cannot carry this shape, so it gets q8_2f
  /// Bits per weight that the type asked for promises, whatever the tensor gets and however small it is.
  double nominal_bits = 0;
  double vbit_budget = quant::kDefaultVbitBudget;
  std::vector<uint8_t> row_widths;  ///< of vbit and vbit_ro, set by plan_vbit_rows() [rows]
  /// What a squared error counts in each column; empty: alike. A view of an Importance. [columns]
  std::span<const float> importance;
};

struct QuantPlanOptions {
  QuantTarget target{DType::kQ8Row};
  std::vector<QuantRule> rules;  ///< the last one that matches a tensor decides
  bool no_fallback = false;      ///< refuse instead of falling back
};

/// The plan for every tensor, in the package's order. The package must outlive it. A skill's tensor is judged
/// by the name of the tensor that it replaces.
Result<std::vector<PlannedTensor>> plan_quantisation(const Package& package, const QuantPlanOptions& options);

/// Bits per weight of a type for a large matrix; of vbit with this budget.
double nominal_bits(DType dtype, double vbit_budget = quant::kDefaultVbitBudget);

}  // namespace amphora
