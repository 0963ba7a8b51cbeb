// GGUF metadata read key by key: types are checked here and nowhere else.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "formats/gguf/directory.h"

namespace amphora::package {

/// Reads values by key, `prefix` put before each. The first fault is kept and all later reads go on with
/// neutral values: a decoder reads down its keys and asks once. The directory must outlive the reader.
class MetadataReader {
 public:
  MetadataReader(const gguf::Directory& directory, std::string prefix)
      : directory_(directory), prefix_(std::move(prefix)) {}

  /// Optional values: empty (or null) if the key is absent or its value faulty. An integer may have any
  /// width.
  std::optional<uint32_t> find_integer(std::string_view key);
  std::optional<double> find_float(std::string_view key);  ///< finite
  std::optional<bool> find_bool(std::string_view key);
  std::optional<std::string_view> find_string(std::string_view key);
  const gguf::Array* find_array(std::string_view key, gguf::ValueType element_type);

  /// Required values: absence is a fault ("Missing").
  uint32_t read_integer(std::string_view key);
  double read_float(std::string_view key);
  const gguf::Array* read_array(std::string_view key, gguf::ValueType element_type);

  /// A number that may also be given for each layer: all must be equal, else kUnsupported.
  std::optional<uint32_t> find_uniform(std::string_view key);
  uint32_t read_uniform(std::string_view key);
  /// An array of bool with one element for each of `layers` layers, or null.
  const gguf::Array* find_layer_flags(std::string_view key, uint32_t layers);
  /// A number from 1 to `limit`; more is kRefused. `value` is that of the key or stands in for it.
  uint32_t in_range(std::string_view key, uint32_t value, uint32_t limit);

  /// The value whatever its type, or null.
  const gguf::Value* find(std::string_view key);
  /// Records a fault of the key's value ("Metadata"), unless there is one already.
  void reject(std::string_view key, std::string message, Fault fault = Fault::kCorrupt);
  std::string full_key(std::string_view key) const { return prefix_ + std::string(key); }

  /// Keys under the prefix that nobody has asked for.
  std::vector<std::string> unread_keys() const;

  bool ok() const { return !error_; }
  Status status() const;

 private:
  std::nullptr_t reject_type(std::string_view key, std::string_view wanted);
  void require(std::string_view key);

  const gguf::Directory& directory_;
  std::string prefix_;
  std::set<std::string, std::less<>> read_;
  std::optional<Error> error_;
};

}  // namespace amphora::package
