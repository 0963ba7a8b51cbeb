// Scale ladders of q4tp and q2tp.
#include "quant/ladder.h"

#include <cmath>

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

}  // namespace

float ladder_exp2(float x) {
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

uint64_t code_bytes_per_row(Shape shape) { return divide_rounding_up(shape[1] / kGroup * kCodeBits, 8); }

std::optional<uint64_t> ladder_payload_bytes(Shape shape, uint64_t group_bytes) {
  return bytes_of_groups(shape, group_bytes, kParameterBytes + code_bytes_per_row(shape));
}

Status check_ladder_payload(Bytes payload, Shape shape, uint64_t group_bytes) {
  const uint64_t rows = shape[0];
  const uint64_t parameters = rows * (shape[1] / kGroup) * group_bytes;
  AMPHORA_TRY(check_finite_halves(payload, parameters, 2 * rows, 2, "ladder parameter"));
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t at = parameters + kParameterBytes * row;
    for (const float rung : ladder(half_at(payload, at), half_at(payload, at + 2)))
      if (!std::isfinite(rung))
        return payload_fault("Parse", at, "row " + std::to_string(row) + ": a ladder value is not finite");
  }
  const uint64_t row_bytes = code_bytes_per_row(shape);
  const uint64_t spare_bits = row_bytes * 8 - shape[1] / kGroup * kCodeBits;
  if (spare_bits == 0) return {};
  for (uint64_t row = 0; row < rows; ++row) {
    const uint64_t last = parameters + kParameterBytes * rows + (row + 1) * row_bytes - 1;
    if (std::to_integer<uint32_t>(payload[last]) >> (8 - spare_bits) != 0)
      return payload_fault("Parse", last,
                           "row " + std::to_string(row) + ": bits behind the last code are not zero");
  }
  return {};
}

}  // namespace amphora::quant
