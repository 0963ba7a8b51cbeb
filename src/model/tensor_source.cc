// Tensors by name: see tensor_source.h.
#include "model/tensor_source.h"

#include "quant/codec.h"

namespace amphora::model {
namespace {

// Operators that other models have, told by a part of their tensors' names.
struct ForeignOperator {
  std::string_view part;
  std::string_view name;
};
constexpr ForeignOperator kForeignOperators[] = {
    {"mlp.per_expert_scale", "scale of single experts"},
    {"vmf_attn.", "vmf_phase attention"},
    {"self_attn.sinks", "attention sinks"},
    {"layer_scalar", "layer scalar"},
    {"lm_head.clusters.", "hierarchical head"},
    {"altup", "Gemma 3n stack"},
    {"laurel", "Gemma 3n stack"},
    {"per_layer_", "Gemma 3n stack"},
    {"dit.", "image pipeline"},
    {"vae.", "image pipeline"},
};

bool is_ignorable(std::string_view name) {
  if (name.starts_with("skill.") || name.starts_with("model.mtp.")) return true;
  if (name.ends_with(".down_proj.t.weight") || name.ends_with(".rotary_emb.inv_freq")) return true;
  if (!name.ends_with(".weight")) return false;
  const size_t tube = name.rfind(".tube");
  if (tube == std::string_view::npos) return false;
  const std::string_view number = name.substr(tube + 5, name.size() - 7 - (tube + 5));
  return !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string_view find_foreign_operator(std::string_view name) {
  for (const ForeignOperator& foreign : kForeignOperators) {
    const size_t at = name.find(foreign.part);
    if (at != std::string_view::npos && (at == 0 || name[at - 1] == '.')) return foreign.name;
  }
  return {};
}

std::string text_of(const std::vector<uint64_t>& shape) {
  std::string text = "[";
  for (const uint64_t dimension : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(dimension);
  return text + ']';
}

}  // namespace

TensorSource::TensorSource(const Package& package, Findings& findings)
    : package_(package), findings_(findings) {
  for (const PackageTensor& tensor : package.tensors) by_name_.emplace(tensor.name, &tensor);
}

uint64_t TensorSource::rows_of(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() || found->second->shape.empty() ? 0 : found->second->shape.front();
}

uint64_t TensorSource::columns_of(const std::string& name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() || found->second->shape.empty() ? 0 : found->second->shape.back();
}

kernels::Matrix TensorSource::matrix(const std::string& name, uint64_t rows, uint64_t columns) {
  const PackageTensor* tensor = take(name, {rows, columns});
  if (!tensor) return {};
  if (rows == 0 || columns == 0) {
    findings_.contradiction(name + " is empty");
    return {};
  }
  if (!tensor->dtype) {
    if (foreign_types_.insert(tensor->stored_type).second)
      findings_.unsupported(name + " and others, stored as " + tensor->stored_type +
                            " in another layout, are not run directly: convert the model first");
    return {};
  }
  if (!kernels::supports(*tensor->dtype)) {
    if (foreign_types_.insert(tensor->stored_type).second)
      findings_.unsupported(name + " and others have element type " +
                            std::string(quant::name_of(*tensor->dtype)) +
                            ", which is not run yet: convert the model to another type first");
    return {};
  }
  const quant::Codec* codec = quant::find_codec(*tensor->dtype);
  const auto bytes = codec && codec->payload_bytes ? codec->payload_bytes(tensor->shape) : std::nullopt;
  if (bytes && *bytes != tensor->stored.size()) {
    findings_.contradiction(name + " has " + std::to_string(tensor->stored.size()) +
                            " bytes, its shape wants " + std::to_string(*bytes));
    return {};
  }
  kernels::Matrix matrix{*tensor->dtype, rows, columns, tensor->stored};
  matrix.coded = kernels::find_coded_rows(matrix);
  return matrix;
}

Result<std::vector<float>> TensorSource::vector(const std::string& name, uint64_t count) {
  const PackageTensor* tensor = take(name, {count});
  if (!tensor) return std::vector<float>{};
  std::vector<float> values(count);
  AMPHORA_TRY(tensor->read(0, values));
  return values;
}

Result<std::vector<float>> TensorSource::vector_if_present(const std::string& name, uint64_t count) {
  if (!has(name)) return std::vector<float>{};
  return vector(name, count);
}

Result<std::vector<float>> TensorSource::values(const std::string& name, uint64_t count) {
  const PackageTensor* tensor = take(name);
  if (!tensor) return std::vector<float>{};
  if (tensor->elements() != count) {
    findings_.contradiction(name + " has shape " + text_of(tensor->shape) + ", wanted " +
                            std::to_string(count) + " elements");
    return std::vector<float>{};
  }
  std::vector<float> values(count);
  AMPHORA_TRY(tensor->read(0, values));
  return values;
}

Result<Linear> TensorSource::linear(const std::string& name, uint64_t rows, uint64_t columns) {
  Linear linear{matrix(name + ".weight", rows, columns), {}};
  AMPHORA_ASSIGN(linear.bias, vector_if_present(name + ".bias", rows));
  return linear;
}

void TensorSource::report_unused() {
  for (const PackageTensor& tensor : package_.tensors) {
    if (taken_.contains(&tensor) || is_ignorable(tensor.name)) continue;
    const std::string_view foreign = find_foreign_operator(tensor.name);
    if (foreign.empty())
      findings_.unused(tensor.name);
    else
      findings_.unsupported_operator(foreign, tensor.name);
  }
}

const PackageTensor* TensorSource::take(const std::string& name) {
  const auto found = by_name_.find(name);
  if (found == by_name_.end()) {
    findings_.missing(name);
    return nullptr;
  }
  taken_.insert(found->second);
  return found->second;
}

// A tensor counts as taken even if its shape is wrong: one fault, one finding.
const PackageTensor* TensorSource::take(const std::string& name, const std::vector<uint64_t>& shape) {
  const PackageTensor* tensor = take(name);
  if (tensor == nullptr || tensor->shape == shape) return tensor;
  findings_.contradiction(name + " has shape " + text_of(tensor->shape) + ", wanted " + text_of(shape));
  return nullptr;
}

}  // namespace amphora::model
