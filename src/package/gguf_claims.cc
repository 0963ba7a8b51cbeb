// Claims, checks, and the package's view of a stored tensor.
#include "package/gguf_claims.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace amphora::package {
namespace {

constexpr size_t kMaxNamesShown = 8;

/// The CMF type whose payload has the same bytes, if there is one.
std::optional<DType> dtype_of(const quant::ggml::Type& type) {
  if (type.name == "F32") return DType::kF32;
  if (type.name == "F16") return DType::kF16;
  if (type.name == "BF16") return DType::kBF16;
  return std::nullopt;
}

std::string shape_text(const std::vector<uint64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

bool same_shape(std::vector<uint64_t> left, std::vector<uint64_t> right) {
  std::erase(left, 1);
  std::erase(right, 1);
  return left == right;
}

Status change_values(std::string_view name, ValueChange change, std::span<float> values) {
  switch (change.kind) {
    case ValueChange::Kind::kNone: break;
    case ValueChange::Kind::kSubtractOne:
      for (float& value : values) value -= 1;
      break;
    case ValueChange::Kind::kScale:
      for (float& value : values) value *= change.factor;
      break;
    case ValueChange::Kind::kLogOfNegated:
      for (float& value : values) {
        if (!(value < 0))
          return fail_at(Fault::kCorrupt, "Value", std::string(name), std::nullopt,
                         fmt::format("{} holds {}, which is not below 0", name, value));
        value = static_cast<float>(std::log(-static_cast<double>(value)));
      }
      break;
  }
  return {};
}

/// Bytes of so many elements: whole blocks, but for vectors that are cut inside one.
uint64_t bytes_of(const quant::ggml::Type& type, uint64_t elements) {
  return elements / type.block_elements * type.block_bytes;
}

PackageTensor package_tensor(const gguf::Tensor& stored, StoredPart part, ValueChange change) {
  PackageTensor out;
  out.name = std::move(part.name);
  out.shape = std::move(part.shape);
  out.stored_type = stored.type->name;
  out.mapped = stored.data;
  out.stored_bytes = bytes_of(*stored.type, out.elements());
  out.stored_offset = stored.offset;
  const bool whole_blocks = part.columns % stored.type->block_elements == 0;
  if (const auto first_row = part.rows.contiguous_from(); first_row && (*first_row == 0 || whole_blocks)) {
    const uint64_t before = bytes_of(*stored.type, *first_row * part.columns);
    out.mapped = stored.data.subspan(before, out.stored_bytes);
    out.stored_offset += before;
    part.rows = RowOrder::from(0);
    if (change.kind == ValueChange::Kind::kNone) out.dtype = dtype_of(*stored.type);
    if (out.dtype) out.stored = out.mapped;
  }
  out.read = [type = stored.type, data = out.mapped, name = stored.name, rows = std::move(part.rows),
              columns = part.columns, change](uint64_t first, std::span<float> values) -> Status {
    AMPHORA_TRY(read_rows(*type, data, rows, columns, first, values));
    return change_values(name, change, values);
  };
  return out;
}

}  // namespace

TensorClaims::TensorClaims(const gguf::Directory& directory, std::filesystem::path file)
    : directory_(directory), file_(std::move(file)), claimed_(directory.tensors.size()) {}

size_t TensorClaims::index_of(const gguf::Tensor& tensor) const {
  return static_cast<size_t>(&tensor - directory_.tensors.data());
}

Status TensorClaims::check(const gguf::Tensor& tensor, const std::vector<uint64_t>& shape) const {
  const std::string name(tensor.name);
  if (!same_shape(tensor.shape, shape))
    return fail_at(
        Fault::kCorrupt, "Shape", name, tensor.record_offset,
        fmt::format("{} has the shape {}, wanted {}", name, shape_text(tensor.shape), shape_text(shape)));
  if (!tensor.type->can_decode())
    return fail_at(Fault::kUnsupported, "TensorType", name, tensor.record_offset,
                   fmt::format("{} has the type {}, which cannot be decoded here", name, tensor.type->name));
  return {};
}

const gguf::Tensor* TensorClaims::claim(std::string_view name, const std::vector<uint64_t>& shape) {
  const gguf::Tensor* tensor = directory_.find_tensor(name);
  if (tensor == nullptr) {
    if (!missing_) missing_ = name;
    return nullptr;
  }
  claimed_[index_of(*tensor)] = true;
  if (const Status sound = check(*tensor, shape); !sound) {
    if (!fault_) fault_ = sound.error();
    return nullptr;
  }
  return tensor;
}

void TensorClaims::drop(std::string_view name) {
  if (const gguf::Tensor* tensor = directory_.find_tensor(name)) claimed_[index_of(*tensor)] = true;
}

size_t TensorClaims::drop_all(std::string_view prefix) {
  size_t dropped = 0;
  for (size_t i = 0; i < directory_.tensors.size(); ++i) {
    if (!directory_.tensors[i].name.starts_with(prefix)) continue;
    claimed_[i] = true;
    ++dropped;
  }
  return dropped;
}

void TensorClaims::take(std::string_view name, const std::vector<uint64_t>& shape,
                        std::vector<StoredPart> parts, ValueChange change, std::string_view beside) {
  const gguf::Tensor* stored = claim(name, shape);
  if (stored == nullptr) return;
  const gguf::Tensor* neighbour = directory_.find_tensor(beside);
  for (StoredPart& part : parts)
    add(neighbour != nullptr ? *neighbour : *stored, package_tensor(*stored, std::move(part), change));
}

void TensorClaims::add(const gguf::Tensor& stored, PackageTensor tensor) {
  tensor.file = file_;
  added_.push_back({index_of(stored), std::move(tensor)});
}

Result<std::vector<PackageTensor>> TensorClaims::finish(std::string_view architecture) {
  if (fault_) return std::unexpected(*fault_);
  std::vector<std::string_view> unknown;
  for (size_t i = 0; i < claimed_.size(); ++i)
    if (!claimed_[i]) unknown.push_back(directory_.tensors[i].name);
  if (!unknown.empty()) {
    const size_t shown = std::min(unknown.size(), kMaxNamesShown);
    return fail_at(
        Fault::kUnsupported, "UnknownTensor", std::string(unknown.front()),
        directory_.find_tensor(unknown.front())->record_offset,
        fmt::format("{} tensors have no place in the architecture {}: {}{}", unknown.size(), architecture,
                    fmt::join(unknown.begin(), unknown.begin() + static_cast<std::ptrdiff_t>(shown), ", "),
                    shown < unknown.size() ? ", …" : ""));
  }
  if (missing_)
    return fail_at(Fault::kCorrupt, "Missing", *missing_, std::nullopt,
                   fmt::format("there is no tensor {}", *missing_));
  std::ranges::stable_sort(added_, {}, &Added::place);
  std::vector<PackageTensor> tensors;
  tensors.reserve(added_.size());
  for (Added& added : added_) tensors.push_back(std::move(added.tensor));
  return tensors;
}

}  // namespace amphora::package
