// Weights rearranged for products with few tokens: eight rows share a block, whose bytes lie in the order in
// which a kernel reads them.
//
// A vector register then holds four columns of eight rows, so that no sum across lanes is needed, and a block
// is one stream of memory. What is read from a block are the same integers and scales as from the payload:
// the products have the same bits.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/activations.h"
#include "kernels/kernels.h"

namespace amphora::kernels {

/// Rows of a block.
inline constexpr size_t kBlockRows = 8;
/// Blocks that a kernel reads at once, each from its own quarter (see FarRows).
inline constexpr size_t kStreams = 4;
/// Of a group: four neighbouring columns of a row, a dword of codes.
inline constexpr size_t kQuads = kGroup / 4;
/// Tokens that a kernel takes at most.
inline constexpr size_t kMostPackedTokens = 4;

/// Where the scales of a block are: one a row, outside the block; f16 or f32 for every group.
enum class PackedScales : uint8_t { kRow, kHalf, kFloat };

/// What the codes of a block mean: a weight is (code · step - zero) · scale. Codes are unsigned; those of 8
/// bits are signed.
struct PackedCode {
  uint8_t bits;
  uint8_t step_shift;  ///< step is 1 << step_shift
  int16_t zero;
  PackedScales scales;
};

/// Every code of the types that are packed; the kinds of a kernel table.
enum class PackedKind : uint8_t {
  kBytes,         ///< q8_row, q8_2f
  kNibbles,       ///< q4_tiled, q4_block
  kNibbleLadder,  ///< q4tp
  kCrumbLadder,   ///< q2tp
  kSigns,         ///< q1
  kTernary,       ///< q1t
  kVbit3,
  kVbit4,
  kVbit5,
  kVbit6,
  kVbit8,
};
inline constexpr size_t kPackedKinds = 11;

constexpr PackedCode code_of(PackedKind kind) {
  switch (kind) {
    case PackedKind::kBytes: return {8, 0, 0, PackedScales::kRow};
    case PackedKind::kNibbles: return {4, 0, 8, PackedScales::kHalf};
    case PackedKind::kNibbleLadder: return {4, 0, 8, PackedScales::kFloat};
    case PackedKind::kCrumbLadder: return {2, 1, 3, PackedScales::kFloat};
    case PackedKind::kSigns: return {1, 1, 1, PackedScales::kHalf};
    case PackedKind::kTernary: return {2, 0, 1, PackedScales::kHalf};
    case PackedKind::kVbit3: return {3, 0, 3, PackedScales::kHalf};
    case PackedKind::kVbit4: return {4, 0, 7, PackedScales::kHalf};
    case PackedKind::kVbit5: return {5, 0, 15, PackedScales::kHalf};
    case PackedKind::kVbit6: return {6, 0, 31, PackedScales::kHalf};
    case PackedKind::kVbit8: return {8, 0, -1, PackedScales::kHalf};
  }
  return {};
}

/// Bytes of the scales of a step of a block, which come first, and of its codes. A step is kChains groups.
constexpr size_t scale_bytes_of_step(PackedKind kind) {
  constexpr size_t kScales = kChains * kBlockRows;
  switch (code_of(kind).scales) {
    case PackedScales::kRow: return 0;
    case PackedScales::kHalf: return kScales * 2;
    case PackedScales::kFloat: return kScales * 4;
  }
  return 0;
}
/// Codes of one group of a block, as planes of 4, 2 and 1 bits (8 bits: bytes) in this order. With i = column
/// / 4 and dwords that hold four neighbouring columns of one row, the code of (row, i) is
///   bytes    in dword 8·i + row,
///   nibbles  in dword 8·(i mod 4) + row, bits 4·(i / 4) of its bytes,
///   crumbs   in dword 8·(i mod 2) + row, bits 2·(i / 2),
///   bits     in dword row, bit i.
constexpr size_t code_bytes_of_group(PackedKind kind) { return code_of(kind).bits * kGroup / 8 * kBlockRows; }
inline constexpr size_t kNibblePlaneBytes = kGroup / 2 * kBlockRows,
                        kCrumbPlaneBytes = kGroup / 4 * kBlockRows;
constexpr size_t bytes_of_step(PackedKind kind) {
  return scale_bytes_of_step(kind) + kChains * code_bytes_of_group(kind);
}

/// The planes of a code: at which byte of the group each begins and at which bit its value belongs.
template <PackedKind kKind>
struct Planes {
  static constexpr size_t kBits = code_of(kKind).bits, kStep = code_of(kKind).step_shift;
  static constexpr bool kNibble = (kBits & 4) != 0, kCrumb = (kBits & 2) != 0, kBit = (kBits & 1) != 0;
  static constexpr size_t kCrumbPlane = kNibble ? kNibblePlaneBytes : 0;
  static constexpr size_t kBitPlane = kCrumbPlane + (kCrumb ? kCrumbPlaneBytes : 0);
  static constexpr size_t kCrumbTo = kStep + (kNibble ? 4 : 0), kBitTo = kCrumbTo + (kCrumb ? 2 : 0);
};

/// Some tokens of untiled activations, as a kernel reads them.
struct PackedTokens {
  const int8_t* codes;  ///< of the first token; the next follow at `columns`
  const float* scales;  ///< the next at `groups`, as those of `sums`
  const int32_t* sums;
  size_t columns, groups;
};

/// Products of kStreams blocks with some tokens: out[stream][token][row], without the scales of rows.
using PackedKernel = void (*)(const std::byte* const* blocks, size_t steps, const PackedTokens& x,
                              float* out);

/// A variant's kernels for 1, 2 and 4 tokens.
struct PackedKernels {
  PackedKernel multiply[kPackedKinds][3];
};
/// `kernel_of` gives the kernel for <kind, tokens>.
template <class KernelOf>
constexpr PackedKernels make_packed_kernels(KernelOf kernel_of) {
  return [&]<size_t... kKinds>(std::index_sequence<kKinds...>) {
    return PackedKernels {
      {{kernel_of.template operator()<static_cast<PackedKind>(kKinds), 1>(),
        kernel_of.template operator()<static_cast<PackedKind>(kKinds), 2>(),
        kernel_of.template operator()<static_cast<PackedKind>(kKinds), 4>()}...}
    };
  }(std::make_index_sequence<kPackedKinds>());
}

/// A matrix in blocks.
class PackedRows {
 public:
  /// How a matrix is packed; empty if its type or shape is not. Reads the tables of the payload, not its
  /// weights.
  static std::optional<PackedRows> plan(const Matrix& matrix);

