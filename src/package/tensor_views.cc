// Views, and readers for parts that do not lie behind one another.
#include "package/tensor_views.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace amphora::package {
namespace {

uint64_t element_count(const std::vector<uint64_t>& shape) {
  uint64_t product = 1;
  for (const uint64_t dimension : shape) product *= dimension;
  return product;
}

/// `whole` with what belongs to its payload taken away: values are read, never taken as they lie.
PackageTensor without_payload(const PackageTensor& whole) {
  PackageTensor part = whole;
  part.dtype.reset();
  part.stored = {};
  return part;
}

/// Rows that are read from the stored matrix at a time: so many values of one of its rows lie together.
constexpr uint64_t kStripRows = 64;

struct Transposition {
  std::function<Status(uint64_t, std::span<float>)> read;  ///< of the whole
  uint64_t first, columns, stride;

  /// Rows [row, row + rows) of columns [column, column + columns of `out`), row-major into `out`.
  Status read_strip(uint64_t row, uint64_t rows, uint64_t column, std::span<float> out) const {
    const uint64_t width = out.size() / rows;
    std::array<float, kStripRows> strip;
    for (uint64_t c = 0; c < width; ++c) {
      AMPHORA_TRY(read(first + (column + c) * stride + row, std::span(strip).first(rows)));
      for (uint64_t r = 0; r < rows; ++r) out[r * width + c] = strip[r];
    }
    return {};
  }

  Status operator()(uint64_t from, std::span<float> out) const {
    while (!out.empty()) {
      const uint64_t row = from / columns, column = from % columns;
      const bool whole_rows = column == 0 && out.size() >= columns;
      const uint64_t rows = whole_rows ? std::min<uint64_t>(kStripRows, out.size() / columns) : 1;
      const uint64_t count = whole_rows ? rows * columns : std::min<uint64_t>(columns - column, out.size());
      AMPHORA_TRY(read_strip(row, rows, column, out.first(count)));
      from += count;
      out = out.subspan(count);
    }
    return {};
  }
};

}  // namespace

PackageTensor element_range(const PackageTensor& whole, uint64_t first, std::vector<uint64_t> shape) {
  const uint64_t count = element_count(shape);
  assert(first <= whole.elements() && count <= whole.elements() - first);
  const uint64_t element_bytes = whole.elements() == 0 ? 0 : whole.stored_bytes / whole.elements();
  PackageTensor part = whole;
  part.shape = std::move(shape);
  if (whole.mapped.size() == whole.stored_bytes)
    part.mapped = whole.mapped.subspan(first * element_bytes, count * element_bytes);
  if (part.dtype) part.stored = part.mapped;
  part.stored_bytes = count * element_bytes;
  part.stored_offset += first * element_bytes;
  part.read = [read = whole.read, first](uint64_t from, std::span<float> out) {
    return read(first + from, out);
  };
  return part;
}

PackageTensor gathered_rows(const PackageTensor& whole, uint64_t rows,
                            std::function<uint64_t(uint64_t row)> source) {
  std::vector<uint64_t> shape = whole.shape;
  shape[0] = rows;
  const uint64_t columns = whole.shape[0] == 0 ? 0 : whole.elements() / whole.shape[0];
  uint64_t behind_one_another = rows == 0 ? 0 : 1;
  while (behind_one_another < rows && source(behind_one_another) == source(0) + behind_one_another)
    ++behind_one_another;
  if (behind_one_another == rows)
    return element_range(whole, rows == 0 ? 0 : source(0) * columns, std::move(shape));

  PackageTensor part = without_payload(whole);
  part.shape = std::move(shape);
  part.stored_bytes = whole.stored_bytes / whole.shape[0] * rows;
  part.read = [read = whole.read, columns, source = std::move(source)](uint64_t from,
                                                                       std::span<float> out) -> Status {
    while (!out.empty()) {
      const uint64_t row = from / columns, column = from % columns;
      const uint64_t count = std::min<uint64_t>(columns - column, out.size());
      AMPHORA_TRY(read(source(row) * columns + column, out.first(count)));
      from += count;
      out = out.subspan(count);
    }
    return {};
  };
  return part;
}

PackageTensor transposed(const PackageTensor& whole, uint64_t first, uint64_t rows, uint64_t columns,
                         uint64_t stride) {
  PackageTensor part = without_payload(whole);
  part.shape = {rows, columns};
  if (whole.elements() != 0) part.stored_bytes = whole.stored_bytes / whole.elements() * rows * columns;
  part.read = Transposition{whole.read, first, columns, stride};
  return part;
}

PackageTensor scaled(const PackageTensor& whole, float factor) {
  PackageTensor part = without_payload(whole);
  part.read = [read = whole.read, factor](uint64_t from, std::span<float> out) -> Status {
    AMPHORA_TRY(read(from, out));
    for (float& value : out) value *= factor;
    return {};
  };
  return part;
}

}  // namespace amphora::package
