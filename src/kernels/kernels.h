// The operations of inference over whole matrices and vectors, each in several variants with the same
// results.
//
// Every operation has one fixed order of arithmetic, in which the result of a row never depends on the other
// rows of the batch, on the number of threads or on the variant: scalar, AVX2, AVX-512 and NEON give the same
// bits (docs/numerics.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/dtype.h"
#include "base/thread_pool.h"
#include "quant/coded_rows.h"

namespace amphora::kernels {

/// A weight matrix in the payload layout of its dtype. Row r gives output r. The bytes belong to someone
/// else.
struct Matrix {
  DType dtype = DType::kF32;
  uint64_t rows = 0, columns = 0;
  Bytes payload;
  /// What find_coded_rows() gave for this matrix; null: its rows are decoded to f32 first, if its type has no
  /// kernels of its own.
  std::shared_ptr<const quant::CodedRows> coded = nullptr;
};

/// The rows of a matrix as integers, for the types whose products are made from those; null for the types
/// with kernels of their own, and for others. Reads the tables of the payload, not its weights.
std::shared_ptr<const quant::CodedRows> find_coded_rows(const Matrix& matrix);

/// kFast: int8 activations (one scale per group of 32) against weights of 1 to 8 bits, f32 activations
/// against f32, f16 and bf16 weights and those of the overlay types. kExact: f32 activations against decoded
/// weights, sums in order of the columns.
enum class Numerics : uint8_t { kFast, kExact };

/// A set of implementations for one kind of processor.
struct Variant;
/// Fastest first; the scalar is last and runs everywhere.
std::span<const Variant* const> variants();
/// "scalar", "avx2", "avx512" or "neon"; null if this build has none of that name.
const Variant* find_variant(std::string_view name);
const Variant& best_variant();  ///< the first that this processor runs
std::string_view name_of(const Variant& variant);
bool runs_here(const Variant& variant);

class WeightCopies;  // weight_copies.h

/// What every operation runs on; built once by the session, passed down.
struct Executor {
  ThreadPool* pool;
  const Variant* variant;
  Numerics numerics = Numerics::kFast;
  /// Copies of weights that products may read instead of the matrices; null: there are none.
  const WeightCopies* copies = nullptr;
};

/// Whether weights of this type are floats that products read as they are.
constexpr bool is_dense(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}
/// Whether matmul can read this dtype directly.
bool supports(DType dtype);

/// A block of activations [tokens, columns], quantised once for all the matrices that it meets.
class Activations {
 public:
  Activations();
  Activations(Activations&&) noexcept;
  Activations& operator=(Activations&&) noexcept;
  ~Activations();
  /// Takes a view of `values` (they must stay until the last matmul) and prepares what the numerics need.
  void assign(const Executor& executor, const float* values, size_t tokens, size_t columns);
  struct Prepared;
  const Prepared& prepared() const { return *prepared_; }

