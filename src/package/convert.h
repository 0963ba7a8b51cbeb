// Writes a Package as a `.cmf` file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"
#include "base/progress.h"
#include "package/quant_plan.h"

namespace amphora {

struct ConvertOptions {
  QuantPlanOptions quant;
  size_t threads = 1;
  bool dry_run = false;          ///< plan only: no tensor is read and nothing written
  std::string tool = "amphora";  ///< who writes, for the file's provenance
};

struct ConversionReport {
  std::vector<PlannedTensor> tensors;  ///< in the package's order; they point into the package
  uint64_t elements = 0;
  uint64_t source_bytes = 0, payload_bytes = 0;
  uint64_t file_bytes = 0;  ///< 0 after a dry run
  /// Bits per weight that the target's name promises, for a large matrix; empty for `keep`.
  std::optional<double> nominal_bits;
  double real_bits = 0;            ///< over all tensors
  std::vector<std::string> notes;  ///< what was asked for or found and has no effect, for people
};

/// Writes `out`, which appears only when it is complete. The bytes depend on the package and on the options
/// but not on the number of threads, and hold neither times nor paths. Memory stays within twice the largest
/// tensor in f32, plus a constant. A value that is not finite is refused with the tensor's name and the
/// value's index; so are parts that would be lost (Package::uncarried), a damaged tokenizer.json, and an
/// `out` that is, or lies in, the source.
Result<ConversionReport> convert(const Package& package, const std::filesystem::path& out,
                                 const ConvertOptions& options, const ProgressFunction& progress = {});

}  // namespace amphora
