// Tensors made from parts of a stored one, without reading it.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "amphora/package.h"

namespace amphora::package {

/// Elements [first, first + elements of `shape`) of `whole` in its own order: a view of the same bytes, of
/// the same type. They lie inside it, and elements are whole bytes.
PackageTensor element_range(const PackageTensor& whole, uint64_t first, std::vector<uint64_t> shape);

/// Rows of `whole` in a new order: row i is row source(i) of `whole`, i < rows. What follows the first
/// dimension stays. Rows that happen to lie behind one another are a view of the same type; others are read
/// one by one and have no stored payload. `source` stays inside `whole` and can be called from several
/// threads at once.
PackageTensor gathered_rows(const PackageTensor& whole, uint64_t rows,
                            std::function<uint64_t(uint64_t row)> source);

/// The matrix [rows, columns] that lies in `whole` with its two dimensions exchanged: its element (r, c) is
/// element first + c · stride + r of `whole`. It has no stored payload.
PackageTensor transposed(const PackageTensor& whole, uint64_t first, uint64_t rows, uint64_t columns,
                         uint64_t stride);

/// Every value times `factor`, rounded to f32; without a stored payload.
PackageTensor scaled(const PackageTensor& whole, float factor);

}  // namespace amphora::package
