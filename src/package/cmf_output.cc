// Splits the tensors of a new model over files, and makes the files appear together.
#include "package/cmf_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "base/naming.h"
#include "formats/cmf/cmf_set.h"

namespace amphora {
namespace {

namespace fs = std::filesystem;

/// How many tensors each shard has; empty for a single file.
Result<std::vector<size_t>> split(std::span<const cmf::NewTensor> tensors, uint64_t limit) {
  if (limit == 0) return fail(Fault::kUsage, "a shard of 0 bytes holds nothing");
  std::vector<size_t> counts = {0};
  uint64_t filled = 0;
  for (const cmf::NewTensor& tensor : tensors) {
    AMPHORA_ASSIGN(const uint64_t bytes, cmf::payload_bytes_of(tensor));
    if (filled != 0 && bytes != 0 && (bytes > limit || filled > limit - bytes)) {
      counts.push_back(0);
      filled = 0;
    }
    filled += bytes;
    ++counts.back();
  }
  if (counts.size() > cmf::kMaxShards)
    return fail(Fault::kUsage, fmt::format("at most {} bytes each make {} shards, a set has at most {}",
                                           limit, counts.size(), cmf::kMaxShards));
  if (counts.size() == 1) counts.clear();
  return counts;
}

json::Value header_of_later_shard(const json::Value& whole) {
  constexpr std::array<std::string_view, 5> kKept = {"format", "version", "arch", "quant_type", "provenance"};
  json::Value header = json::Value::object();
  for (const json::Member& member : whole.members())
    if (std::ranges::find(kKept, member.key) != kKept.end()) header.set(member.key, member.value);
  return header;
}

cmf::NewFile shard_file(const cmf::NewFile& whole, std::span<const cmf::NewTensor> tensors,
                        cmf::ShardPlace place) {
  cmf::NewFile shard = whole;
  if (place.no != 1) shard = {.header = header_of_later_shard(whole.header), .tensors = {}};
  shard.tensors.assign(tensors.begin(), tensors.end());
  shard.header.set("shard", json::Value::object({{"no", json::Value::unsigned_integer(place.no)},
                                                 {"count", json::Value::unsigned_integer(place.count)}}));
  return shard;
}

std::unexpected<Error> explain_many_files(Error error, size_t shards) {
  if (error.fault == Fault::kIo)
    error.message += fmt::format(" (all {} shards are open at once; larger ones are fewer)", shards);
  return std::unexpected(std::move(error));
}

}  // namespace

Result<CmfOutput> CmfOutput::create(const fs::path& path, const cmf::NewFile& file,
                                    std::optional<uint64_t> shard_max_bytes) {
  cmf::NewFile whole = file;
  if (whole.header.find_present("shard") != nullptr) whole.header.erase("shard");
  std::vector<size_t> counts;
  if (shard_max_bytes) {
    AMPHORA_ASSIGN(counts, split(whole.tensors, *shard_max_bytes));
  }
  CmfOutput output;
  if (counts.empty()) {
    AMPHORA_TRY(output.add(path, whole));
    return output;
  }
  AMPHORA_TRY(cmf::check_new_file(whole));  // names twice, and skills, show only in the whole
  const std::string base = path.extension() == ".cmf" ? path.stem().string() : path.filename().string();
  std::span<const cmf::NewTensor> rest = whole.tensors;
  cmf::ShardPlace place{.no = 1, .count = static_cast<uint32_t>(counts.size())};
  for (const size_t count : counts) {
    const fs::path shard_path = path.parent_path() / cmf::shard_name(base, place);
    Status added = output.add(shard_path, shard_file(whole, rest.first(count), place));
    if (!added) return explain_many_files(std::move(added).error(), counts.size());
    rest = rest.subspan(count);
    ++place.no;
  }
  return output;
}

Status CmfOutput::add(const fs::path& path, const cmf::NewFile& file) {
  AMPHORA_ASSIGN(cmf::CmfWriter writer, cmf::CmfWriter::create(path, file));
  files_.push_back({path, writer.file_bytes()});
  writers_.push_back(std::move(writer));
  return {};
}

Status CmfOutput::write(std::string_view name, Bytes part) {
  while (current_ + 1 < writers_.size() && writers_[current_].complete()) ++current_;
  return writers_[current_].write(name, part);
}

Status CmfOutput::name_files(std::vector<fs::path>& named) {
  std::error_code error;
  if (files_.size() > 1 && fs::is_regular_file(files_.front().path, error)) {
    fs::remove(files_.front().path, error);
    if (error)
      return fail(Fault::kIo,
                  fmt::format("cannot replace {}: {}", files_.front().path.string(), error.message()));
  }
  for (size_t i = files_.size(); i-- > 0;) {
    const bool replaces = fs::exists(files_[i].path, error);
    AMPHORA_TRY(writers_[i].commit());
    if (!replaces) named.push_back(files_[i].path);
  }
  return {};
}

Status CmfOutput::finish() {
  for (cmf::CmfWriter& writer : writers_) AMPHORA_TRY(writer.seal());
  const std::lock_guard naming(naming_mutex());
  std::vector<fs::path> named;
  Status status = name_files(named);
  if (status) return {};
  std::error_code ignored;
  for (const fs::path& path : named) fs::remove(path, ignored);
  return status;
}

}  // namespace amphora
