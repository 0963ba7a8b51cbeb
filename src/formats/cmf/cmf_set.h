// A model in one CMF file or in a set of shards, read as one (docs/formats/cmf.md §10).
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "formats/cmf/cmf_file.h"

namespace amphora::cmf {

/// The file name of a shard: `{base}-{no:05}-of-{count:05}.cmf`.
std::string shard_name(std::string_view base, ShardPlace place);

struct ShardName {
  std::string base;
  ShardPlace place;
};
/// Reads such a name; both numbers have exactly five digits, the base may be empty.
std::optional<ShardName> parse_shard_name(std::string_view file_name);

/// A tensor of a set.
struct SetTensor {
  const CmfFile* file = nullptr;  ///< where its payload is
  const TensorRecord* record = nullptr;
};

class CmfSet {
 public:
  /// A file without a shard block opens alone, whatever its name. One with a shard block must have the name
  /// that goes with it, and opens all of its siblings in the same folder. Every rule between the files is
  /// checked: a fault of them has code Shard (Skill for the skill tensors) and its sentence names the file; a
  /// sibling that is damaged has its own code.
  static Result<CmfSet> open(const std::filesystem::path& path);

  /// In shard order.
  const std::vector<CmfFile>& files() const { return files_; }
  /// The file whose header, masks, tokenizer and index are those of the set.
  const CmfFile& first() const { return files_.front(); }
  /// The header of the set: that of the first file without its shard block.
  json::Value header() const;
  /// All of them: shard by shard, each in directory order. Valid for as long as the set is.
  std::vector<SetTensor> tensors() const;
  const std::filesystem::path& path_of(const CmfFile& file) const { return file.mapping()->path(); }

 private:
  std::vector<CmfFile> files_;
};

}  // namespace amphora::cmf
