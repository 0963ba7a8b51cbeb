// How results, notes and errors reach people.
#include "cli/print.h"

#include <sys/resource.h>

#include <array>
#include <cstdio>

#include "unicode/utf8.h"

namespace amphora::cli {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void flush_output() { std::fflush(stdout); }

bool output_failed() {
  const bool flushed = std::fflush(stdout) == 0;
  return std::ferror(stdout) != 0 || !flushed;
}

void print_error(std::string_view text) {
  flush_output();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void print_json_line(const json::Value& value) {
  print(json::dump(value));
  print("\n");
  flush_output();
}

void print_note(const Globals& globals, std::string_view text) {
  if (globals.quiet || globals.json) return;
  print_error(fmt::format("amphora: note: {}\n", printable(text)));
}

std::string printable(std::string_view text) {
  const std::string well_formed = unicode::replace_ill_formed(text);
  std::string shown;
  shown.reserve(well_formed.size());
  for (size_t i = 0; i < well_formed.size(); ++i) {
    const auto byte = static_cast<unsigned char>(well_formed[i]);
    // C1 controls are U+0080 … U+009F: C2 80 … C2 9F.
    const bool c1 = byte == 0xC2 && static_cast<unsigned char>(well_formed[i + 1]) < 0xA0;
    if (byte < 0x20 || byte == 0x7F) {
      shown += fmt::format("\\x{:02x}", byte);
    } else if (c1) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(well_formed[++i]));
    } else {
      shown += well_formed[i];
    }
  }
  return shown;
}

json::Value text_value(std::string_view text) {
  return json::Value::string(unicode::replace_ill_formed(text));
}

namespace {

// The place may be a path through a file that is nested a thousand levels deep.
std::string shortened(const std::string& place) {
  constexpr size_t kMost = 400;
  return place.size() <= kMost ? place : place.substr(0, kMost) + "…";
}

}  // namespace

std::string describe(const Error& error) {
  std::string line = error.message;
  std::string where;
  const auto add = [&](const std::string& part) {
    if (part.empty()) return;
    if (!where.empty()) where += ", ";
    where += part;
  };
  add(error.code);
  // A template's error has its line and column in the message already.
  if (!error.place.starts_with("line ") || error.message.find(error.place) == std::string::npos)
    add(shortened(error.place));
  if (error.offset) add(fmt::format("byte {}", *error.offset));
  if (!where.empty()) line += fmt::format(" ({})", where);
  return printable(line);
}

std::string human_bytes(uint64_t bytes) {
  constexpr std::array kUnits = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 999.5 && unit + 1 < kUnits.size()) {
    value /= 1000;
    ++unit;
  }
  const int decimals = unit == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", value, decimals, kUnits[unit]);
}

std::string hex64(uint64_t value) { return fmt::format("{:016x}", value); }

uint64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

json::Value shape_value(std::span<const uint64_t> shape) {
  std::vector<json::Value> dimensions;
  for (const uint64_t dimension : shape) dimensions.push_back(count_value(dimension));
  return json::Value::array(std::move(dimensions));
}

}  // namespace amphora::cli
