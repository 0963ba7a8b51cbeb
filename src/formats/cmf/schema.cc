// Checks JSON values against tables of keys and types.
#include "formats/cmf/schema.h"

#include <algorithm>

namespace amphora::cmf {
namespace {

class Checker {
 public:
  explicit Checker(JsonPlace place) : place_(place) {}

  Checked<void> check_record(const json::Value& value, const Record& record, const std::string& path) const {
    if (!value.is_object()) return wrong(value, "object", path);
    for (const Key& key : record.required) {
      const json::Value* member = value.find(key.name);
      const std::string member_path = path + json::path_step(key.name);
      if (!member) return json_fault(Code::kMissing, place_, member_path, "a required key is absent");
      AMPHORA_TRY(check_key(*member, key, member_path));
    }
    for (const Key& key : record.optional)
      if (const json::Value* member = value.find_present(key.name))
        AMPHORA_TRY(check_key(*member, key, path + json::path_step(key.name)));
    return {};
  }

 private:
  Checked<void> check_key(const json::Value& value, const Key& key, const std::string& path) const {
    if (!key.list) return check_value(value, key, path);
    if (!value.is_array()) return wrong(value, "array", path);
    for (size_t i = 0; i < value.items().size(); ++i)
      AMPHORA_TRY(check_value(value.items()[i], key, path + "[" + std::to_string(i) + "]"));
    return {};
  }

  Checked<void> check_value(const json::Value& value, const Key& key, const std::string& path) const {
    switch (key.type) {
      case Type::kString: return value.is_string() ? Checked<void>() : wrong(value, "string", path);
      case Type::kBoolean: return value.is_bool() ? Checked<void>() : wrong(value, "boolean", path);
      case Type::kNumber: return value.is_number() ? Checked<void>() : wrong(value, "number", path);
      case Type::kObject: return value.is_object() ? Checked<void>() : wrong(value, "object", path);
      case Type::kRecord: return check_record(value, *key.record, path);
      case Type::kU32: {
        const auto number = value.as_unsigned();
        if (number && *number <= UINT32_MAX) return {};
        return wrong(value, "integer from 0 to 4294967295", path);
      }
      case Type::kTwo: return value.as_unsigned() == 2u ? Checked<void>() : wrong(value, "2", path);
      case Type::kHex:
        if (value.is_string() && value.text().size() == key.hex_digits &&
            value.text().find_first_not_of("0123456789abcdef") == std::string::npos)
          return {};
        return wrong(value, std::to_string(key.hex_digits) + " lower-case hexadecimal digits", path);
      case Type::kChoice:
        if (value.is_string() && std::ranges::find(key.choices, value.text()) != key.choices.end()) return {};
        return wrong(value, list_of(key.choices), path);
    }
    return wrong(value, "known type", path);
  }

  static std::string list_of(std::span<const std::string_view> choices) {
    std::string list;
    for (const std::string_view choice : choices) list += (list.empty() ? "" : " or ") + std::string(choice);
    return list;
  }

  std::unexpected<Finding> wrong(const json::Value& value, const std::string& wanted,
                                 const std::string& path) const {
    std::string found(kind_name(value.kind()));
    if ((value.is_string() || value.is_number()) && value.text().size() <= 40) found += " " + value.text();
    return json_fault(Code::kParse, place_, path, "found " + found + ", wanted " + wanted);
  }

  JsonPlace place_;
};

}  // namespace

Checked<json::Value> read_record(std::string_view text, JsonPlace place, const Record& record) {
  auto value = json::parse(text);
  if (!value) return json_fault(Code::kParse, place, value.error().place, value.error().message);
  AMPHORA_TRY(Checker(place).check_record(*value, record, "$"));
  return *std::move(value);
}

std::optional<uint32_t> find_u32(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find_present(key);
  return value ? std::optional(u32_of(*value)) : std::nullopt;
}

std::string find_text(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find_present(key);
  return value ? value->text() : std::string();
}

}  // namespace amphora::cmf
