// Typed access to GGUF metadata with one error at the end.
#include "package/gguf_metadata.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "package/limits.h"

namespace amphora::package {
namespace {

/// "array of int32", "uint32".
std::string type_text(const gguf::Value& value) {
  const gguf::Array* array = value.as_array();
  if (array == nullptr) return std::string(gguf::name_of(value.type));
  return fmt::format("array of {}", gguf::name_of(array->element_type));
}

}  // namespace

const gguf::Value* MetadataReader::find(std::string_view key) {
  read_.insert(full_key(key));
  return directory_.find(full_key(key));
}

std::optional<uint32_t> MetadataReader::find_integer(std::string_view key) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!gguf::is_integer(value->type)) {
    reject_type(key, "an integer");
    return std::nullopt;
  }
  const auto number = value->as_unsigned();
  if (!number || *number > std::numeric_limits<uint32_t>::max()) {
    reject(key, number ? fmt::format("{} is more than 32 bits hold", *number) : "the value is negative");
    return std::nullopt;
  }
  return static_cast<uint32_t>(*number);
}

std::optional<double> MetadataReader::find_float(std::string_view key) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto number = value->as_float();
  if (!number) {
    reject_type(key, "a float");
  } else if (!std::isfinite(*number)) {
    reject(key, fmt::format("{} is not a finite number", *number));
    return std::nullopt;
  }
  return number;
}

std::optional<bool> MetadataReader::find_bool(std::string_view key) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto flag = value->as_bool();
  if (!flag) reject_type(key, "a bool");
  return flag;
}

std::optional<std::string_view> MetadataReader::find_string(std::string_view key) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  const auto text = value->as_string();
  if (!text) reject_type(key, "a string");
  return text;
}

const gguf::Array* MetadataReader::find_array(std::string_view key, gguf::ValueType element_type) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return nullptr;
  const gguf::Array* array = value->as_array();
  if (array == nullptr || array->element_type != element_type)
    return reject_type(key, fmt::format("an array of {}", gguf::name_of(element_type)));
  return array;
}

uint32_t MetadataReader::read_integer(std::string_view key) {
  const auto value = find_integer(key);
  if (!value) require(key);
  return value.value_or(0);
}

double MetadataReader::read_float(std::string_view key) {
  const auto value = find_float(key);
  if (!value) require(key);
  return value.value_or(0);
}

const gguf::Array* MetadataReader::read_array(std::string_view key, gguf::ValueType element_type) {
  const gguf::Array* array = find_array(key, element_type);
  if (array == nullptr) require(key);
  return array;
}

std::optional<uint32_t> MetadataReader::find_uniform(std::string_view key) {
  const gguf::Value* value = find(key);
  const gguf::Array* array = value != nullptr ? value->as_array() : nullptr;
  if (array == nullptr) return find_integer(key);
  if (!gguf::is_integer(array->element_type) || array->count == 0) {
    reject(key, "wanted an integer or an array of integers");
    return std::nullopt;
  }
  const auto first = array->integer_at(0);
  for (uint64_t i = 1; i < array->count; ++i)
    if (array->integer_at(i) != first) {
      reject(key, "layers of different sizes are not supported", Fault::kUnsupported);
      return std::nullopt;
    }
  if (!first || *first < 0 || *first > kMaxDimension) {
    reject(key, "the array's value is out of range");
    return std::nullopt;
  }
  return static_cast<uint32_t>(*first);
}

uint32_t MetadataReader::read_uniform(std::string_view key) {
  const auto value = find_uniform(key);
  return value ? *value : read_integer(key);
}

const gguf::Array* MetadataReader::find_layer_flags(std::string_view key, uint32_t layers) {
  const gguf::Value* value = find(key);
  if (value == nullptr) return nullptr;
  const gguf::Array* flags = value->as_array();
  if (flags != nullptr && flags->element_type == gguf::ValueType::kBool && flags->count == layers)
    return flags;
  reject(key, fmt::format("wanted an array of bool with {} elements, one for each layer", layers));
  return nullptr;
}

uint32_t MetadataReader::in_range(std::string_view key, uint32_t value, uint32_t limit) {
  if (!ok()) return value;
  if (value == 0) reject(key, "0 is not possible");
  if (value > limit)
    reject(key, fmt::format("{} is more than the limit of {}", value, limit), Fault::kRefused);
  return value;
}

void MetadataReader::reject(std::string_view key, std::string message, Fault fault) {
  if (error_) return;
  const gguf::Value* value = directory_.find(full_key(key));
  error_ =
      Error{fault, "Metadata", full_key(key), std::nullopt, fmt::format("{}: {}", full_key(key), message)};
  if (value != nullptr) error_->offset = value->offset;
}

std::nullptr_t MetadataReader::reject_type(std::string_view key, std::string_view wanted) {
  reject(key, fmt::format("found {}, wanted {}", type_text(*directory_.find(full_key(key))), wanted));
  return nullptr;
}

void MetadataReader::require(std::string_view key) {
  if (error_) return;
  error_ = Error{Fault::kCorrupt, "Missing", full_key(key), std::nullopt,
                 fmt::format("there is no metadata key {}", full_key(key))};
}

std::vector<std::string> MetadataReader::unread_keys() const {
  std::vector<std::string> keys;
  for (const gguf::KeyValue& entry : directory_.metadata)
    if (entry.key.starts_with(prefix_) && !read_.contains(entry.key)) keys.emplace_back(entry.key);
  return keys;
}

Status MetadataReader::status() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

}  // namespace amphora::package