 private:
  std::unique_ptr<Prepared> prepared_;
};

/// Rows [first, last) of a matrix.
struct RowRange {
  uint64_t first, last;
};
/// One product of a group that shares its activations: out[token · out_stride + row].
struct Product {
  const Matrix* weights;
  float* out;
  size_t out_stride;
  /// The rows that are computed, in ascending order, without overlap; the weights of the others are not
  /// touched and their outputs are 0. Empty: all rows. (A matrix without any live row is left out by the
  /// caller.)
  std::span<const RowRange> rows = {};
};
/// Computes all products with one fork-join. Every matrix has as many columns as the activations.
void matmul(const Executor& executor, std::span<const Product> products, const Activations& activations);

/// One row of any supported matrix as f32 (embedding look-up).
void decode_row(const Matrix& matrix, uint64_t row, float* out);

enum class KvType : uint8_t { kF32, kF16, kQ8 };

/// Keys and values of one layer. Layout: per kv head, per position, head_dim elements of keys and value_dim
/// of values (kQ8: int8 codes, then one f32 scale per group of 32 — or of the head if that is smaller).
/// Position p lies at slot p mod capacity: a cache that is shorter than the sequence keeps the last
/// `capacity` positions, and its capacity is a multiple of kRingStep.
struct KvView {
  KvType type = KvType::kF16;
  size_t kv_heads = 0, head_dim = 0, value_dim = 0, capacity = 0;  ///< capacity in positions
  std::byte* keys = nullptr;
  std::byte* values = nullptr;
};
inline constexpr size_t kRingStep = 64;
/// Bytes of one head's keys, or with value_dim its values, at one position.
size_t kv_bytes_per_position(KvType type, size_t head_dim);
/// Stores keys [tokens, kv_heads, head_dim] and values [tokens, kv_heads, value_dim] at positions
/// first_position …; tokens is at most the capacity.
void kv_store(const Executor& executor, const KvView& kv, size_t first_position, size_t tokens,
              const float* keys, const float* values);

struct AttentionArguments {
  const float* queries = nullptr;  ///< [tokens, heads, head_dim], rotated
  size_t tokens = 0, heads = 0;
  KvView kv;                  ///< holds all positions that a token sees, its own included
  size_t first_position = 0;  ///< of token 0
  size_t window = 0;          ///< token at p sees positions p - window + 1 … p; 0: all before it
  float scale = 1;
  float softcap = 0;  ///< 0: none, else c·tanh(s / c) after scaling
  /// [heads], 0: the head's output is 0, and keys and values that only such heads read are not touched; null:
  /// all heads live.
  const uint8_t* live_heads = nullptr;
  float* out = nullptr;  ///< [tokens, heads, value_dim]
};
/// Causal grouped-query attention: query head h reads kv head h / (heads / kv_heads).
void attention(const Executor& executor, const AttentionArguments& arguments);

/// out[t] = x[t] / rms(x[t]) · (one_plus ? 1 + w : w), rows of `columns`; `out` may be `x`.
void rms_norm(const Executor& executor, const float* x, const float* weights, size_t rows, size_t columns,
              float eps, bool one_plus, float* out);
/// Rotates the first 2·half dimensions of each head in place, half-split pairs (i, i + half) (Hugging Face
/// layout); cosines and sines are [tokens, half].
void rope(const Executor& executor, float* x, size_t tokens, size_t heads, size_t head_dim, size_t half,
          const float* cosines, const float* sines);
/// gate[i] = act(gate[i]) · up[i].
void silu_multiply(const Executor& executor, float* gate, const float* up, size_t count);
void gelu_tanh_multiply(const Executor& executor, float* gate, const float* up, size_t count);
/// x[i] = cap · tanh(x[i] / cap).
void softcap(const Executor& executor, float* x, float cap, size_t count);
/// x[i] *= factor.
void scale(const Executor& executor, float* x, float factor, size_t count);
/// x[i] *= y[i].
void multiply(const Executor& executor, float* x, const float* y, size_t count);
/// x[r, i] *= factors[r].
void scale_rows(const Executor& executor, float* x, const float* factors, size_t rows, size_t columns);
/// x[i] += factor · y[i], rounded once.
void add_scaled(const Executor& executor, float* x, const float* y, float factor, size_t count);
/// x[i] = x[i] / (1 + exp(-x[i])).
void silu(const Executor& executor, float* x, size_t count);
/// x[i] = 1 / (1 + exp(-x[i])).
void sigmoid(const Executor& executor, float* x, size_t count);
/// x[i] *= 1 / (1 + exp(-gate[i])).
void sigmoid_multiply(const Executor& executor, float* x, const float* gate, size_t count);
/// x[i] = log(1 + exp(x[i])), without overflow.
void softplus(const Executor& executor, float* x, size_t count);
/// Each row of `columns` to exp(x - max) / sum; an element that is -infinity gives 0 (a row has a finite
/// one).
void softmax(const Executor& executor, float* x, size_t rows, size_t columns);
/// Each row of `columns`: x · factor / sqrt(Σ x² + eps).
void l2_norm(const Executor& executor, float* x, size_t rows, size_t columns, float eps, float factor);
/// x[i] += y[i].
void add(const Executor& executor, float* x, const float* y, size_t count);
/// x[t, i] += bias[i].
void add_bias(const Executor& executor, float* x, const float* bias, size_t tokens, size_t columns);
/// Index of the largest value, the lowest of equals; count > 0.
size_t argmax(const Executor& executor, const float* values, size_t count);

}  // namespace amphora::kernels
