// Scale ladders of q4tp and q2tp: per row 32 scales in geometric steps, per group a 5-bit code that picks
// one.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/checked.h"
#include "quant/layout.h"

namespace amphora::quant {

inline constexpr uint64_t kRungs = 32;
inline constexpr uint64_t kCodeBits = 5;
inline constexpr uint64_t kParameterBytes = 4;  ///< `f16 low`, `f16 step` of a row

/// 2^x for the values of f16, by the operations that the format page prescribes: it is the same everywhere,
/// but not correctly rounded.
float ladder_exp2(float x);

/// The scales of a row: each is the one before times 2^step, rounded to f32.
std::array<float, kRungs> ladder(float low, float step);

/// log2 of a normal positive f16, correctly rounded to f64: no library's log2 has a part in an encoding.
double log2_of_half(uint16_t half);

/// What a row stores about its ladder, as f16 bits.
struct LadderParameters {
  uint16_t low = 0;
  uint16_t step = 0;
};

/// The ladder whose first rung is next to the least of these logarithms and whose step, rounded up, reaches
/// the greatest; all zero if there are none. [groups]
LadderParameters fit_ladder(std::span<const double> levels);

/// The code of the rung next to a level, 0 … 31.
uint8_t nearest_rung(double level, LadderParameters parameters);

/// Where the parts of a payload lie: `group_bytes` of weights for every group, the parameters of all rows,
/// the codes of all rows. Wants a shape that has passed the type's size rule.
struct LadderLayout {
  LadderLayout(Shape shape, uint64_t bytes_of_group);

  uint64_t parameters_offset(uint64_t row) const { return parameters + kParameterBytes * row; }
  uint64_t codes_offset(uint64_t row) const { return codes + code_bytes * row; }
  uint64_t weights_offset(uint64_t row, uint64_t group) const { return (row * groups + group) * group_bytes; }

  uint64_t rows, groups;             ///< groups of one row
  uint64_t group_bytes, code_bytes;  ///< weights of one group; codes of one row
  uint64_t parameters, codes;        ///< offsets of the second and third part
};

/// Codec::row_parts of the types with a ladder.
std::optional<RowParts> ladder_row_parts(uint64_t columns, uint64_t bytes_of_group);

/// The ladder of a row of a payload.
std::array<float, kRungs> ladder_of_row(Bytes payload, const LadderLayout& layout, uint64_t row);
/// The code of a group in the codes of its row.
uint32_t rung_code(const std::byte* row_codes, uint64_t group);
/// Writes a row's parameters and codes; the bits behind the last code are zero.
void store_ladder_row(MutableBytes payload, const LadderLayout& layout, uint64_t row,
                      LadderParameters parameters, std::span<const uint8_t> codes);

/// The plain ladder of a row of weights and each group's code on it, by the scales largest magnitude /
/// `steps` of the groups. `first_index` is the flat index of the row, for a refusal. [columns] → codes
/// [groups]
Result<LadderParameters> fit_ladder_row(std::span<const float> weights, uint64_t first_index, float steps,
                                        std::span<uint8_t> codes);

/// Decodes elements [first, first + out.size()): finds rows, ladders and codes, and calls
/// `decode_group(bytes of the group, rungs, code, index of the first weight in the group, weights)`.
template <class DecodeGroup>
void decode_ladder_groups(Bytes payload, const LadderLayout& layout, uint64_t first, std::span<float> out,
                          DecodeGroup decode_group) {
  const uint64_t columns = layout.groups * kGroup;
  std::array<float, kRungs> rungs{};
  for (uint64_t done = 0; done < out.size();) {
    const uint64_t row = (first + done) / columns, column = (first + done) % columns;
    if (done == 0 || column == 0) rungs = ladder_of_row(payload, layout, row);
    const uint64_t group = column / kGroup, inside = column % kGroup;
    const uint64_t count = std::min(kGroup - inside, out.size() - done);
    decode_group(payload.data() + layout.weights_offset(row, group), rungs,
                 rung_code(payload.data() + layout.codes_offset(row), group), inside,
                 out.subspan(done, count));
    done += count;
  }
}

std::optional<uint64_t> ladder_payload_bytes(Shape shape, uint64_t group_bytes);
Status check_ladder_payload(Bytes payload, Shape shape, uint64_t group_bytes);

}  // namespace amphora::quant
