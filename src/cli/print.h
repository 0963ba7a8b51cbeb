// How results, notes and errors reach people: results on stdout, everything else on stderr.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>

#include "amphora/json.h"
#include "amphora/result.h"
#include "cli/verb.h"

namespace amphora::cli {

/// Writes to stdout. A failure is remembered: output_failed() tells at the end.
void print(std::string_view text);
void flush_output();
bool output_failed();
/// Writes to stderr; words that cannot be shown are no fault.
void print_error(std::string_view text);
/// The text with control characters made visible ("\\x1b"): what a file or a name says must not reach a
/// terminal as a command, nor break a line. Ill-formed UTF-8 becomes U+FFFD.
std::string printable(std::string_view text);
void print_json_line(const json::Value& value);
/// `amphora: note: …` on stderr, unless --quiet or --json.
void print_note(const Globals& globals, std::string_view text);
/// One line: what, where, at which byte.
std::string describe(const Error& error);

/// "1.2 GB", "345 kB": decimal units, three significant digits.
std::string human_bytes(uint64_t bytes);
/// 16 lower-case hex digits.
std::string hex64(uint64_t value);
/// The largest resident size that this process has had, in bytes.
uint64_t peak_resident_bytes();

/// A JSON string; ill-formed UTF-8 (file names may hold it) becomes U+FFFD.
json::Value text_value(std::string_view text);
inline json::Value count_value(uint64_t count) { return json::Value::unsigned_integer(count); }
/// Dimensions as an array of numbers.
json::Value shape_value(std::span<const uint64_t> shape);

}  // namespace amphora::cli
