// Keys and types of a JSON object, as a table: the header, the masks meta and the signature file are read by
// it.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "amphora/json.h"
#include "formats/cmf/finding.h"

namespace amphora::cmf {

struct Record;

enum class Type : uint8_t {
  kString,
  kBoolean,
  kNumber,
  kU32,     ///< an integer 0 … 2^32 − 1 without fraction or exponent
  kHex,     ///< a string of `hex_digits` lower-case hexadecimal digits
  kChoice,  ///< a string of `choices`
  kTwo,     ///< the integer 2
  kObject,  ///< any object
  kRecord,  ///< an object as `record` describes it
};

struct Key {
  std::string_view name;
  Type type = Type::kString;
  bool list = false;  ///< an array of such values
  std::span<const std::string_view> choices = {};
  const Record* record = nullptr;
  size_t hex_digits = 16;
};

/// Required keys are checked first, then optional ones, each in the table's order. A required key that is
/// absent is kMissing, one that is null is kParse; an optional key that is null counts as absent. Other keys
/// are ignored.
struct Record {
  std::span<const Key> required;
  std::span<const Key> optional = {};
};

/// Where the JSON text is: what its faults say.
struct JsonPlace {
  Section section;
  uint64_t offset;
};

inline std::unexpected<Finding> json_fault(Code code, JsonPlace place, std::string path,
                                           std::string message) {
  return json_fault(code, place.section, place.offset, std::move(path), std::move(message));
}

/// Parses the text strictly and checks it against the table.
Checked<json::Value> read_record(std::string_view text, JsonPlace place, const Record& record);

/// The number behind a kU32 key that has been checked.
inline uint32_t u32_of(const json::Value& value) {
  return static_cast<uint32_t>(value.as_unsigned().value_or(0));
}
/// The number behind an optional kU32 key of a checked object.
std::optional<uint32_t> find_u32(const json::Value& object, std::string_view key);
/// The text behind an optional string key of a checked object, or empty.
std::string find_text(const json::Value& object, std::string_view key);

}  // namespace amphora::cmf
