// Writes a Package as a `.cmf` file or a set of shards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"
#include "base/progress.h"
#include "package/cmf_output.h"
#include "package/importance.h"
#include "package/quant_plan.h"
#include "package/route_stats.h"

namespace amphora {

inline constexpr quant::Encoder kDefaultEncoder = quant::Encoder::kSearch;

struct ConvertOptions {
  QuantPlanOptions quant;
  quant::Encoder encoder = kDefaultEncoder;      ///< a type without a search is encoded plainly
  const Importance* importance = nullptr;        ///< for searches; must outlive the report
  const RouteStats* route_stats = nullptr;       ///< for the widths of experts' rows in vbit
  std::optional<uint64_t> shard_max_bytes = {};  ///< see CmfOutput; absent: one file
  bool write_index = false;  ///< build the sparse index from the masks; else the source's is carried
  size_t threads = 1;
  bool dry_run = false;                 ///< plan only: nothing is written, and only rows of vbit are read
  std::string tool = "amphora";         ///< who writes, for the file's provenance
  ProgressFunction plan_progress = {};  ///< told of the pass over the rows that become vbit
};

struct ConversionReport {
  std::vector<PlannedTensor> tensors;  ///< in the package's order; they point into the package
  uint64_t elements = 0;
  uint64_t source_bytes = 0, payload_bytes = 0;
  std::vector<OutputFile> files;  ///< in shard order; empty after a dry run
  /// Bits per weight that the target's name promises, for a large matrix; empty for `keep`.
  std::optional<double> nominal_bits;
  double real_bits = 0;            ///< over all tensors
  std::vector<std::string> notes;  ///< what was asked for or found and has no effect, for people
};

/// Writes `out`, or the shards that take its place; they appear only when all of it is complete. The bytes
/// depend on the package and on the options but not on the number of threads, and hold neither times nor
/// paths. Masks, sparse index, skills and unknown keys of a CMF source are carried as they are. Memory stays
/// within twice the largest tensor in f32, plus a constant and 9 bytes per row of vbit. A value that is not
/// finite is refused with the tensor's name and the value's index; so are a damaged tokenizer.json, options
/// that contradict the package, and an output that is, or lies in, the source.
Result<ConversionReport> convert(const Package& package, const std::filesystem::path& out,
                                 const ConvertOptions& options, const ProgressFunction& progress = {});

}  // namespace amphora
