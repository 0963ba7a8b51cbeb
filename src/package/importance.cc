// Importance files, and what they mean for a plan.
#include "package/importance.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "base/byte_writer.h"
#include "formats/safetensors/directory.h"
#include "package/tensor_names.h"

namespace amphora {
namespace {

constexpr std::string_view kFormat = "amphora-imatrix";
constexpr std::string_view kVersion = "1";
constexpr std::string_view kNotOfThisKind = "is not an importance file of this program";
constexpr size_t kNamesInNote = 8;

std::string some_of(std::span<const std::string_view> names) {
  const size_t shown = std::min(names.size(), kNamesInNote);
  std::string text = fmt::format("{}", fmt::join(names.first(shown), ", "));
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

Result<uint64_t> check_metadata(const safetensors::Directory& directory) {
  std::map<std::string_view, std::string_view> metadata;
  for (const auto& [key, value] : directory.metadata) metadata[key] = value;
  if (metadata["format"] != kFormat)
    return fail(Fault::kCorrupt,
                fmt::format("{}: its metadata do not say format = {}", kNotOfThisKind, kFormat));
  if (metadata["version"] != kVersion)
    return fail(Fault::kUnsupported, fmt::format("has version '{}', this program reads version {}",
                                                 metadata["version"], kVersion));
  const auto tokens = package::parse_decimal<uint64_t>(metadata["tokens"]);
  if (!tokens) return fail(Fault::kCorrupt, "does not say in its metadata how many tokens were run");
  return *tokens;
}

Status check_values(std::string_view name, std::span<const float> columns) {
  for (size_t i = 0; i < columns.size(); ++i)
    if (!std::isfinite(columns[i]) || columns[i] < 0)
      return fail_at(Fault::kRefused, "", std::string(name), std::nullopt,
                     fmt::format("tensor {}: importance {} at index {}, wanted a finite number from 0", name,
                                 columns[i], i));
  return {};
}

Result<std::vector<float>> decode_columns(const safetensors::Tensor& tensor) {
  if (tensor.type != safetensors::ElementType::kF32 || tensor.shape.size() != 1)
    return fail_at(Fault::kCorrupt, "", tensor.name, std::nullopt,
                   fmt::format("tensor {}: it is not a list of F32 values", tensor.name));
  std::vector<float> columns(tensor.elements);
  AMPHORA_TRY(safetensors::decode_elements(tensor.type, tensor.data, 0, columns));
  AMPHORA_TRY(check_values(tensor.name, columns));
  return columns;
}

Result<Importance> decode_importance(Bytes bytes) {
  const auto read = safetensors::decode_directory(bytes);
  if (!read) return fail(read.error().fault, fmt::format("{}: {}", kNotOfThisKind, read.error().message));
  const safetensors::Directory& directory = *read;
  Importance importance;
  AMPHORA_ASSIGN(importance.tokens, check_metadata(directory));
  for (const safetensors::Tensor& tensor : directory.tensors) {
    AMPHORA_ASSIGN(importance.columns[tensor.name], decode_columns(tensor));
  }
  return importance;
}

json::Value header_of(const Importance& importance) {
  json::Value header = json::Value::object();
  header.set("__metadata__",
             json::Value::object({{"format", json::Value::string(std::string(kFormat))},
                                  {"version", json::Value::string(std::string(kVersion))},
                                  {"tokens", json::Value::string(fmt::format("{}", importance.tokens))}}));
  uint64_t offset = 0;
  for (const auto& [name, columns] : importance.columns) {
    const uint64_t end = offset + columns.size() * sizeof(float);
    header.members().push_back(
        {name,
         json::Value::object({{"dtype", json::Value::string("F32")},
                              {"shape", json::Value::array({json::Value::unsigned_integer(columns.size())})},
                              {"data_offsets", json::Value::array({json::Value::unsigned_integer(offset),
                                                                   json::Value::unsigned_integer(end)})}})});
    offset = end;
  }
  return header;
}

Status check_lengths(const Package& package, const Importance& importance,
                     std::vector<std::string_view>& without_tensor) {
  std::unordered_map<std::string_view, const PackageTensor*> tensors;
  for (const PackageTensor& tensor : package.tensors) tensors.emplace(tensor.name, &tensor);
  for (const auto& [name, columns] : importance.columns) {
    const auto found = tensors.find(name);
    if (found == tensors.end()) {
      without_tensor.push_back(name);
      continue;
    }
    const std::vector<uint64_t>& shape = found->second->shape;
    if (shape.size() != 2 || shape[1] != columns.size())
      return fail_at(Fault::kRefused, "", name, std::nullopt,
                     fmt::format("tensor {}: the importance file has {} columns for it, its shape is [{}]",
                                 name, columns.size(), fmt::join(shape, ", ")));
  }
  return {};
}

}  // namespace

Result<Importance> load_importance(const std::filesystem::path& path) {
  AMPHORA_ASSIGN(const auto file, MappedFile::open(path));
  auto importance = decode_importance(file->bytes());
  if (!importance) {
    Error error = importance.error();
    error.message = fmt::format("{}: {}", path.string(), error.message);
    return std::unexpected(std::move(error));
  }
  return importance;
}

Status write_importance(const Importance& importance, AtomicFile& out) {
  for (const auto& [name, columns] : importance.columns) AMPHORA_TRY(check_values(name, columns));
  std::string header = json::dump(header_of(importance));
  header.resize((header.size() + 7) / 8 * 8, ' ');  // the format's way of aligning the data
  ByteWriter length;
  length.write(uint64_t{header.size()});
  AMPHORA_TRY(out.append(length.bytes()));
  AMPHORA_TRY(out.append(as_bytes(header)));
  for (const auto& [name, columns] : importance.columns) {
    ByteWriter data;
    for (const float value : columns) data.write(std::bit_cast<uint32_t>(value));
    AMPHORA_TRY(out.append(data.bytes()));
  }
  return {};
}

Status weigh_columns(const Package& package, const Importance& importance, quant::Encoder encoder,
                     std::span<PlannedTensor> plan, std::vector<std::string>& notes) {
  std::vector<std::string_view> without_tensor, without_entry, all_zero;
  AMPHORA_TRY(check_lengths(package, importance, without_tensor));
  const std::vector<std::string> skills = package::skill_ids(package);
  size_t searched = 0;
  for (PlannedTensor& planned : plan) {
    if (encoder == quant::Encoder::kPlain || planned.verbatim ||
        !quant::find_codec(planned.dtype)->has_search)
      continue;
    ++searched;
    const std::string& name = planned.source->name;
    auto entry = importance.columns.find(name);
    if (entry == importance.columns.end()) entry = importance.columns.find(package::own_name(name, skills));
    if (entry == importance.columns.end()) {
      without_entry.push_back(name);
    } else if (std::ranges::all_of(entry->second, [](float value) { return value == 0; })) {
      all_zero.push_back(name);
    } else {
      planned.importance = entry->second;
    }
  }
  if (searched == 0) notes.push_back("the importance file has no effect: no tensor is encoded with a search");
  if (!without_tensor.empty())
    notes.push_back(
        fmt::format("the importance file has {} entries for tensors that are not in the model: {}",
                    without_tensor.size(), some_of(without_tensor)));
  if (!without_entry.empty())
    notes.push_back(
        fmt::format("the importance file says nothing of {} of {} tensors that are encoded with a "
                    "search, which count their columns alike: {}",
                    without_entry.size(), searched, some_of(without_entry)));
  if (!all_zero.empty())
    notes.push_back(fmt::format("the importance of {} tensors is all zero, so their columns count alike: {}",
                                all_zero.size(), some_of(all_zero)));
  return {};
}

}  // namespace amphora