  /// Memory that it needs, on a 64-byte boundary.
  size_t bytes() const { return bytes_; }
  void place(std::byte* memory) { memory_ = memory; }
  size_t blocks() const { return blocks_; }
  /// Fills blocks [first, last) from the payload.
  void fill(size_t first, size_t last);

  /// Blocks [first, last) times all tokens of untiled activations: out[token · out_stride + row].
  void multiply(const PackedKernels& kernels, size_t first, size_t last, const Quantised& x, float* out,
                size_t out_stride) const;

 private:
  /// Neighbouring blocks of one kind.
  struct Run {
    PackedKind kind;
    size_t first, last;
    size_t offset;  ///< of the first block in the memory
  };

  explicit PackedRows(const Matrix& matrix);
  void append_run(PackedKind kind, size_t rows);
  void fill_block(const Run& run, size_t block);
  void multiply_run(const PackedKernels& kernels, const Run& run, size_t first, size_t last,
                    const Quantised& x, float* out, size_t out_stride) const;
  /// The products of one block and token to the outputs of that token.
  void store(size_t block, const float* products, float* out) const;
  size_t bytes_of_block(PackedKind kind) const { return steps_ * bytes_of_step(kind); }
  /// The row in a lane of a block, or rows() of the matrix if none is.
  size_t row_at(size_t block, size_t lane) const;

  Matrix matrix_;
  std::shared_ptr<const quant::CodedRows> coded_;
  size_t steps_;
  size_t blocks_ = 0, bytes_ = 0;
  std::vector<Run> runs_;
  std::vector<uint32_t> order_;    ///< vbit: the row of each place, blocks · kBlockRows; empty: in order
  std::vector<float> row_scales_;  ///< of kBytes, for whole blocks
  std::byte* memory_ = nullptr;
};

}  // namespace amphora::kernels
