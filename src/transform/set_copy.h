// What transforms share: a set described as a new file, and its payloads streamed into an output.
#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "amphora/result.h"
#include "base/progress.h"
#include "formats/cmf/cmf_set.h"
#include "formats/cmf/writer.h"
#include "package/cmf_output.h"

namespace amphora::transform {

/// All of a set but its payloads: the header of shard 1 without its shard block, the tensors in shard order,
/// the sections. The bytes are the set's own.
cmf::NewFile copy_of(const cmf::CmfSet& set);

/// Checks the recorded hashes of header, directory and sections of every file: a copy would give damaged
/// bytes a hash that fits. 0, and a section hash that is absent, mean that nothing is recorded.
Status check_section_hashes(const cmf::CmfSet& set);

/// The sum of all payloads.
uint64_t payload_bytes(std::span<const cmf::SetTensor> tensors);

/// Writes payloads piece by piece and lets go of the source's pages behind them.
class PayloadCopier {
 public:
  PayloadCopier(CmfOutput& output, uint64_t total_bytes, const ProgressFunction& progress)
      : output_(output), total_bytes_(total_bytes), progress_(progress) {}

  /// Copies the payload of `tensor` as that of the output's tensor `name`. A payload that does not have its
  /// recorded hash is refused with code Hash.
  Status copy(std::string_view name, const cmf::SetTensor& tensor);

 private:
  CmfOutput& output_;
  uint64_t total_bytes_;
  const ProgressFunction& progress_;
  uint64_t done_bytes_ = 0;
};

/// Refuses (kUsage) an output that is one of the files of `set`.
Status check_not_source(const CmfOutput& output, const cmf::CmfSet& set);

}  // namespace amphora::transform
