// Scale ladders of q4tp and q2tp.
#include "quant/ladder.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/byte_writer.h"

namespace amphora::quant {
namespace {

/// 2^(i/32), correctly rounded.
constexpr double kPowers[32] = {
    0x1.0000000000000p+0, 0x1.059b0d3158574p+0, 0x1.0b5586cf9890fp+0, 0x1.11301d0125b51p+0,
    0x1.172b83c7d517bp+0, 0x1.1d4873168b9aap+0, 0x1.2387a6e756238p+0, 0x1.29e9df51fdee1p+0,
    0x1.306fe0a31b715p+0, 0x1.371a7373aa9cbp+0, 0x1.3dea64c123422p+0, 0x1.44e086061892dp+0,
    0x1.4bfdad5362a27p+0, 0x1.5342b569d4f82p+0, 0x1.5ab07dd485429p+0, 0x1.6247eb03a5585p+0,
    0x1.6a09e667f3bcdp+0, 0x1.71f75e8ec5f74p+0, 0x1.7a11473eb0187p+0, 0x1.82589994cce13p+0,
    0x1.8ace5422aa0dbp+0, 0x1.93737b0cdc5e5p+0, 0x1.9c49182a3f090p+0, 0x1.a5503b23e255dp+0,
    0x1.ae89f995ad3adp+0, 0x1.b7f76f2fb5e47p+0, 0x1.c199bdd85529cp+0, 0x1.cb720dcef9069p+0,
    0x1.d5818dcfba487p+0, 0x1.dfc97337b9b5fp+0, 0x1.ea4afa2a490dap+0, 0x1.f50765b6e4540p+0};

constexpr double kC0 = 0x1.c6af84b912394p-5;
constexpr double kC1 = 0x1.ebfce50fac4f3p-3;
constexpr double kC2 = 0x1.62e42ff0c52d6p-1;

using Fixed = unsigned __int128;

/// atanh(n / d) · 2^113 for 0 <= n / d <= 1/3, by its series; n below 2^11 and d below 2^12 keep every
/// product within 128 bits. Each of the some seventy divisions rounds down by less than one unit.
Fixed fixed_atanh(uint32_t n, uint32_t d) {
  Fixed term = (Fixed{n} << 113) / d;
  Fixed sum = 0;
  for (uint32_t k = 1; term != 0; k += 2) {
    sum += term / k;
    term = term * n / d;
    term = term * n / d;
  }
  return sum;
}

/// log2(1 + mantissa/1024) · 2^96: log2 x = atanh((x − 1)/(x + 1)) / atanh(1/3), by long division.
Fixed fixed_log2(uint32_t mantissa) {
  const Fixed divisor = fixed_atanh(1, 3);
  Fixed rest = fixed_atanh(mantissa, 2048 + mantissa);
  Fixed quotient = 0;
  for (int bit = 0; bit < 96; ++bit) {
    rest *= 2;
    quotient *= 2;
    if (rest < divisor) continue;
    rest -= divisor;
    quotient += 1;
  }
  return quotient;
}

/// log2 of every normal positive f16, rounded once. The nearest that one of them comes to the middle between
/// two f64 is far wider than the error of fixed_log2.
std::vector<double> log2_table() {
  std::vector<double> table;
  std::array<Fixed, 1024> fractions;
  for (uint32_t mantissa = 0; mantissa < fractions.size(); ++mantissa)
    fractions[mantissa] = fixed_log2(mantissa);
  for (int exponent = -14; exponent <= 15; ++exponent)
    for (const Fixed fraction : fractions) {
      const __int128 level = (static_cast<__int128>(exponent) << 96) + static_cast<__int128>(fraction);
      table.push_back(std::ldexp(static_cast<double>(level), -96));
    }
  return table;
}

}  // namespace

float ladder_exp2(float x) {
  // A payload with such parameters is invalid, but only verify() looks: decoding must still be harmless.
  if (!std::isfinite(x)) return x < 0 ? 0.0f : x;
  const double wide = x;
  const double k = std::rint(32 * wide);
  const double r = wide - k / 32;
  const auto whole = static_cast<int>(k);  // |x| is at most 65504, so k fits
  const double power = std::ldexp(kPowers[whole & 31], whole >> 5);
  const double y = (kC0 * r + kC1) * (r * r) + (kC2 * r + 1);
  return static_cast<float>(y * power);
}

std::array<float, kRungs> ladder(float low, float step) {
  std::array<float, kRungs> rungs{};
  rungs[0] = ladder_exp2(low);
  const float ratio = ladder_exp2(step);
  for (size_t i = 1; i < kRungs; ++i) rungs[i] = rungs[i - 1] * ratio;
  return rungs;
}

double log2_of_half(uint16_t half) {
  static const std::vector<double> table = log2_table();
  return table[half - kMinNormalHalf];
}

LadderParameters fit_ladder(std::span<const double> levels) {
  if (levels.empty()) return {};
  const auto [least, greatest] = std::ranges::minmax(levels);
  const uint16_t low = double_to_half(least);
  const double wanted = std::max(greatest - double{half_to_float(low)}, 0.0) / (kRungs - 1);
  uint16_t step = double_to_half(wanted);
  if (double{half_to_float(step)} < wanted) ++step;  // not negative: the next bits are the next f16
  return {low, step};
}

uint8_t nearest_rung(double level, LadderParameters parameters) {
  const double step = half_to_float(parameters.step);
  if (!(step > 0)) return 0;
  const double rung = std::rint((level - double{half_to_float(parameters.low)}) / step);
  return static_cast<uint8_t>(std::clamp(rung, 0.0, static_cast<double>(kRungs - 1)));
}

Result<LadderParameters> fit_ladder_row(std::span<const float> weights, uint64_t first_index, float steps,
                                        std::span<uint8_t> codes) {
  std::vector<double> levels(codes.size());
  for (uint64_t group = 0; group < codes.size(); ++group) {
    const std::span<const float> members = weights.subspan(group * kGroup, kGroup);
    const auto half = scale_to_half(largest_magnitude(members) / steps);
    if (!half) return scale_refusal(members, first_index + group * kGroup);
    levels[group] = log2_of_half(*half);
  }
  const LadderParameters parameters = fit_ladder(levels);
  for (uint64_t group = 0; group < codes.size(); ++group)
    codes[group] = nearest_rung(levels[group], parameters);
  return parameters;
}

LadderLayout::LadderLayout(Shape shape, uint64_t bytes_of_group)
    : rows(shape[0]),
      groups(shape[1] / kGroup),
      group_bytes(bytes_of_group),
      code_bytes(divide_rounding_up(groups * kCodeBits, 8)),
      parameters(rows * groups * group_bytes),
      codes(parameters + kParameterBytes * rows) {}

std::optional<RowParts> ladder_row_parts(uint64_t columns, uint64_t bytes_of_group) {
  const std::array<uint64_t, 2> row = {1, columns};
  const LadderLayout layout(row, bytes_of_group);
  return RowParts{layout.groups * layout.group_bytes, kParameterBytes, layout.code_bytes};
}

std::array<float, kRungs> ladder_of_row(Bytes payload, const LadderLayout& layout, uint64_t row) {
  const uint64_t at = layout.parameters_offset(row);
  return ladder(half_at(payload, at), half_at(payload, at + 2));
}

uint32_t rung_code(const std::byte* row_codes, uint64_t group) {
  const uint64_t bit = group * kCodeBits, byte = bit / 8, shift = bit % 8;
  auto bits = std::to_integer<uint32_t>(row_codes[byte]);
  if (shift + kCodeBits > 8) bits |= std::to_integer<uint32_t>(row_codes[byte + 1]) << 8;
  return bits >> shift & (kRungs - 1);
}

void store_ladder_row(MutableBytes payload, const LadderLayout& layout, uint64_t row,
                      LadderParameters parameters, std::span<const uint8_t> codes) {
  const uint64_t at = layout.parameters_offset(row);
  store_little_endian(payload.data() + at, parameters.low);
  store_little_endian(payload.data() + at + 2, parameters.step);
  const MutableBytes bytes = payload.subspan(layout.codes_offset(row), layout.code_bytes);
  std::ranges::fill(bytes, std::byte{0});
  for (uint64_t group = 0; group < codes.size(); ++group) {
    const uint64_t bit = group * kCodeBits, byte = bit / 8;
    const uint32_t shifted = uint32_t{codes[group]} << bit % 8;
    bytes[byte] |= static_cast<std::byte>(shifted);
    if (shifted > 0xFF) bytes[byte + 1] |= static_cast<std::byte>(shifted >> 8);
  }
}

std::optional<uint64_t> ladder_payload_bytes(Shape shape, uint64_t group_bytes) {
  const uint64_t code_bytes = divide_rounding_up(shape[1] / kGroup * kCodeBits, 8);
  return bytes_of_groups(shape, group_bytes, kParameterBytes + code_bytes);
}

Status check_ladder_payload(Bytes payload, Shape shape, uint64_t group_bytes) {
  const LadderLayout layout(shape, group_bytes);
  AMPHORA_TRY(check_finite_halves(payload, layout.parameters, 2 * layout.rows, 2, "ladder parameter"));
  for (uint64_t row = 0; row < layout.rows; ++row)
    for (const float rung : ladder_of_row(payload, layout, row))
      if (!std::isfinite(rung))
        return payload_fault("Parse", layout.parameters_offset(row),
                             "row " + std::to_string(row) + ": a ladder value is not finite");
  const uint64_t spare_bits = layout.code_bytes * 8 - layout.groups * kCodeBits;
  if (spare_bits == 0) return {};
  for (uint64_t row = 0; row < layout.rows; ++row) {
    const uint64_t last = layout.codes_offset(row + 1) - 1;
    if (std::to_integer<uint32_t>(payload[last]) >> (8 - spare_bits) != 0)
      return payload_fault("Parse", last,
                           "row " + std::to_string(row) + ": bits behind the last code are not zero");
  }
  return {};
}

}  // namespace amphora::quant
