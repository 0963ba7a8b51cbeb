// One model into one `.cmf` file or into a set of shards (docs/formats/cmf.md §10).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "formats/cmf/writer.h"

namespace amphora {

/// A file that has been, or is going to be, written.
struct OutputFile {
  std::filesystem::path path;
  uint64_t bytes = 0;
};

/// The face of CmfWriter for one file or a set: create(), write() every payload in order, finish().
///
/// Without a limit, or if all payloads fit into one shard, the output is the plain file `path` without a
/// shard block. Otherwise it is `{base}-{no:05}-of-{count:05}.cmf`, base being `path` without ".cmf": tensors
/// in order, a new shard where the next payload would pass the limit (a payload larger than that has a shard
/// of its own). Shard 1 carries masks, tokenizer, index and the whole header; the others `format`, `version`,
/// `arch`, `quant_type` and `provenance`. A shard block in `file.header` is dropped.
class CmfOutput {
 public:
  /// Checks everything as CmfWriter does, the set as a whole as well as every shard. The limit counts stored
  /// payload bytes; 0, and a limit that makes more than 99999 shards, are kUsage. Every shard holds a file
  /// descriptor until the end, and what the system refuses is refused here, before any payload.
  static Result<CmfOutput> create(const std::filesystem::path& path, const cmf::NewFile& file,
                                  std::optional<uint64_t> shard_max_bytes = std::nullopt);

  /// As CmfWriter::write().
  Status write(std::string_view name, Bytes part);

  /// All files appear now, shard 1 last. If one cannot take its name, those that this call has named are
  /// removed again unless they replaced an older file. Where a shard 1 of the same name is replaced, the old
  /// one goes first: an interruption then leaves a set that does not open, never a mixture that does.
  Status finish();

  /// What finish() writes, in shard order.
  const std::vector<OutputFile>& files() const { return files_; }

 private:
  CmfOutput() = default;
  Status add(const std::filesystem::path& path, const cmf::NewFile& file);
  Status name_files(std::vector<std::filesystem::path>& named);

  std::vector<cmf::CmfWriter> writers_;  ///< one per file, in shard order
  std::vector<OutputFile> files_;
  size_t current_ = 0;  ///< the writer whose payloads are being written
};

}  // namespace amphora
