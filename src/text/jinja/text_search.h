// Splitting, stripping and searching text as Python's str does; methods and filters are built on these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/budget.h"

namespace amphora::text::jinja {

// Each gives at most kMaxParts + 1 parts: the caller refuses more than kMaxParts.

/// str.split() without a separator: at runs of white space. `limit` < 0: no limit.
std::vector<std::string_view> split_at_spaces(std::string_view text, int64_t limit);
std::vector<std::string_view> split_at_spaces_from_right(std::string_view text, int64_t limit);
/// str.split(separator); the separator is not empty.
std::vector<std::string_view> split_at(std::string_view text, std::string_view separator, int64_t limit);
std::vector<std::string_view> split_at_from_right(std::string_view text, std::string_view separator,
                                                  int64_t limit);
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends);

enum class Side : uint8_t { kLeft, kRight, kBoth };
/// str.strip(): without `characters`, white space.
std::string_view strip(std::string_view text, std::optional<std::string_view> characters, Side side);

/// str.replace(); `limit` < 0: all.
void append_replaced(TextBuilder& out, std::string_view text, std::string_view before, std::string_view after,
                     int64_t limit);

}  // namespace amphora::text::jinja
