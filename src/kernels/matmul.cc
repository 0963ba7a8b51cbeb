// Matrix products: which kernel a matrix gets, and how its rows are shared out over the threads.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/activations.h"
#include "kernels/variant.h"
#include "kernels/weight_copies.h"
#include "quant/codec.h"

namespace amphora::kernels {
namespace {

/// kDecoded: rows are decoded to f32 by their codec first, then as f32 weights.
enum class Path : uint8_t { kInt8, kDense, kDecoded, kExact };

/// Whether the int8 kernels read the payload as it is.
bool has_kernels_of_its_own(const Matrix& weights) {
  switch (weights.dtype) {
    case DType::kQ8Row:
    case DType::kQ82F:
    case DType::kQ4Tiled: return true;
    case DType::kQ4Block: return weights.columns % kGroup == 0;
    default: return false;
  }
}

Path path_of(const Matrix& weights, Numerics numerics) {
  if (numerics == Numerics::kExact) return Path::kExact;
  if (is_dense(weights.dtype)) return Path::kDense;
  return has_kernels_of_its_own(weights) || weights.coded ? Path::kInt8 : Path::kDecoded;
}

/// A product as it is computed.
struct Task {
  const Matrix* weights;  ///< the product's own, or a copy
  const PackedRows* packed = nullptr;
  const Quantised* activations;
  std::span<const RowRange> live;
};

void decode_elements(const Matrix& matrix, uint64_t first, std::span<float> out) {
  const std::array<uint64_t, 2> shape = {matrix.rows, matrix.columns};
  quant::find_codec(matrix.dtype)->decode(matrix.payload, shape, first, out);
}

/// Some rows of one product; the unit that a thread takes.
struct Piece {
  size_t product;
  Rows rows;           ///< that are computed
  size_t first, last;  ///< rows whose outputs are written: those, and 0 for the others among these; of packed
                       ///< weights, the blocks
};

/// Where products of a few rows go: `products` [token][stride] to the columns `rows` of the output.
void scatter(std::span<const float> products, size_t stride, std::span<const size_t> rows, size_t tokens,
             float* out, size_t out_stride) {
  for (size_t token = 0; token < tokens; ++token)
    for (size_t r = 0; r < rows.size(); ++r) out[token * out_stride + rows[r]] = products[token * stride + r];
}

/// Rows that are decoded together.
constexpr size_t kDecodedRows = 16;

/// One piece with decoded rows, in fast numerics.
void multiply_decoded(const Variant& variant, const Matrix& weights, const Piece& piece, const float* x,
                      size_t tokens, float* out, size_t out_stride) {
  std::vector<float> decoded(kDecodedRows * weights.columns), products(tokens * kDecodedRows);
  size_t room[kDecodedRows];
  RowCursor at = piece.rows.first;
  for (size_t done = 0; done < piece.rows.count; done += kDecodedRows) {
    const auto rows = std::span(room).first(std::min(kDecodedRows, piece.rows.count - done));
    for (size_t r = 0; r < rows.size(); ++r) {
      rows[r] = at.take();
      decode_row(weights, rows[r], &decoded[r * weights.columns]);
    }
    const Matrix block = {DType::kF32, rows.size(), weights.columns, std::as_bytes(std::span(decoded))};
    const RowRange all = {0, rows.size()};
    variant.lanes->multiply_dense(block, rows_of(all), x, tokens, products.data(), kDecodedRows);
    scatter(products, kDecodedRows, rows, tokens, out, out_stride);
  }
}

/// One piece in exact numerics: sixteen rows in the lanes, in blocks of columns that stay in the first cache.
void multiply_exact(const Variant& variant, const Matrix& weights, const Piece& piece, const float* x,
                    size_t tokens, float* out, size_t out_stride) {
  constexpr size_t kColumns = 256;
  std::vector<float> decoded(kColumns), panel(kDecodedRows * kColumns), sums(tokens * kDecodedRows);
  size_t room[kDecodedRows];
  RowCursor at = piece.rows.first;
  for (size_t done = 0; done < piece.rows.count; done += kDecodedRows) {
    const auto rows = std::span(room).first(std::min(kDecodedRows, piece.rows.count - done));
    for (size_t& row : rows) row = at.take();
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (size_t column = 0; column < weights.columns; column += kColumns) {
      const size_t columns = std::min<size_t>(kColumns, weights.columns - column);
      for (size_t r = 0; r < rows.size(); ++r) {
        decode_elements(weights, rows[r] * weights.columns + column, std::span(decoded).first(columns));
        for (size_t c = 0; c < columns; ++c) panel[c * kDecodedRows + r] = decoded[c];
      }
      variant.lanes->multiply_exact(panel.data(), columns, x + column, weights.columns, tokens, sums.data());
    }
    scatter(sums, kDecodedRows, rows, tokens, out, out_stride);
  }
}

/// The column field of a q8_2f matrix.
std::vector<float> column_field(const Variant& variant, const Matrix& weights) {
  std::vector<float> field(weights.columns);
  const std::byte* const halves = weights.payload.data() + weights.rows * weights.columns + weights.rows * 2;
  variant.lanes->decode_halves(halves, field.size(), field.data());
  return field;
}

/// Rows per piece: for few tokens, large pieces that keep the memory streams of "far rows" long, yet several
/// per thread where the matrix is large; for many tokens, pieces whose unpacked weights stay in the second
/// cache.
size_t rows_per_piece(const Matrix& weights, size_t total_bytes, size_t tokens, size_t threads) {
  constexpr size_t kLeastBytes = 64 << 10, kMostBytes = 2 << 20, kRowsOfTiles = 32;
  if (weights.rows == 0 || tokens > kMostUntiledTokens) return kRowsOfTiles;
  const size_t most = tokens == 1 ? kMostBytes : 4 * kLeastBytes;
  const size_t bytes = std::clamp((total_bytes + threads - 1) / threads, kLeastBytes, most);
  const size_t row_bytes = std::max<size_t>(1, weights.payload.size() / weights.rows);
  return std::max<size_t>(16, (bytes / row_bytes + 15) / 16 * 16);
}

constexpr RowRange kNoRows = {0, 0};

size_t count_rows(std::span<const RowRange> ranges) {
  size_t count = 0;
  for (const RowRange& range : ranges) count += range.last - range.first;
  return count;
}

size_t bytes_of_rows(const Matrix& weights, size_t rows) {
  return weights.rows == 0 ? 0 : weights.payload.size() / weights.rows * rows;
}

/// Cuts the live rows of one product into pieces of similar size, however short their ranges are. Together
/// the pieces write the whole output.
void append_pieces(size_t product, const Matrix& weights, std::span<const RowRange> live, size_t most_rows,
                   std::vector<Piece>& pieces) {
  const size_t rows = count_rows(live), sixteens = (rows + 15) / 16;
  const size_t parts = std::max<size_t>(1, (sixteens * 16 + most_rows - 1) / most_rows);
  const size_t step = (sixteens + parts - 1) / parts * 16;
  RowCursor at(live.data());
  for (size_t done = 0, first = 0; first < weights.rows;) {
    const Rows here = {at, std::min(step, rows - done)};
    at.skip(here.count);
    done += here.count;
    const size_t last = done == rows ? weights.rows : at.end_of_taken();
    pieces.push_back({product, here, first, last});
    first = last;
  }
}

/// Whole blocks, in similar numbers that the kernels' streams share.
void append_packed_pieces(size_t product, const PackedRows& packed, size_t most_rows,
                          std::vector<Piece>& pieces) {
  const size_t blocks = packed.blocks();
  const size_t parts = std::max<size_t>(1, (blocks * kBlockRows + most_rows - 1) / most_rows);
  const size_t step = (blocks + parts * kStreams - 1) / (parts * kStreams) * kStreams;
  for (size_t first = 0; first < blocks; first += step)
    pieces.push_back({product, {RowCursor(&kNoRows), 0}, first, std::min(blocks, first + step)});
}

std::vector<Piece> pieces_of(std::span<const Task> tasks, size_t tokens, size_t threads) {
  size_t total_bytes = 0;
  for (const Task& task : tasks) total_bytes += bytes_of_rows(*task.weights, count_rows(task.live));
  std::vector<Piece> pieces;
  for (size_t i = 0; i < tasks.size(); ++i) {
    const size_t most = rows_per_piece(*tasks[i].weights, total_bytes, tokens, threads);
    if (tasks[i].packed)
      append_packed_pieces(i, *tasks[i].packed, most, pieces);
    else
      append_pieces(i, *tasks[i].weights, tasks[i].live, most, pieces);
  }
  return pieces;
}

void run_piece(const Executor& executor, const Activations::Prepared& activations, const Product& product,
               const Task& task, const Piece& piece) {
  const Variant& variant = *executor.variant;
  const Matrix& weights = *task.weights;
  const Quantised& quantised = *task.activations;
  const size_t tokens = activations.tokens, stride = product.out_stride;
  if (task.packed)
    return task.packed->multiply(*variant.int8->packed, piece.first, piece.last, quantised, product.out,
                                 stride);
  if (piece.rows.count < piece.last - piece.first)
    for (size_t token = 0; token < tokens; ++token)
      std::fill(product.out + token * stride + piece.first, product.out + token * stride + piece.last, 0.0f);
  switch (path_of(weights, executor.numerics)) {
    case Path::kInt8:
      if (quantised.tiled) {
        variant.int8->multiply_tiles(weights, piece.rows, quantised, product.out, stride);
      } else {
        for (size_t token = 0; token < tokens; ++token)
          variant.int8->multiply_row(weights, piece.rows, quantised, token, product.out + token * stride);
      }
      break;
    case Path::kDense:
      variant.lanes->multiply_dense(weights, piece.rows, activations.values, tokens, product.out, stride);
      break;
    case Path::kDecoded:
      multiply_decoded(variant, weights, piece, activations.values, tokens, product.out, stride);
      break;
    case Path::kExact:
      multiply_exact(variant, weights, piece, activations.values, tokens, product.out, stride);
      break;
  }
}

/// Turns to the copy of the weights where there is one that suits.
void use_copy(const Executor& executor, size_t tokens, Task& task) {
  if (!executor.copies || executor.numerics == Numerics::kExact) return;
  const Int8Kernels& int8 = *executor.variant->int8;
  if (is_dense(task.weights->dtype)) {
    if (const Matrix* copy = executor.copies->find_plain(*task.weights)) task.weights = copy;
  } else if (int8.packed && tokens < int8.least_tiled_tokens) {
    task.packed = executor.copies->find_packed(*task.weights);
  }
}

}  // namespace

bool supports(DType dtype) {
  const quant::Codec* codec = quant::find_codec(dtype);
  return codec && codec->can_decode();
}

std::shared_ptr<const quant::CodedRows> find_coded_rows(const Matrix& matrix) {
  if (has_kernels_of_its_own(matrix)) return nullptr;
  const std::array<uint64_t, 2> shape = {matrix.rows, matrix.columns};
  return quant::CodedRows::create(matrix.dtype, matrix.payload, shape);
}

void decode_row(const Matrix& matrix, uint64_t row, float* out) {
  decode_elements(matrix, row * matrix.columns, std::span<float>(out, matrix.columns));
}

void matmul(const Executor& executor, std::span<const Product> products, const Activations& activations) {
  const Activations::Prepared& prepared = activations.prepared();
  const Variant& variant = *executor.variant;
  const size_t tokens = prepared.tokens;

  std::vector<RowRange> whole(products.size());
  std::vector<Task> tasks;
  tasks.reserve(products.size());
  for (size_t i = 0; i < products.size(); ++i) {
    const Product& product = products[i];
    whole[i] = {0, product.weights->rows};
    tasks.push_back({.weights = product.weights,
                     .activations = &prepared.quantised,
                     .live = product.rows.empty() ? std::span<const RowRange>(&whole[i], 1) : product.rows});
    if (product.rows.empty()) use_copy(executor, tokens, tasks.back());
  }

  // A column field belongs to its matrix, so the activations that meet it are quantised anew, field included.
  if (prepared.with_field.size() < products.size()) prepared.with_field.resize(products.size());
  for (size_t i = 0; i < products.size(); ++i) {
    const Matrix& weights = *products[i].weights;
    if (weights.dtype != DType::kQ82F || path_of(weights, executor.numerics) != Path::kInt8) continue;
    quantise(executor, prepared.values, column_field(variant, weights).data(), tokens, prepared.columns,
             prepared.with_field[i]);
    tasks[i].activations = &prepared.with_field[i];
  }

  const std::vector<Piece> pieces = pieces_of(tasks, tokens, executor.pool->threads());
  executor.pool->run(pieces.size(), [&](size_t chunk) {
    const Piece& piece = pieces[chunk];
    run_piece(executor, prepared, products[piece.product], tasks[piece.product], piece);
  });
}

}  // namespace amphora::kernels
