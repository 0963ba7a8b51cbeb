// Python's numbers: integers of any size beside floats, converted and compared without loss.
//
// Integers beyond 64 bits (Kind::kBigInteger) are shown, compared, rounded and made into floats; what would
// compute with them is refused.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "amphora/result.h"
#include "text/jinja/value.h"

namespace amphora::text::jinja {

std::unexpected<Error> integer_overflow();

/// The integer with those decimal digits: a '-' if it is negative, no leading zeros.
Value make_integer(Budget* budget, std::string digits);
/// The integer that a finite float is without its fraction.
Value make_truncated(Budget* budget, double value);
/// Decimal digits of an integer or bool, after a '-' if it is negative.
std::string decimal_digits(const Value& integer);
/// Python's -value and abs(value) of an integer or bool.
Value negated(Budget* budget, const Value& integer);
Value magnitude_of(Budget* budget, const Value& integer);

/// A float with that many decimals, as C's printf writes it: exact, and fast for long ones too. At most
/// kMaxDecimals.
std::string print_float(double value, std::chars_format format, int decimals);
/// Digits that a double can have: more would only be zeros.
inline constexpr int kMaxDecimals = 1100;
/// The float nearest to a number in decimal digits; infinite or zero where that is beyond its range.
double read_float(std::string_view digits);

/// Python's float(value) of a number; an OverflowError if it is too large.
Result<double> to_double(const Value& number);
/// Python's a / b of integers: the exact quotient, rounded once. `b` is not zero.
double divide_integers(int64_t a, int64_t b);
/// Python's order of two numbers, which is exact: negative, zero, positive; empty if a NaN is among them.
std::optional<int> compare_numbers(const Value& a, const Value& b);

/// The decimal digits of a magnitude, rounded to a multiple of 10^places; ties go to even. `has_fraction`
/// says that the magnitude is a little more than its digits.
std::string round_digits(std::string_view digits, uint64_t places, bool has_fraction);

}  // namespace amphora::text::jinja
