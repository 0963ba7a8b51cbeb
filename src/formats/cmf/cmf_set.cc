// Finds the siblings of a shard and checks the rules between them.
#include "formats/cmf/cmf_set.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>
#include <unordered_set>

namespace amphora::cmf {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kExtension = ".cmf", kBetweenNumbers = "-of-";
constexpr size_t kDigits = 5;

std::unexpected<Error> in_file(const fs::path& path, Error error) {
  error.message = path.filename().string() + ": " + error.message;
  return std::unexpected(std::move(error));
}

/// A fault of the rules between files, seen in the header of `file`.
std::unexpected<Error> shard_fault(const CmfFile& file, std::string json_path, std::string message) {
  const Finding finding{.code = Code::kShard,
                        .section = Section::kHeader,
                        .offset = file.envelope().place(Section::kHeader).offset,
                        .message = std::move(message),
                        .tensor = {},
                        .path = std::move(json_path)};
  return in_file(file.mapping()->path(), to_error(finding));
}

/// Takes five digits from the end of `text`.
std::optional<uint32_t> take_number(std::string_view& text) {
  if (text.size() < kDigits) return std::nullopt;
  const std::string_view digits = text.substr(text.size() - kDigits);
  uint32_t number = 0;
  const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || rest != digits.data() + digits.size()) return std::nullopt;
  text.remove_suffix(kDigits);
  return number;
}

bool take_suffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

/// A name that leads to no file (absent, a folder, links in a circle) is a missing sibling. What the system
/// refuses to tell is left to whoever opens it.
bool is_missing(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (error == std::errc::too_many_symbolic_link_levels) return true;
  return fs::status_known(status) && !fs::is_regular_file(status);
}

Result<CmfFile> open_sibling(const CmfFile& named, const fs::path& path, ShardPlace place) {
  if (is_missing(path))
    return shard_fault(named, "$.shard",
                       fmt::format("its sibling {} is not there", path.filename().string()));
  auto sibling = CmfFile::open(path);
  if (!sibling) return in_file(path, std::move(sibling).error());
  const auto& shard = sibling->shard();
  if (!shard) return shard_fault(*sibling, "", "it has no shard block, but a name of this set");
  if (shard->no != place.no || shard->count != place.count)
    return shard_fault(*sibling, "$.shard",
                       fmt::format("it says that it is shard {} of {}, its name says {} of {}", shard->no,
                                   shard->count, place.no, place.count));
  return sibling;
}

Status check_between(const std::vector<CmfFile>& files) {
  std::unordered_set<std::string_view> names;
  for (const CmfFile& file : files) {
    if (file.arch() != files.front().arch())
      return shard_fault(file, "$.arch", "it is not the arch of shard 1");
    for (const TensorRecord& tensor : file.tensors()) {
      if (names.insert(tensor.name).second) continue;
      const Finding finding{.code = Code::kShard,
                            .section = Section::kDirectory,
                            .offset = tensor.record_offset,
                            .message = "an earlier shard has this tensor too",
                            .tensor = std::string(tensor.name),
                            .path = {}};
      return in_file(file.mapping()->path(), to_error(finding));
    }
  }
  return {};
}

/// The rules for tensors named `skill.…`, which single shards leave to the set.
Status check_skills(const std::vector<CmfFile>& files) {
  std::vector<TensorRecord> all;
  for (const CmfFile& file : files) all.insert(all.end(), file.tensors().begin(), file.tensors().end());
  const auto checked = check_skill_tensors(all, files.front().skills());
  if (checked) return {};
  for (const CmfFile& file : files)
    if (file.find(checked.error().tensor) != nullptr)
      return in_file(file.mapping()->path(), to_error(checked.error()));
  return std::unexpected(to_error(checked.error()));
}

}  // namespace

std::string shard_name(std::string_view base, ShardPlace place) {
  return fmt::format("{}-{:05}-of-{:05}.cmf", base, place.no, place.count);
}

std::optional<ShardName> parse_shard_name(std::string_view file_name) {
  if (!take_suffix(file_name, kExtension)) return std::nullopt;
  const auto count = take_number(file_name);
  if (!count || !take_suffix(file_name, kBetweenNumbers)) return std::nullopt;
  const auto no = take_number(file_name);
  if (!no || !take_suffix(file_name, "-")) return std::nullopt;
  return ShardName{std::string(file_name), {.no = *no, .count = *count}};
}

Result<CmfSet> CmfSet::open(const fs::path& path) {
  AMPHORA_ASSIGN(CmfFile named, CmfFile::open(path));
  CmfSet set;
  if (!named.shard()) {
    set.files_.push_back(std::move(named));
    return set;
  }
  const ShardPlace own = *named.shard();
  const auto name = parse_shard_name(path.filename().string());
  if (!name || name->place.no != own.no || name->place.count != own.count)
    return shard_fault(
        named, "$.shard",
        fmt::format("as shard {} of {} its name must end in {}", own.no, own.count, shard_name("", own)));
  for (uint32_t no = 1; no <= own.count; ++no) {
    if (no == own.no) {
      set.files_.push_back(named);  // a copy: errors about later siblings still speak of it
      continue;
    }
    const ShardPlace place{.no = no, .count = own.count};
    AMPHORA_ASSIGN(CmfFile sibling,
                   open_sibling(named, path.parent_path() / shard_name(name->base, place), place));
    set.files_.push_back(std::move(sibling));
  }
  if (set.files_.size() > 1) {
    AMPHORA_TRY(check_between(set.files_));
    AMPHORA_TRY(check_skills(set.files_));
  }
  return set;
}

json::Value CmfSet::header() const {
  json::Value header = first().header();
  if (header.find_present("shard") != nullptr) header.erase("shard");
  return header;
}

std::vector<SetTensor> CmfSet::tensors() const {
  std::vector<SetTensor> tensors;
  for (const CmfFile& file : files_)
    for (const TensorRecord& record : file.tensors()) tensors.push_back({&file, &record});
  return tensors;
}

}  // namespace amphora::cmf
