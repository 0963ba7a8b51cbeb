// Opens a GGUF file as a Package.
#include "package/gguf_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "formats/gguf/directory.h"
#include "package/gguf_names.h"
#include "package/gguf_rope.h"
#include "package/gguf_spec.h"
#include "package/gguf_tokenizer.h"

namespace amphora {
namespace {

using package::GgufChange;
using package::GgufModel;

/// The CMF type whose payload has the same bytes, if there is one.
std::optional<DType> dtype_of(const quant::ggml::Type& type) {
  if (type.name == "F32") return DType::kF32;
  if (type.name == "F16") return DType::kF16;
  if (type.name == "BF16") return DType::kBF16;
  return std::nullopt;
}

/// Reads rows in Hugging Face's order. ggml's llama stores the rows of a head so that a rotated pair is two
/// neighbours: its row 2j + h is the other's row h · head_dim / 2 + j.
Status read_unpermuted(const quant::ggml::Type& type, Bytes data, uint64_t head_dim, uint64_t columns,
                       uint64_t first, std::span<float> out) {
  while (!out.empty()) {
    const uint64_t row = first / columns, column = first % columns;
    const uint64_t in_head = row % head_dim;
    const uint64_t half = in_head / (head_dim / 2), pair = in_head % (head_dim / 2);
    const uint64_t stored_row = row - in_head + 2 * pair + half;
    const size_t count = std::min<uint64_t>(columns - column, out.size());
    AMPHORA_TRY(quant::ggml::decode_elements(type, data, stored_row * columns + column, out.first(count)));
    first += count;
    out = out.subspan(count);
  }
  return {};
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

Result<PackageTensor> package_tensor(const gguf::Tensor& tensor, const package::GgufName& name,
                                     const ModelSpec& spec) {
  const std::string stored_name(tensor.name);
  if (tensor.shape != name.shape)
    return fail_at(Fault::kCorrupt, "Shape", stored_name, tensor.record_offset,
                   fmt::format("{} has the shape {}, wanted {}", stored_name, shape_text(tensor.shape),
                               shape_text(name.shape)));
  if (!tensor.type->can_decode())
    return fail_at(
        Fault::kUnsupported, "TensorType", stored_name, tensor.record_offset,
        fmt::format("{} has the type {}, which cannot be decoded here", stored_name, tensor.type->name));
  PackageTensor out;
  out.name = name.name;
  out.shape = tensor.shape;
  out.stored_type = tensor.type->name;
  out.mapped = tensor.data;
  out.stored_bytes = tensor.data.size();
  out.stored_offset = tensor.offset;
  const auto* type = tensor.type;
  const Bytes data = tensor.data;
  switch (name.change) {
    case GgufChange::kNone:
      out.dtype = dtype_of(*type);
      if (out.dtype) out.stored = data;
      out.read = [type, data](uint64_t first, std::span<float> values) {
        return quant::ggml::decode_elements(*type, data, first, values);
      };
      break;
    case GgufChange::kSubtractOne:
      out.read = [type, data](uint64_t first, std::span<float> values) -> Status {
        AMPHORA_TRY(quant::ggml::decode_elements(*type, data, first, values));
        for (float& value : values) value -= 1;
        return {};
      };
      break;
    case GgufChange::kUnpermute:
      out.read = [type, data, head_dim = uint64_t{spec.head_dim},
                  columns = tensor.shape.size() == 2 ? tensor.shape[1] : 1](uint64_t first,
                                                                            std::span<float> values) {
        return read_unpermuted(*type, data, head_dim, columns, first, values);
      };
      break;
  }
  return out;
}

/// Every tensor must have a name in the model, and every tensor that the model needs must be there.
Status collect_tensors(const gguf::Directory& directory, const GgufModel& model, Package& package) {
  std::vector<std::string> unmapped;
  for (const gguf::Tensor& tensor : directory.tensors) {
    if (tensor.name == package::kRopeFactorsTensor) continue;  // has become a part of the spec
    const auto name = package::map_gguf_name(tensor.name, *model.architecture, model.spec);
    if (!name) {
      unmapped.emplace_back(tensor.name);
      continue;
    }
    AMPHORA_ASSIGN(PackageTensor out, package_tensor(tensor, *name, model.spec));
    out.file = package.path;
    package.tensors.push_back(std::move(out));
  }
  if (!unmapped.empty()) {
    const size_t shown = std::min<size_t>(unmapped.size(), 8);
    return fail_at(
        Fault::kUnsupported, "UnknownTensor", unmapped.front(),
        directory.find_tensor(unmapped.front())->record_offset,
        fmt::format("{} tensors have no place in the architecture {}: {}{}", unmapped.size(),
                    model.architecture->name,
                    fmt::join(unmapped.begin(), unmapped.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                    shown < unmapped.size() ? ", …" : ""));
  }
  for (const std::string& name : package::required_gguf_names(*model.architecture, model.spec))
    if (directory.find_tensor(name) == nullptr)
      return fail_at(Fault::kCorrupt, "Missing", name, std::nullopt,
                     fmt::format("there is no tensor {}", name));
  return {};
}

std::unexpected<Error> in_file(const std::filesystem::path& path, Error error) {
  error.message = fmt::format("{}: {}", path.filename().string(), error.message);
  return std::unexpected(std::move(error));
}

/// A split model is several files, each a valid GGUF; one of them alone is not a model.
Status refuse_split(const gguf::Directory& directory) {
  const gguf::Value* count = directory.find("split.count");
  if (count == nullptr || count->as_unsigned().value_or(0) <= 1) return {};
  return fail_at(Fault::kUnsupported, "Split", "split.count", count->offset,
                 fmt::format("the model is split over {} files: merge them first (llama-gguf-split --merge)",
                             *count->as_unsigned()));
}

Status fill(const gguf::Directory& directory, const package::OpenOptions& options, Package& package) {
  AMPHORA_TRY(refuse_split(directory));
  AMPHORA_ASSIGN(GgufModel model, package::decode_gguf_spec(directory));
  AMPHORA_TRY(collect_tensors(directory, model, package));
  AMPHORA_ASSIGN(package::GgufTokenizer tokenizer, package::rebuild_tokenizer(directory, options.assumed));
  package.spec = std::move(model.spec);
  package.notes = std::move(model.notes);
  std::ranges::move(tokenizer.notes, std::back_inserter(package.notes));
  package.tokenizer = std::move(tokenizer.config);
  if (tokenizer.took_assumed_pre_tokenizer)
    package::record_assumption(*options.assumed, package);
  else if (options.assumed != nullptr)
    return package::idle_assumption(tokenizer.tokenizer_json.empty() ? "the file has no vocabulary"
                                                                     : "the file's own is known");
  if (tokenizer.tokenizer_json.empty()) {
    package.notes.push_back("the file has no vocabulary: no text can be encoded");
    return {};
  }
  const auto json = std::make_shared<const std::string>(std::move(tokenizer.tokenizer_json));
  package.tokenizer_json = *json;
  package.owners.push_back(json);
  return {};
}

}  // namespace

Result<std::shared_ptr<const Package>> open_gguf_package(const std::filesystem::path& path,
                                                         const package::OpenOptions& options) {
  AMPHORA_ASSIGN(const auto mapping, MappedFile::open(path));
  const auto directory = gguf::decode_directory(mapping->bytes());
  if (!directory) return in_file(path, directory.error());
  auto package = std::make_shared<Package>();
  package->format = PackageFormat::kGguf;
  package->path = path;
  package->owners.push_back(mapping);
  if (const Status status = fill(*directory, options, *package); !status)
    return in_file(path, status.error());
  return package;
}

}  // namespace amphora
