// Where the rows of a tensor lie in the GGUF file that stores them in another order.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/result.h"
#include "quant/ggml/type.h"

namespace amphora::package {

/// Says for each row of a tensor which stored row it is. Rows are moved whole, so that blocks stay whole:
/// what counts as a row is the caller's choice (a matrix row, or a piece of one where columns are reordered).
class RowOrder {
 public:
  /// `count` rows, each `stride` stored rows behind the one before.
  struct Run {
    uint64_t first = 0, count = 0, stride = 1;
  };

  /// The stored rows from `first` on, one after the other.
  static RowOrder from(uint64_t first) { return RowOrder(first); }
  /// The rows of `runs`, then the same again `stored_period` stored rows further, and so on; all from `first`
  /// on. No run is empty, and there is at least one.
  RowOrder(std::vector<Run> runs, uint64_t stored_period, uint64_t first = 0);

  /// The first row if all follow one another in the file.
  std::optional<uint64_t> contiguous_from() const;

  struct Place {
    uint64_t stored_row;
    uint64_t following;  ///< rows from there on, the first included, that follow one another in the file too
  };
  Place locate(uint64_t row) const;

 private:
  explicit RowOrder(uint64_t first) : first_(first) {}

  uint64_t first_ = 0, stored_period_ = 0;
  std::vector<Run> runs_;
  std::vector<uint64_t> ends_;  ///< rows of one period up to the end of each run
};

/// Heads of `head_dim` rows, stored so that a rotated pair is two neighbours; here a pair is the rows i and
/// head_dim / 2 + i.
RowOrder halves_of_pairs(uint64_t head_dim, uint64_t first = 0);

/// Latent attention's queries, stored per head as [nope | rope pairs]; here [rope halves | nope].
RowOrder rope_in_front(uint64_t nope, uint64_t rope);

/// Latent attention's compressed keys and values, stored as [latent | rope pairs]; here [latent | rope
/// halves].
RowOrder rope_behind(uint64_t latent, uint64_t rope);

/// Value heads of `rows` rows, stored "tiled": head j of every key head, then head j + 1 of every key head;
/// here the heads of a key head follow one another. The `before` rows in front of them stay where they are.
RowOrder grouped_heads(uint64_t key_heads, uint64_t heads_per_key, uint64_t rows, uint64_t before = 0);

/// One of several parts that are stored together for each of `groups` groups of `group_rows` rows: `rows` of
/// every group from row `first` of it on.
RowOrder part_of_groups(uint64_t first, uint64_t rows, uint64_t group_rows);

/// Decodes elements [first, first + out.size()) of a tensor whose rows have `columns` elements each.
Status read_rows(const quant::ggml::Type& type, Bytes data, const RowOrder& order, uint64_t columns,
                 uint64_t first, std::span<float> out);

}  // namespace amphora::package
