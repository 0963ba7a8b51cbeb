// Rows of quantised matrices as small integers with one scale per group, for products of integers.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "quant/layout.h"

namespace amphora::quant {

/// Gives rows as `(code + offset) · scale of the group`, which are the values that the codec decodes. Types:
/// q4_tiled, q4_block with whole groups, vbit, vbit_ro, q1, q4tp, q2tp, and q1t without an overlay. Keeps 8
/// bytes per row for vbit and vbit_ro, 4 per group for the types with a ladder, nothing for the others.
class CodedRows {
 public:
  /// Null if the type or this payload has no such rows. The payload has passed the codec's size rule and
  /// table check, and outlives the object.
  static std::unique_ptr<const CodedRows> create(DType dtype, Bytes payload, Shape shape);

  uint64_t groups() const { return groups_; }
  /// Writes codes [32 · groups] and scales [groups] of a row and returns its offset, 0 or 1.
  int32_t read(uint64_t row, int8_t* codes, float* scales) const;

 private:
  CodedRows(DType dtype, Bytes payload, uint64_t rows, uint64_t groups)
      : dtype_(dtype), payload_(payload), rows_(rows), groups_(groups) {}
  void find_packed_rows();
  void read_ladders(uint64_t bytes_of_group);
  int32_t read_vbit(uint64_t row, int8_t* codes, float* scales) const;

  DType dtype_;
  Bytes payload_;
  uint64_t rows_, groups_;
  std::vector<uint64_t> packed_rows_;  ///< vbit, vbit_ro: offset of each row's codes in the payload
  std::vector<float> scales_;          ///< of types with a ladder, [row][group]
};

}  // namespace amphora::quant
