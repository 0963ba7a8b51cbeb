// Words of a header and the values that they stand for.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "amphora/json.h"

namespace amphora::package {

template <class T>
using NamedValue = std::pair<std::string_view, T>;

/// Null if no line of the table bears the name.
template <class Table>
auto find_value(const Table& table, std::string_view name) -> const typename Table::value_type::second_type* {
  for (const auto& entry : table)
    if (entry.first == name) return &entry.second;
  return nullptr;
}

/// The name as a JSON string; every value has its line.
template <class Table, class T>
json::Value name_value(const Table& table, T value) {
  for (const auto& entry : table)
    if (entry.second == value) return json::Value::string(std::string(entry.first));
  return {};
}

}  // namespace amphora::package
