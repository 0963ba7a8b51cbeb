// Activations as the products want them: int8 codes in groups of 32 with one scale each.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/kernels.h"

namespace amphora::kernels {

/// Columns that share a scale, in activations and in 4-bit weights.
inline constexpr size_t kGroup = 32;
/// Groups are summed in four chains (group mod 4), so rows are padded to a multiple of four groups.
inline constexpr size_t kChains = 4;
/// Tokens of a tile.
inline constexpr size_t kTileTokens = 16;

/// Memory on a 64-byte boundary that grows and is not initialised.
template <class T>
class AlignedBuffer {
 public:
  void resize(size_t count) {
    if (count > capacity_) {
      const size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
      data_.reset(static_cast<T*>(std::aligned_alloc(64, bytes)));
      if (!data_) std::abort();  // out of memory
      capacity_ = count;
    }
  }
  T* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(T* pointer) const { std::free(pointer); }
  };
  std::unique_ptr<T, Free> data_;
  size_t capacity_ = 0;
};

/// Quantised activations. Untiled: codes [token][column] in the columns' order; `split` holds the same codes
/// with, per four groups, the 64 even columns before the 64 odd ones, as nibbles of 4-bit weights unpack;
/// scales and sums (of codes) [token][group]. Tiled, by 16 tokens (the last tile is filled up with zeros):
/// codes [tile][column / 4][token][column mod 4], scales and sums [tile][group][token]. Columns and groups
/// beyond the matrix are zero.
struct Quantised {
  size_t tokens = 0, columns = 0;
  size_t groups = 0;  ///< multiple of kChains
  bool tiled = false;
  AlignedBuffer<int8_t> codes, split;
  AlignedBuffer<float> scales;
  AlignedBuffer<int32_t> sums;

  size_t padded_columns() const { return groups * kGroup; }
  size_t tiles() const { return (tokens + kTileTokens - 1) / kTileTokens; }
  const int8_t* codes_of(size_t token) const { return codes.data() + token * padded_columns(); }
  const int8_t* split_of(size_t token) const { return split.data() + token * padded_columns(); }
  const float* scales_of(size_t token) const { return scales.data() + token * groups; }
  const int32_t* sums_of(size_t token) const { return sums.data() + token * groups; }
};

struct Activations::Prepared {
  const float* values = nullptr;
  size_t tokens = 0, columns = 0;
  Quantised quantised;
  /// Room for the activations of products whose matrix has a column field; kept to save the allocations.
  mutable std::vector<Quantised> with_field;
};

/// Quantises x [tokens, columns], each row times `field` (null: none), on the threads of the executor.
void quantise(const Executor& executor, const float* x, const float* field, size_t tokens, size_t columns,
              Quantised& out);

}  // namespace amphora::kernels
