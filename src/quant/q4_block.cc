// q4_block: the flattened tensor in groups of 32: `u8[16]` of codes per group, then `f16` scales of all
// groups.
#include <algorithm>

#include "base/byte_writer.h"
#include "base/checked.h"
#include "quant/dtypes.h"
#include "quant/nibbles.h"

namespace amphora::quant {
namespace {

/// The caller knows that the shape's product fits.
uint64_t groups_of(Shape shape) { return divide_rounding_up(*element_count(shape), kGroup); }

std::optional<uint64_t> payload_bytes(Shape shape) {
  const auto elements = element_count(shape);
  return elements ? checked_mul(divide_rounding_up(*elements, kGroup), kNibbleBytes + 2) : std::nullopt;
}

Status check_payload(Bytes payload, Shape shape) {
  const uint64_t groups = groups_of(shape);
  return check_finite_halves(payload, groups * kNibbleBytes, groups, 2, "scale");
}

void decode(Bytes payload, Shape shape, uint64_t first, std::span<float> out) {
  const uint64_t scales = groups_of(shape) * kNibbleBytes;
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t group = (first + done) / kGroup;
    const uint64_t inside = (first + done) % kGroup;
    const uint64_t count = std::min(kGroup - inside, out.size() - done);
    const float scale = half_at(payload, scales + 2 * group);
    const std::byte* nibbles = payload.data() + group * kNibbleBytes;
    for (uint64_t i = 0; i < count; ++i) out[done + i] = decode_nibble(nibbles, inside + i, scale);
    done += count;
  }
}

Status encode(std::span<const float> values, Shape shape, const EncodeOptions& options, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  AMPHORA_TRY(check_importance(options, shape));
  std::array<float, kGroup> storage{};
  const uint64_t groups = divide_rounding_up(values.size(), kGroup);
  for (uint64_t group = 0; group < groups; ++group) {
    const uint64_t first = group * kGroup;
    const std::span<const float> weights = values.subspan(first, std::min(kGroup, values.size() - first));
    const auto half = nibble_scale(weights, importance_of(options.importance, first, weights.size(), storage),
                                   options.encoder);
    if (!half) return scale_refusal(weights, first);
    store_little_endian(out.data() + groups * kNibbleBytes + 2 * group, *half);
    encode_nibbles(weights, half_to_float(*half), out.data() + group * kNibbleBytes);
  }
  return {};
}

}  // namespace

const Codec kQ4BlockCodec{.dtype = DType::kQ4Block,
                          .name = "q4_block",
                          .cli_name = "q4",
                          .check_place = place_anywhere,
                          .payload_bytes = payload_bytes,
                          .check_payload = check_payload,
                          .decode = decode,
                          .encode = encode,
                          .row_parts = [](uint64_t columns) -> std::optional<RowParts> {
                            if (columns % kGroup != 0) return std::nullopt;  // groups cross from row to row
                            return RowParts{columns / kGroup * kNibbleBytes, columns / kGroup * 2};
                          },
                          .has_search = true};

}  // namespace amphora::quant
