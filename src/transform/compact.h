// Any CMF file or set of shards, written again in the canonical layout (docs/formats/cmf.md §4, §9, §10).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "amphora/result.h"
#include "base/progress.h"
#include "package/cmf_output.h"

namespace amphora {

/// Writes the model at `in` (any shard of a set stands for the set) to `out`: one file, or with
/// `shard_max_bytes` a set as CmfOutput splits it. Same tensors, order, payload bytes, section bytes and
/// header values, unknown keys included; dead bytes and the old shard block are gone, `section_hashes` names
/// the sections that exist. Provenance stays untouched.
///
/// One file may be compacted onto itself, which replaces it at the end; otherwise an output that is a source
/// file is kUsage. Recorded hashes are checked on the way: a source that is damaged is refused with code
/// Hash. Memory does not grow with the model.
Result<std::vector<OutputFile>> compact(const std::filesystem::path& in, const std::filesystem::path& out,
                                        std::optional<uint64_t> shard_max_bytes = std::nullopt,
                                        const ProgressFunction& progress = {});

}  // namespace amphora
