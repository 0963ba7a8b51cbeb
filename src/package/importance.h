// How much each input column of a weight matrix counts: a safetensors file of mean squared activations.
//
// For every matrix NAME it holds an F32 tensor named NAME of shape [columns]; its metadata say
// format = "amphora-imatrix", version = "1" and tokens = how many tokens were run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"
#include "base/file.h"
#include "package/quant_plan.h"

namespace amphora {

struct Importance {
  uint64_t tokens = 0;
  std::map<std::string, std::vector<float>, std::less<>> columns;  ///< by tensor name; finite, not negative
};

/// kCorrupt for a file that is not of this kind or holds anything else than it says; kRefused, naming the
/// tensor and the index, for values that are negative or not finite.
Result<Importance> load_importance(const std::filesystem::path& path);

/// Appends the bytes of such a file, with the tensors in order of their names; the caller commits. Refuses
/// what load_importance() would refuse.
Status write_importance(const Importance& importance, AtomicFile& out);

/// Gives every tensor of the plan that is encoded with a search the importance of its columns; a skill's
/// tensor without an entry takes that of the tensor which it replaces. The plan's views point into
/// `importance`. kRefused if an entry is not as long as its matrix has columns. Tensors that go without
/// (no entry, or all zeros) and entries without a tensor are told in `notes`.
Status weigh_columns(const Package& package, const Importance& importance, quant::Encoder encoder,
                     std::span<PlannedTensor> plan, std::vector<std::string>& notes);

}  // namespace amphora
