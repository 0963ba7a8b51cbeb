// Packing of rows, and the walk over packed blocks: see packed_rows.h.
#include "kernels/packed_rows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/checked.h"
#include "base/half.h"

namespace amphora::kernels {
namespace {

constexpr uint32_t kEveryByte = 0x01010101;

size_t groups_of(size_t columns) { return divide_rounding_up(columns, kGroup); }

std::optional<PackedKind> kind_of(DType dtype) {
  switch (dtype) {
    case DType::kQ8Row:
    case DType::kQ82F: return PackedKind::kBytes;
    case DType::kQ4Tiled:
    case DType::kQ4Block: return PackedKind::kNibbles;
    case DType::kQ4TP: return PackedKind::kNibbleLadder;
    case DType::kQ2TP: return PackedKind::kCrumbLadder;
    case DType::kQ1: return PackedKind::kSigns;
    case DType::kQ1T: return PackedKind::kTernary;
    default: return std::nullopt;
  }
}

PackedKind kind_of_width(uint8_t width) {
  switch (width) {
    case 3: return PackedKind::kVbit3;
    case 4: return PackedKind::kVbit4;
    case 5: return PackedKind::kVbit5;
    case 6: return PackedKind::kVbit6;
    default: return PackedKind::kVbit8;
  }
}

/// Four signed codes, as CodedRows gives them (value = code · scale), as unsigned ones.
uint32_t unsigned_quad(PackedCode code, const int8_t* quad) {
  uint32_t packed = 0;
  for (size_t i = 0; i < 4; ++i)
    packed |= static_cast<uint32_t>((quad[i] + code.zero) >> code.step_shift & 0xFF) << 8 * i;
  return packed;
}

void add_to_dword(std::byte* group, size_t plane, size_t dword, uint32_t bits) {
  std::byte* const at = group + plane + 4 * dword;
  store_little_endian(at, load_little_endian<uint32_t>(at) | bits);
}

/// Puts the codes of one row into a group of zeros (code_bytes_of_group).
void pack_codes(PackedCode code, const int8_t* codes, size_t row, std::byte* group) {
  if (code.bits == 8) {
    for (size_t i = 0; i < kQuads; ++i) std::memcpy(group + 4 * (8 * i + row), codes + 4 * i, 4);
    return;
  }
  for (size_t i = 0; i < kQuads; ++i) {
    uint32_t quad = unsigned_quad(code, codes + 4 * i);
    size_t plane = 0;
    if ((code.bits & 4) != 0) {
      add_to_dword(group, plane, 8 * (i % 4) + row, (quad & 15 * kEveryByte) << 4 * (i / 4));
      quad = quad >> 4 & 15 * kEveryByte;
      plane += kNibblePlaneBytes;
    }
    if ((code.bits & 2) != 0) {
      add_to_dword(group, plane, 8 * (i % 2) + row, (quad & 3 * kEveryByte) << 2 * (i / 2));
      quad = quad >> 2 & 63 * kEveryByte;
      plane += kCrumbPlaneBytes;
    }
    if ((code.bits & 1) != 0) add_to_dword(group, plane, row, (quad & kEveryByte) << i);
  }
}

/// The scale of a row in one group of a step.
void pack_scale(PackedScales scales, float scale, size_t group, size_t row, std::byte* step) {
  const size_t at = group * kBlockRows + row;
  if (scales == PackedScales::kHalf)
    store_little_endian(step + 2 * at, float_to_half(scale));
  else if (scales == PackedScales::kFloat)
    std::memcpy(step + 4 * at, &scale, 4);
}

}  // namespace

PackedRows::PackedRows(const Matrix& matrix)
    : matrix_(matrix), steps_(divide_rounding_up(groups_of(matrix.columns), kChains)) {}

std::optional<PackedRows> PackedRows::plan(const Matrix& matrix) {
  PackedRows packed(matrix);
  const bool vbit = matrix.dtype == DType::kVbit || matrix.dtype == DType::kVbitRo;
  const std::optional<PackedKind> kind = kind_of(matrix.dtype);
  if (!vbit && !kind) return std::nullopt;
  if (kind != PackedKind::kBytes) {
    const std::array<uint64_t, 2> shape = {matrix.rows, matrix.columns};
    packed.coded_ =
        matrix.coded ? matrix.coded : quant::CodedRows::create(matrix.dtype, matrix.payload, shape);
    if (!packed.coded_) return std::nullopt;
  }
  if (kind) {
    packed.append_run(*kind, matrix.rows);
    if (kind == PackedKind::kBytes) packed.row_scales_.resize(packed.blocks_ * kBlockRows);
    return packed;
  }
  // Rows of vbit have widths of their own, which the payload begins with: rows of a width share blocks.
  std::vector<std::vector<uint32_t>> of_width(9);
  for (uint32_t row = 0; row < matrix.rows; ++row)
    of_width[std::min<size_t>(8, std::to_integer<size_t>(matrix.payload[row]))].push_back(row);
  for (size_t width = 0; width < of_width.size(); ++width) {
    if (of_width[width].empty()) continue;
    packed.append_run(kind_of_width(static_cast<uint8_t>(width)), of_width[width].size());
    packed.order_.insert(packed.order_.end(), of_width[width].begin(), of_width[width].end());
    packed.order_.resize(packed.blocks_ * kBlockRows, static_cast<uint32_t>(matrix.rows));
  }
  return packed;
}

void PackedRows::append_run(PackedKind kind, size_t rows) {
  const size_t blocks = divide_rounding_up(rows, kBlockRows);
  runs_.push_back({kind, blocks_, blocks_ + blocks, bytes_});
  blocks_ += blocks;
  bytes_ += blocks * bytes_of_block(kind);
}

size_t PackedRows::row_at(size_t block, size_t lane) const {
  const size_t place = block * kBlockRows + lane;
  return order_.empty() ? std::min<size_t>(place, matrix_.rows) : order_[place];
}

void PackedRows::fill(size_t first, size_t last) {
  for (const Run& run : runs_)
    for (size_t block = std::max(first, run.first); block < std::min(last, run.last); ++block)
      fill_block(run, block);
}

void PackedRows::fill_block(const Run& run, size_t block) {
  const PackedCode code = code_of(run.kind);
  const size_t groups = groups_of(matrix_.columns), step_bytes = bytes_of_step(run.kind);
  std::byte* const to = memory_ + run.offset + (block - run.first) * bytes_of_block(run.kind);
  std::memset(to, 0, bytes_of_block(run.kind));
  std::vector<int8_t> codes(groups * kGroup);
  std::vector<float> scales(groups);
  for (size_t lane = 0; lane < kBlockRows; ++lane) {
    const size_t row = row_at(block, lane);
    if (row == matrix_.rows) continue;
    if (coded_) {
      (void)coded_->read(row, codes.data(), scales.data());  // the offset of 8 bits is the zero of kVbit8
    } else {
      const std::byte* const payload = matrix_.payload.data();
      std::memcpy(codes.data(), payload + row * matrix_.columns, matrix_.columns);
      row_scales_[row] =
          half_to_float(load_little_endian<uint16_t>(payload + matrix_.rows * matrix_.columns + 2 * row));
    }
    for (size_t group = 0; group < groups; ++group) {
      std::byte* const step = to + group / kChains * step_bytes;
      const size_t in_step = group % kChains;
      pack_scale(code.scales, scales[group], in_step, lane, step);
      pack_codes(code, &codes[group * kGroup], lane,
                 step + scale_bytes_of_step(run.kind) + in_step * code_bytes_of_group(run.kind));
    }
  }
}

void PackedRows::multiply(const PackedKernels& kernels, size_t first, size_t last, const Quantised& x,
                          float* out, size_t out_stride) const {
  for (const Run& run : runs_)
    if (std::max(first, run.first) < std::min(last, run.last))
      multiply_run(kernels, run, std::max(first, run.first), std::min(last, run.last), x, out, out_stride);
}

void PackedRows::store(size_t block, const float* products, float* out) const {
  const size_t first = block * kBlockRows;
  if (!order_.empty()) {
    for (size_t lane = 0; lane < kBlockRows; ++lane)
      if (const size_t row = order_[first + lane]; row != matrix_.rows) out[row] = products[lane];
    return;
  }
  float scaled[kBlockRows];
  for (size_t lane = 0; lane < kBlockRows; ++lane)
    scaled[lane] = row_scales_.empty() ? products[lane] : products[lane] * row_scales_[first + lane];
  if (first + kBlockRows <= matrix_.rows)
    std::memcpy(out + first, scaled, sizeof scaled);
  else
    std::memcpy(out + first, scaled, (matrix_.rows - first) * sizeof(float));
}

void PackedRows::multiply_run(const PackedKernels& kernels, const Run& run, size_t first, size_t last,
                              const Quantised& x, float* out, size_t out_stride) const {
  const size_t quarter = divide_rounding_up(last - first, kStreams), block_bytes = bytes_of_block(run.kind);
  const std::byte* const from = memory_ + run.offset;
  float products[kStreams * kMostPackedTokens * kBlockRows];
  for (size_t i = 0; i < quarter; ++i) {
    size_t block[kStreams];  // a stream that has no more repeats the last
    const std::byte* at[kStreams];
    for (size_t s = 0; s < kStreams; ++s) {
      block[s] = std::min(first + s * quarter + i, last - 1);
      at[s] = from + (block[s] - run.first) * block_bytes;
    }
    for (size_t token = 0; token < x.tokens;) {
      const size_t log = x.tokens - token >= 4 ? 2 : x.tokens - token >= 2 ? 1 : 0, tokens = size_t{1} << log;
      const PackedTokens some = {x.codes_of(token), x.scales_of(token), x.sums_of(token), x.padded_columns(),
                                 x.groups};
      kernels.multiply[static_cast<size_t>(run.kind)][log](at, steps_, some, products);
      for (size_t s = 0; s < kStreams; ++s)
        for (size_t t = 0; t < tokens; ++t)
          store(block[s], products + (s * tokens + t) * kBlockRows, out + (token + t) * out_stride);
      token += tokens;
    }
  }
}

}  // namespace amphora::kernels
