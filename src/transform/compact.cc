// Opens the set, lays out the output, streams every payload.
#include "transform/compact.h"

#include "transform/set_copy.h"

namespace amphora {

Result<std::vector<OutputFile>> compact(const std::filesystem::path& in, const std::filesystem::path& out,
                                        std::optional<uint64_t> shard_max_bytes,
                                        const ProgressFunction& progress) {
  AMPHORA_ASSIGN(const cmf::CmfSet set, cmf::CmfSet::open(in));
  AMPHORA_TRY(transform::check_section_hashes(set));
  AMPHORA_ASSIGN(CmfOutput output, CmfOutput::create(out, transform::copy_of(set), shard_max_bytes));
  // The mapping keeps a single source readable until its name is replaced; several names cannot be replaced
  // in one step.
  const bool one_to_one = set.files().size() == 1 && output.files().size() == 1;
  if (!one_to_one) AMPHORA_TRY(transform::check_not_source(output, set));
  const std::vector<cmf::SetTensor> tensors = set.tensors();
  transform::PayloadCopier copier(output, transform::payload_bytes(tensors), progress);
  for (const cmf::SetTensor& tensor : tensors) AMPHORA_TRY(copier.copy(tensor.record->name, tensor));
  AMPHORA_TRY(output.finish());
  return output.files();
}

}  // namespace amphora
