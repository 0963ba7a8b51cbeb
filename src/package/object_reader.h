// A JSON object read field by field: types are checked here and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/json.h"
#include "amphora/result.h"

namespace amphora::package {

/// Reads fields by name. Absent and null are the same. The first fault is kept and all later reads go on with
/// neutral values: a decoder reads down its object and asks once. The object must outlive the reader.
class ObjectReader {
 public:
  ObjectReader(const json::Value& object, std::string path) : object_(object), path_(std::move(path)) {}

  /// Optional fields: empty (or null) if the field is absent or faulty.
  std::optional<uint32_t> find_integer(std::string_view key);  ///< without fraction or exponent, 0 … 2^32-1
  std::optional<double> find_number(std::string_view key);
  std::optional<bool> find_bool(std::string_view key);
  const std::string* find_string(std::string_view key);
  const json::Value* find_array(std::string_view key);
  const json::Value* find_object(std::string_view key);
  std::vector<float> find_floats(std::string_view key);         ///< empty if absent
  std::vector<uint32_t> find_integers(std::string_view key);    ///< empty if absent
  std::vector<std::string> find_strings(std::string_view key);  ///< empty if absent

  /// Required fields: absence is a fault ("Missing").
  uint32_t read_integer(std::string_view key);
  double read_number(std::string_view key);
  std::string read_string(std::string_view key);

  /// Records a fault of the field's value, unless there is one already. Its code is "Parse", but for a valid
  /// value that is not supported there is none.
  void reject(std::string_view key, std::string message, Fault fault = Fault::kCorrupt);
  std::string place(std::string_view key) const { return path_ + json::path_step(key); }
  const json::Value& object() const { return object_; }

  bool ok() const { return !error_; }
  Status status() const;

 private:
  const json::Value* find(std::string_view key, json::Kind kind);
  const json::Value* find_required(std::string_view key);
  void record(Fault fault, std::string code, std::string place, std::string message);

  const json::Value& object_;
  std::string path_;
  std::optional<Error> error_;
};

}  // namespace amphora::package
