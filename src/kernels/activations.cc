// Quantisation of activations, shared out over the threads.
#include "kernels/activations.h"

#include <algorithm>
#include <cstring>

#include "kernels/variant.h"

namespace amphora::kernels {
namespace {

size_t groups_of(size_t columns) {
  const size_t groups = (columns + kGroup - 1) / kGroup;
  return (groups + kChains - 1) / kChains * kChains;
}

/// Per four groups: the even columns, then the odd ones.
void split_codes(const int8_t* codes, size_t columns, int8_t* split) {
  constexpr size_t kBlock = kChains * kGroup;
  for (size_t block = 0; block < columns; block += kBlock)
    for (size_t i = 0; i < kBlock / 2; ++i) {
      split[block + i] = codes[block + 2 * i];
      split[block + kBlock / 2 + i] = codes[block + 2 * i + 1];
    }
}

/// Quantises the tokens of one tile and interleaves them.
void quantise_tile(const Variant& variant, const float* x, const float* field, size_t tile, Quantised& out) {
  const size_t columns = out.padded_columns(), groups = out.groups;
  int8_t* const codes = out.codes.data() + tile * columns * kTileTokens;
  float* const scales = out.scales.data() + tile * groups * kTileTokens;
  int32_t* const sums = out.sums.data() + tile * groups * kTileTokens;
  const size_t first = tile * kTileTokens;
  std::vector<int8_t> row_codes(columns);
  std::vector<float> row_scales(groups);
  std::vector<int32_t> row_sums(groups);
  for (size_t t = 0; t < kTileTokens; ++t) {
    const bool present = first + t < out.tokens;
    variant.lanes->quantise(present ? x + (first + t) * out.columns : nullptr, field,
                            present ? out.columns : 0, groups, row_codes.data(), row_scales.data(),
                            row_sums.data());
    for (size_t column = 0; column < columns; column += 4)
      std::memcpy(codes + (column / 4 * kTileTokens + t) * 4, &row_codes[column], 4);
    for (size_t group = 0; group < groups; ++group) {
      scales[group * kTileTokens + t] = row_scales[group];
      sums[group * kTileTokens + t] = row_sums[group];
    }
  }
}

}  // namespace

void quantise(const Executor& executor, const float* x, const float* field, size_t tokens, size_t columns,
              Quantised& out) {
  const Variant& variant = *executor.variant;
  out.tokens = tokens;
  out.columns = columns;
  out.groups = groups_of(columns);
  out.tiled = tokens >= variant.int8->least_tiled_tokens;
  const size_t stored_tokens = out.tiled ? out.tiles() * kTileTokens : tokens;
  out.codes.resize(stored_tokens * out.padded_columns());
  out.scales.resize(stored_tokens * out.groups);
  out.sums.resize(stored_tokens * out.groups);
  if (out.tiled) {
    executor.pool->run(out.tiles(), [&](size_t tile) { quantise_tile(variant, x, field, tile, out); });
    return;
  }
  out.split.resize(tokens * out.padded_columns());
  for (size_t token = 0; token < tokens; ++token) {
    int8_t* const codes = out.codes.data() + token * out.padded_columns();
    variant.lanes->quantise(x + token * columns, field, columns, out.groups, codes,
                            out.scales.data() + token * out.groups, out.sums.data() + token * out.groups);
    if (!field) split_codes(codes, out.padded_columns(), out.split.data() + token * out.padded_columns());
  }
}

Activations::Activations() : prepared_(std::make_unique<Prepared>()) {}
Activations::Activations(Activations&&) noexcept = default;
Activations& Activations::operator=(Activations&&) noexcept = default;
Activations::~Activations() = default;

void Activations::assign(const Executor& executor, const float* values, size_t tokens, size_t columns) {
  prepared_->values = values;
  prepared_->tokens = tokens;
  prepared_->columns = columns;
  if (executor.numerics == Numerics::kFast)
    quantise(executor, values, nullptr, tokens, columns, prepared_->quantised);
}

}  // namespace amphora::kernels
