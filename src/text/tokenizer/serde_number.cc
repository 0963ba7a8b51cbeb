// Numbers as the reference reads them.
#include "text/tokenizer/serde_number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace amphora::text {
namespace {

constexpr int kLargestPower = 308;

std::array<double, kLargestPower + 1> powers_of_ten() {
  std::array<double, kLargestPower + 1> powers{};
  for (int i = 0; i <= kLargestPower; ++i) {
    const std::string text = "1e" + std::to_string(i);
    std::from_chars(text.data(), text.data() + text.size(), powers[static_cast<size_t>(i)]);
  }
  return powers;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class NumberReader {
 public:
  explicit NumberReader(std::string_view token) : rest_(token) {}

  std::optional<double> read() {
    const bool negative = take('-');
    if (!read_integer() || !read_fraction() || !read_exponent() || !rest_.empty()) return std::nullopt;
    const auto value = scale(static_cast<double>(digits_), exponent_);
    return value && negative ? -*value : value;
  }

 private:
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  // False once the digits no longer fit: those that follow are left out.
  bool append(char digit) {
    const auto value = static_cast<uint64_t>(digit - '0');
    if (full_ || digits_ > (UINT64_MAX - value) / 10) {
      full_ = true;
      return false;
    }
    digits_ = digits_ * 10 + value;
    return true;
  }
  bool read_integer() {
    if (rest_.empty() || !is_digit(rest_[0])) return false;
    if (take('0')) return rest_.empty() || !is_digit(rest_[0]);
    for (; !rest_.empty() && is_digit(rest_[0]); rest_.remove_prefix(1))
      if (!append(rest_[0])) ++exponent_;
    return true;
  }
  bool read_fraction() {
    if (!take('.')) return true;
    if (rest_.empty() || !is_digit(rest_[0])) return false;
    for (; !rest_.empty() && is_digit(rest_[0]); rest_.remove_prefix(1))
      if (append(rest_[0])) --exponent_;
    return true;
  }
  bool read_exponent() {
    if (!take('e') && !take('E')) return true;
    const bool negative = take('-');
    if (!negative) take('+');
    if (rest_.empty() || !is_digit(rest_[0])) return false;
    int64_t exponent = 0;
    for (; !rest_.empty() && is_digit(rest_[0]); rest_.remove_prefix(1))
      if (exponent < 1'000'000) exponent = exponent * 10 + (rest_[0] - '0');
    exponent_ += negative ? -exponent : exponent;
    return true;
  }
  static std::optional<double> scale(double value, int64_t exponent) {
    static const auto kPowers = powers_of_ten();
    for (; exponent < -kLargestPower && value != 0; exponent += kLargestPower) value /= 1e308;
    if (value == 0) return value;
    if (exponent > kLargestPower) return std::nullopt;
    const double power = kPowers[static_cast<size_t>(std::abs(exponent))];
    value = exponent >= 0 ? value * power : value / power;
    if (std::isinf(value)) return std::nullopt;
    return value;
  }

  std::string_view rest_;
  uint64_t digits_ = 0;
  bool full_ = false;
  int64_t exponent_ = 0;
};

}  // namespace

std::optional<double> read_serde_number(std::string_view token) { return NumberReader(token).read(); }

}  // namespace amphora::text
