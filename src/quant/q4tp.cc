// q4tp: `u8[16]` of 4-bit codes per group, ladder parameters per row, 5-bit scale codes per row.
#include <algorithm>
#include <vector>

#include "quant/dtypes.h"
#include "quant/ladder_search.h"
#include "quant/nibbles.h"

namespace amphora::quant {
namespace {

std::optional<uint64_t> payload_bytes(Shape shape) { return ladder_payload_bytes(shape, kNibbleBytes); }

Status check_payload(Bytes payload, Shape shape) {
  return check_ladder_payload(payload, shape, kNibbleBytes);
}

void decode(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  decode_ladder_groups(payload, LadderLayout(shape, kNibbleBytes), first, out,
                       [](const std::byte* nibbles, const auto& rungs, uint32_t code, uint64_t inside,
                          std::span<float> weights) {
                         for (uint64_t i = 0; i < weights.size(); ++i)
                           weights[i] = decode_nibble(nibbles, inside + i, rungs[code]);
                       });
}

Status encode(std::span<const float> values, Shape shape, const EncodeOptions& options, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  AMPHORA_TRY(check_importance(options, shape));
  const LadderLayout layout(shape, kNibbleBytes);
  std::vector<uint8_t> codes(layout.groups);
  for (uint64_t row = 0; row < layout.rows; ++row) {
    const uint64_t first = row * shape[1];
    const std::span<const float> weights = values.subspan(first, shape[1]);
    AMPHORA_ASSIGN(const LadderParameters parameters,
                   options.encoder == Encoder::kSearch
                       ? search_ladder_row(weights, options.importance, first, kNibbleRange, codes)
                       : fit_ladder_row(weights, first, kNibbleRange.plain_steps(), codes));
    store_ladder_row(out, layout, row, parameters, codes);
    const auto rungs = ladder_of_row(out, layout, row);
    for (uint64_t group = 0; group < layout.groups; ++group)
      encode_nibbles(weights.subspan(group * kGroup, kGroup), rungs[codes[group]],
                     out.data() + layout.weights_offset(row, group));
  }
  return {};
}

}  // namespace

const Codec kQ4TPCodec{.dtype = DType::kQ4TP,
                       .name = "q4tp",
                       .cli_name = "q4tp",
                       .check_place = place_grouped_matrix,
                       .payload_bytes = payload_bytes,
                       .check_payload = check_payload,
                       .decode = decode,
                       .encode = encode,
                       .row_parts = [](uint64_t columns) { return ladder_row_parts(columns, kNibbleBytes); },
                       .has_search = true};

}  // namespace amphora::quant
