// Matrix products: which kernel a matrix gets, and how its rows are shared out over the threads.
#include <algorithm>
#include <array>
#include <vector>

#include "kernels/activations.h"
#include "kernels/variant.h"
#include "quant/codec.h"

namespace amphora::kernels {
namespace {

/// kDecoded: rows are decoded to f32 by their codec first, then as f32 weights.
enum class Path : uint8_t { kInt8, kDense, kDecoded, kExact };

Path path_of(const Matrix& weights, Numerics numerics) {
  if (numerics == Numerics::kExact) return Path::kExact;
  switch (weights.dtype) {
    case DType::kF32:
    case DType::kF16:
    case DType::kBF16: return Path::kDense;
    case DType::kQ8Row:
    case DType::kQ82F:
    case DType::kQ4Tiled: return Path::kInt8;
    case DType::kQ4Block: return weights.columns % kGroup == 0 ? Path::kInt8 : Path::kDecoded;
    default: return Path::kDecoded;
  }
}

void decode_elements(const Matrix& matrix, uint64_t first, std::span<float> out) {
  const std::array<uint64_t, 2> shape = {matrix.rows, matrix.columns};
  quant::find_codec(matrix.dtype)->decode(matrix.payload, shape, first, out);
}

/// Some rows of one product; the unit that a thread takes.
struct Piece {
  size_t product, first, last;
};

/// One piece with decoded rows, in fast numerics.
void multiply_decoded(const Variant& variant, const Matrix& weights, const Piece& piece, const float* x,
                      size_t tokens, float* out, size_t out_stride) {
  constexpr size_t kRowsAtOnce = 16;
  std::vector<float> decoded(kRowsAtOnce * weights.columns);
  for (size_t first = piece.first; first < piece.last; first += kRowsAtOnce) {
    const size_t rows = std::min(kRowsAtOnce, piece.last - first);
    const std::span<float> values(decoded.data(), rows * weights.columns);
    decode_elements(weights, first * weights.columns, values);
    const Matrix block = {DType::kF32, rows, weights.columns, std::as_bytes(values)};
    variant.lanes->multiply_dense(block, 0, rows, x, tokens, out + first, out_stride);
  }
}

/// One piece in exact numerics: sixteen rows in the lanes, in blocks of columns that stay in the first cache.
void multiply_exact(const Variant& variant, const Matrix& weights, const Piece& piece, const float* x,
                    size_t tokens, float* out, size_t out_stride) {
  constexpr size_t kRows = 16, kColumns = 256;
  std::vector<float> decoded(kRows * kColumns), panel(kRows * kColumns), sums(tokens * kRows);
  for (size_t first = piece.first; first < piece.last; first += kRows) {
    const size_t rows = std::min(kRows, piece.last - first);
    std::fill(sums.begin(), sums.end(), 0.0f);
    for (size_t column = 0; column < weights.columns; column += kColumns) {
      const size_t columns = std::min<size_t>(kColumns, weights.columns - column);
      for (size_t r = 0; r < rows; ++r) {
        decode_elements(weights, (first + r) * weights.columns + column, std::span(decoded).first(columns));
        for (size_t c = 0; c < columns; ++c) panel[c * kRows + r] = decoded[c];
      }
      variant.lanes->multiply_exact(panel.data(), columns, x + column, weights.columns, tokens, sums.data());
    }
    for (size_t token = 0; token < tokens; ++token)
      std::copy_n(&sums[token * kRows], rows, out + token * out_stride + first);
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
  if (weights.rows == 0 || tokens >= 8) return kRowsOfTiles;
  const size_t most = tokens == 1 ? kMostBytes : 4 * kLeastBytes;
  const size_t bytes = std::clamp((total_bytes + threads - 1) / threads, kLeastBytes, most);
  const size_t row_bytes = std::max<size_t>(1, weights.payload.size() / weights.rows);
  return std::max<size_t>(16, (bytes / row_bytes + 15) / 16 * 16);
}

std::vector<Piece> pieces_of(std::span<const Product> products, size_t tokens, size_t threads) {
  size_t total_bytes = 0;
  for (const Product& product : products) total_bytes += product.weights->payload.size();
  std::vector<Piece> pieces;
  for (size_t i = 0; i < products.size(); ++i) {
    const size_t rows = products[i].weights->rows;
    const size_t count = (rows + 15) / 16 * 16;
    const size_t most = rows_per_piece(*products[i].weights, total_bytes, tokens, threads);
    const size_t parts = (count + most - 1) / most;
    const size_t step = parts == 0 ? 0 : (count / 16 + parts - 1) / parts * 16;
    for (size_t first = 0; first < rows; first += step)
      pieces.push_back({i, first, std::min(rows, first + step)});
  }
  return pieces;
}

}  // namespace

bool supports(DType dtype) {
  const quant::Codec* codec = quant::find_codec(dtype);
  return codec && codec->can_decode();
}

void decode_row(const Matrix& matrix, uint64_t row, float* out) {
  decode_elements(matrix, row * matrix.columns, std::span<float>(out, matrix.columns));
}

void matmul(const Executor& executor, std::span<const Product> products, const Activations& activations) {
  const Activations::Prepared& prepared = activations.prepared();
  const Variant& variant = *executor.variant;
  const size_t tokens = prepared.tokens;

  // A column field belongs to its matrix, so the activations that meet it are quantised anew, field included.
  std::vector<const Quantised*> quantised(products.size(), &prepared.quantised);
  if (prepared.with_field.size() < products.size()) prepared.with_field.resize(products.size());
  for (size_t i = 0; i < products.size(); ++i) {
    const Matrix& weights = *products[i].weights;
    if (weights.dtype != DType::kQ82F || path_of(weights, executor.numerics) != Path::kInt8) continue;
    quantise(executor, prepared.values, column_field(variant, weights).data(), tokens, prepared.columns,
             prepared.with_field[i]);
    quantised[i] = &prepared.with_field[i];
  }

  const std::vector<Piece> pieces = pieces_of(products, tokens, executor.pool->threads());
  executor.pool->run(pieces.size(), [&](size_t chunk) {
    const Piece& piece = pieces[chunk];
    const Product& product = products[piece.product];
    const Matrix& weights = *product.weights;
    const Quantised& x = *quantised[piece.product];
    float* const out = product.out + piece.first;
    switch (path_of(weights, executor.numerics)) {
      case Path::kInt8:
        if (x.tiled) {
          variant.int8->multiply_tiles(weights, piece.first, piece.last, x, out, product.out_stride);
        } else {
          for (size_t token = 0; token < tokens; ++token)
            variant.int8->multiply_row(weights, piece.first, piece.last, x, token,
                                       out + token * product.out_stride);
        }
        break;
      case Path::kDense:
        variant.lanes->multiply_dense(weights, piece.first, piece.last, prepared.values, tokens, out,
                                      product.out_stride);
        break;
      case Path::kDecoded:
        multiply_decoded(variant, weights, piece, prepared.values, tokens, product.out, product.out_stride);
        break;
      case Path::kExact:
        multiply_exact(variant, weights, piece, prepared.values, tokens, product.out, product.out_stride);
        break;
    }
  });
}

}  // namespace amphora::kernels
