// Typed access to the members of a JSON object.
#include "package/object_reader.h"

#include <fmt/format.h>

#include <limits>

namespace amphora::package {

void ObjectReader::record(Fault fault, std::string code, std::string place, std::string message) {
  if (error_) return;
  error_ = Error{fault, std::move(code), std::move(place), std::nullopt, std::move(message)};
}

void ObjectReader::reject(std::string_view key, std::string message, Fault fault) {
  record(fault, fault == Fault::kUnsupported ? "" : "Parse", place(key), fmt::format("{}: {}", key, message));
}

Status ObjectReader::status() const {
  if (error_) return std::unexpected(*error_);
  return {};
}

const json::Value* ObjectReader::find(std::string_view key, json::Kind kind) {
  const json::Value* value = object_.find_present(key);
  if (value == nullptr) return nullptr;
  if (value->kind() != kind) {
    reject(key,
           fmt::format("found a value of type {}, wanted {}", kind_name(value->kind()), kind_name(kind)));
    return nullptr;
  }
  return value;
}

const json::Value* ObjectReader::find_required(std::string_view key) {
  const json::Value* value = object_.find_present(key);
  if (value == nullptr)
    record(Fault::kCorrupt, "Missing", place(key), fmt::format("the required field '{}' is missing", key));
  return value;
}

namespace {

std::optional<uint32_t> as_integer(const json::Value& value) {
  const auto number = value.as_unsigned();
  if (!number || *number > std::numeric_limits<uint32_t>::max()) return std::nullopt;
  return static_cast<uint32_t>(*number);
}

}  // namespace

std::optional<uint32_t> ObjectReader::find_integer(std::string_view key) {
  const json::Value* value = find(key, json::Kind::kNumber);
  if (value == nullptr) return std::nullopt;
  const auto number = as_integer(*value);
  if (!number) reject(key, fmt::format("{} is not an integer from 0 to 4294967295", value->text()));
  return number;
}

std::optional<double> ObjectReader::find_number(std::string_view key) {
  const json::Value* value = find(key, json::Kind::kNumber);
  if (value == nullptr) return std::nullopt;
  return value->as_double();
}

std::optional<bool> ObjectReader::find_bool(std::string_view key) {
  const json::Value* value = find(key, json::Kind::kBool);
  if (value == nullptr) return std::nullopt;
  return value->as_bool();
}

const std::string* ObjectReader::find_string(std::string_view key) {
  const json::Value* value = find(key, json::Kind::kString);
  return value == nullptr ? nullptr : &value->text();
}

const json::Value* ObjectReader::find_array(std::string_view key) { return find(key, json::Kind::kArray); }
const json::Value* ObjectReader::find_object(std::string_view key) { return find(key, json::Kind::kObject); }

std::vector<float> ObjectReader::find_floats(std::string_view key) {
  std::vector<float> floats;
  const json::Value* array = find_array(key);
  if (array == nullptr) return floats;
  for (const json::Value& item : array->items()) {
    const double value = item.as_double();
    if (!item.is_number() || value < -std::numeric_limits<float>::max() ||
        value > std::numeric_limits<float>::max()) {
      reject(key, fmt::format("element {} is not a 32-bit floating-point number", floats.size()));
      return {};
    }
    floats.push_back(static_cast<float>(value));
  }
  return floats;
}

std::vector<uint32_t> ObjectReader::find_integers(std::string_view key) {
  std::vector<uint32_t> integers;
  const json::Value* array = find_array(key);
  if (array == nullptr) return integers;
  for (const json::Value& item : array->items()) {
    const auto value = item.is_number() ? as_integer(item) : std::nullopt;
    if (!value) {
      reject(key, fmt::format("element {} is not an integer from 0 to 4294967295", integers.size()));
      return {};
    }
    integers.push_back(*value);
  }
  return integers;
}

std::vector<std::string> ObjectReader::find_strings(std::string_view key) {
  std::vector<std::string> strings;
  const json::Value* array = find_array(key);
  if (array == nullptr) return strings;
  for (const json::Value& item : array->items()) {
    if (!item.is_string()) {
      reject(key, fmt::format("element {} is not a string", strings.size()));
      return {};
    }
    strings.push_back(item.text());
  }
  return strings;
}

uint32_t ObjectReader::read_integer(std::string_view key) {
  return find_required(key) == nullptr ? 0 : find_integer(key).value_or(0);
}

double ObjectReader::read_number(std::string_view key) {
  return find_required(key) == nullptr ? 0 : find_number(key).value_or(0);
}

std::string ObjectReader::read_string(std::string_view key) {
  if (find_required(key) == nullptr) return {};
  const std::string* text = find_string(key);
  return text == nullptr ? std::string() : *text;
}

}  // namespace amphora::package
