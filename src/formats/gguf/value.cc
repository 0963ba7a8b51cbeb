// Names, sizes and typed access of GGUF metadata values.
#include "formats/gguf/value.h"

#include <array>
#include <bit>
#include <limits>

#include "base/byte_reader.h"

namespace amphora::gguf {
namespace {

struct TypeInfo {
  std::string_view name;
  uint64_t bytes;
};

constexpr std::array<TypeInfo, kValueTypeCount> kTypes = {{{"uint8", 1},
                                                           {"int8", 1},
                                                           {"uint16", 2},
                                                           {"int16", 2},
                                                           {"uint32", 4},
                                                           {"int32", 4},
                                                           {"float32", 4},
                                                           {"bool", 1},
                                                           {"string", 0},
                                                           {"array", 0},
                                                           {"uint64", 8},
                                                           {"int64", 8},
                                                           {"float64", 8}}};

}  // namespace

std::string_view name_of(ValueType type) { return kTypes[static_cast<size_t>(type)].name; }
uint64_t fixed_bytes(ValueType type) { return kTypes[static_cast<size_t>(type)].bytes; }

bool is_integer(ValueType type) {
  return !is_float(type) && type != ValueType::kBool && type != ValueType::kString &&
         type != ValueType::kArray;
}

bool is_float(ValueType type) { return type == ValueType::kFloat32 || type == ValueType::kFloat64; }

std::optional<int64_t> Array::integer_at(uint64_t index) const {
  const std::byte* at = numbers.data() + index * fixed_bytes(element_type);
  switch (element_type) {
    case ValueType::kUint8: return load_little_endian<uint8_t>(at);
    case ValueType::kInt8: return std::bit_cast<int8_t>(load_little_endian<uint8_t>(at));
    case ValueType::kUint16: return load_little_endian<uint16_t>(at);
    case ValueType::kInt16: return std::bit_cast<int16_t>(load_little_endian<uint16_t>(at));
    case ValueType::kUint32: return load_little_endian<uint32_t>(at);
    case ValueType::kInt32: return std::bit_cast<int32_t>(load_little_endian<uint32_t>(at));
    case ValueType::kInt64: return std::bit_cast<int64_t>(load_little_endian<uint64_t>(at));
    default: {
      const auto value = load_little_endian<uint64_t>(at);
      if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
      return static_cast<int64_t>(value);
    }
  }
}

double Array::float_at(uint64_t index) const {
  if (element_type == ValueType::kFloat32)
    return std::bit_cast<float>(load_little_endian<uint32_t>(numbers.data() + 4 * index));
  return std::bit_cast<double>(load_little_endian<uint64_t>(numbers.data() + 8 * index));
}

std::optional<uint64_t> Value::as_unsigned() const {
  if (const auto* value = std::get_if<uint64_t>(&content)) return *value;
  if (const auto* value = std::get_if<int64_t>(&content); value != nullptr && *value >= 0)
    return static_cast<uint64_t>(*value);
  return std::nullopt;
}

std::optional<double> Value::as_float() const {
  const auto* value = std::get_if<double>(&content);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<bool> Value::as_bool() const {
  const auto* value = std::get_if<bool>(&content);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

std::optional<std::string_view> Value::as_string() const {
  const auto* value = std::get_if<std::string_view>(&content);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

const Array* Value::as_array() const { return std::get_if<Array>(&content); }

}  // namespace amphora::gguf
