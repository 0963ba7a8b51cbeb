// Orders of rows, and reading through them.
#include "package/gguf_rows.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace amphora::package {

RowOrder::RowOrder(std::vector<Run> runs, uint64_t stored_period, uint64_t first)
    : first_(first), stored_period_(stored_period), runs_(std::move(runs)) {
  assert(!runs_.empty());
  uint64_t rows = 0;
  for (const Run& run : runs_) ends_.push_back(rows += run.count);
}

std::optional<uint64_t> RowOrder::contiguous_from() const {
  if (runs_.empty()) return first_;
  return std::nullopt;
}

RowOrder::Place RowOrder::locate(uint64_t row) const {
  if (runs_.empty()) return {first_ + row, std::numeric_limits<uint64_t>::max()};
  const uint64_t period = row / ends_.back(), within = row % ends_.back();
  const auto index =
      static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), within) - ends_.begin());
  const Run& run = runs_[index];
  const uint64_t in_run = within - (ends_[index] - run.count);
  return {first_ + period * stored_period_ + run.first + in_run * run.stride,
          run.stride == 1 ? run.count - in_run : 1};
}

RowOrder halves_of_pairs(uint64_t head_dim, uint64_t first) {
  return {{{0, head_dim / 2, 2}, {1, head_dim / 2, 2}}, head_dim, first};
}

RowOrder rope_in_front(uint64_t nope, uint64_t rope) {
  return {{{nope, rope / 2, 2}, {nope + 1, rope / 2, 2}, {0, nope}}, nope + rope};
}

RowOrder rope_behind(uint64_t latent, uint64_t rope) {
  return {{{0, latent}, {latent, rope / 2, 2}, {latent + 1, rope / 2, 2}}, latent + rope};
}

RowOrder grouped_heads(uint64_t key_heads, uint64_t heads_per_key, uint64_t rows, uint64_t before) {
  std::vector<RowOrder::Run> runs;
  if (before != 0) runs.push_back({0, before});
  for (uint64_t key = 0; key < key_heads; ++key)
    for (uint64_t head = 0; head < heads_per_key; ++head)
      runs.push_back({before + (head * key_heads + key) * rows, rows});
  return {std::move(runs), before + key_heads * heads_per_key * rows};
}

RowOrder part_of_groups(uint64_t first, uint64_t rows, uint64_t group_rows) {
  return {{{first, rows}}, group_rows};
}

Status read_rows(const quant::ggml::Type& type, Bytes data, const RowOrder& order, uint64_t columns,
                 uint64_t first, std::span<float> out) {
  while (!out.empty()) {
    const uint64_t row = first / columns, column = first % columns;
    const RowOrder::Place place = order.locate(row);
    const uint64_t rows_wanted = (column + out.size() + columns - 1) / columns;
    const uint64_t rows = std::min(place.following, rows_wanted);
    const size_t count = std::min<uint64_t>(rows * columns - column, out.size());
    AMPHORA_TRY(
        quant::ggml::decode_elements(type, data, place.stored_row * columns + column, out.first(count)));
    first += count;
    out = out.subspan(count);
  }
  return {};
}

}  // namespace amphora::package
