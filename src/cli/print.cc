// How results, notes and errors reach people.
#include "cli/print.h"

#include <sys/resource.h>

#include <array>
#include <cstdio>

namespace amphora::cli {

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json_line(const json::Value& value) {
  print(json::dump(value));
  print("\n");
  std::fflush(stdout);
}

void print_note(const Globals& globals, std::string_view text) {
  if (globals.quiet || globals.json) return;
  std::fflush(stdout);
  fmt::print(stderr, "amphora: note: {}\n", text);
}

std::string describe(const Error& error) {
  std::string line = error.message;
  std::string where;
  const auto add = [&](const std::string& part) {
    if (part.empty()) return;
    if (!where.empty()) where += ", ";
    where += part;
  };
  add(error.code);
  add(error.place);
  if (error.offset) add(fmt::format("byte {}", *error.offset));
  if (!where.empty()) line += fmt::format(" ({})", where);
  for (char& c : line) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';  // one line, whatever a hostile file put into a name
  }
  return line;
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

}  // namespace amphora::cli
