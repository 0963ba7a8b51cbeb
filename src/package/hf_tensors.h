// The tensors of a Hugging Face checkpoint under the names and in the layouts of this program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "amphora/package.h"
#include "amphora/result.h"
#include "formats/safetensors/directory.h"
#include "package/hf_config.h"

namespace amphora::package {

/// Gathers tensors under canonical names, and what there is to say about those left out or renamed.
class HfTensors {
 public:
  /// Both must outlive it. `package` has its spec.
  HfTensors(const HfConfig& config, Package& package) : config_(config), package_(package) {}

  /// Takes a stored tensor, unless it is one of those that the model does without.
  Status add(const safetensors::Tensor& tensor, const std::filesystem::path& file);

  /// Call once after the last tensor: refuses names of no known scheme, all at once, and turns what is stored
  /// in another layout into the canonical tensors: those that the runtime looks for.
  Status finish();

 private:
  Status change_layouts();
  Status split_fused_tensors();
  Status refuse_duplicates() const;
  void add_notes();

  const HfConfig& config_;
  Package& package_;
  std::set<std::string> names_;  ///< canonical, before layouts are changed
  std::map<std::string_view, uint64_t> renamed_;
  std::map<std::string, uint64_t> unmatched_;
  uint64_t rotary_tables_ = 0, other_parts_ = 0, fused_ = 0;
};

}  // namespace amphora::package
