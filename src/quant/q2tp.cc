// q2tp: `u8[8]` of 2-bit codes per group, ladder parameters per row, 5-bit scale codes per row. Code 0 is the
// scale zero, code k the ladder's rung k − 1.
#include <algorithm>
#include <vector>

#include "quant/dtypes.h"
#include "quant/ladder.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kGroupBytes = 8;
constexpr float kMiddle = 1.5f;  ///< of the codes 0 … 3

std::optional<uint64_t> payload_bytes(Shape shape) { return ladder_payload_bytes(shape, kGroupBytes); }

Status check_payload(Bytes payload, Shape shape) { return check_ladder_payload(payload, shape, kGroupBytes); }

float scale_of(const std::array<float, kRungs>& rungs, uint32_t code) {
  return code == 0 ? 0.0f : rungs[code - 1];
}

void decode(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  decode_ladder_groups(payload, LadderLayout(shape, kGroupBytes), first, out,
                       [](const std::byte* crumbs, const auto& rungs, uint32_t code, uint64_t inside,
                          std::span<float> weights) {
                         const float scale = scale_of(rungs, code);
                         for (uint64_t i = 0; i < weights.size(); ++i) {
                           const uint64_t index = inside + i;
                           const uint32_t crumb =
                               std::to_integer<uint32_t>(crumbs[index / 4]) >> 2 * (index % 4) & 3u;
                           weights[i] = (static_cast<float>(crumb) - kMiddle) * scale;
                         }
                       });
}

void encode_crumbs(std::span<const float> weights, float scale, std::byte* crumbs) {
  std::fill_n(crumbs, kGroupBytes, std::byte{0});
  if (!(scale > 0)) return;
  for (uint64_t i = 0; i < kGroup; ++i) {
    const auto crumb = static_cast<uint32_t>(clamp_and_round(weights[i] / scale + kMiddle, 0, 3));
    crumbs[i / 4] |= static_cast<std::byte>(crumb << 2 * (i % 4));
  }
}

Status encode(std::span<const float> values, Shape shape, const EncodeOptions&, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  const LadderLayout layout(shape, kGroupBytes);
  std::vector<uint8_t> codes(layout.groups);
  for (uint64_t row = 0; row < layout.rows; ++row) {
    const uint64_t first = row * shape[1];
    const std::span<const float> weights = values.subspan(first, shape[1]);
    AMPHORA_ASSIGN(const LadderParameters parameters, fit_ladder_row(weights, first, kMiddle, codes));
    for (uint64_t group = 0; group < layout.groups; ++group)
      codes[group] = largest_magnitude(weights.subspan(group * kGroup, kGroup)) == 0
                         ? uint8_t{0}
                         : static_cast<uint8_t>(std::min<int>(codes[group], kRungs - 2) + 1);
    store_ladder_row(out, layout, row, parameters, codes);
    const auto rungs = ladder_of_row(out, layout, row);
    for (uint64_t group = 0; group < layout.groups; ++group)
      encode_crumbs(weights.subspan(group * kGroup, kGroup), scale_of(rungs, codes[group]),
                    out.data() + layout.weights_offset(row, group));
  }
  return {};
}

}  // namespace

const Codec kQ2TPCodec{.dtype = DType::kQ2TP,
                       .name = "q2tp",

                       .check_place = place_grouped_matrix,
                       .payload_bytes = payload_bytes,
                       .check_payload = check_payload,
                       .decode = decode,
                       .encode = encode,
                       .row_parts = [](uint64_t columns) { return ladder_row_parts(columns, kGroupBytes); }};

}  // namespace amphora::quant
