// Metadata values of a GGUF file.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "amphora/bytes.h"

namespace amphora::gguf {

enum class ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};
inline constexpr uint32_t kValueTypeCount = 13;

/// "uint8" … "float64", "bool", "string", "array".
std::string_view name_of(ValueType type);
/// Bytes of one value of a type; 0 for strings and arrays, whose sizes vary.
uint64_t fixed_bytes(ValueType type);
bool is_integer(ValueType type);
bool is_float(ValueType type);

struct Value;

/// An array of one type. Numbers stay where they are in the file; texts are views into it.
struct Array {
  ValueType element_type = ValueType::kUint8;
  uint64_t count = 0;
  Bytes numbers;                          ///< elements of fixed size, little-endian
  std::vector<std::string_view> strings;  ///< elements, if they are strings
  std::vector<Value> arrays;              ///< elements, if they are arrays

  /// Element `index` (below count) of an integer type; empty if it is a uint64 beyond int64.
  std::optional<int64_t> integer_at(uint64_t index) const;
  /// Element `index` (below count) of a float type.
  double float_at(uint64_t index) const;
};

/// A value with the type that it is declared to have.
struct Value {
  ValueType type = ValueType::kUint8;
  uint64_t offset = 0;  ///< of its type field in the file
  std::variant<uint64_t, int64_t, double, bool, std::string_view, Array> content;

  /// The value if it is an integer of any width and not negative.
  std::optional<uint64_t> as_unsigned() const;
  /// The value if it is a float of either width.
  std::optional<double> as_float() const;
  std::optional<bool> as_bool() const;
  std::optional<std::string_view> as_string() const;
  const Array* as_array() const;
};

}  // namespace amphora::gguf
