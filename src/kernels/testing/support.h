// What the tests of the kernels share: random matrices as payload bytes, their values, comparisons bit by
// bit.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <random>
#include <vector>

#include "base/byte_writer.h"
#include "base/half.h"
#include "base/testing/test_data.h"
#include "kernels/kernels.h"
#include "quant/codec.h"

namespace amphora::kernels::testing {

using amphora::testing::random_floats;
using Sizes = std::initializer_list<size_t>;

/// A matrix with a payload of its own, exactly as long as its type wants: a sanitizer sees a read beyond it.
struct OwnedMatrix {
  std::unique_ptr<std::byte[]> payload;
  Matrix matrix;
};

/// Bytes of which whole pages can be made unreadable: an access to them ends the test.
class GuardedBytes {
 public:
  static constexpr size_t kPage = 4096;
  explicit GuardedBytes(size_t bytes)
      : bytes_(bytes),
        memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {
    if (memory_ == MAP_FAILED) std::abort();
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { ::munmap(memory_, bytes_); }
  std::byte* data() const { return static_cast<std::byte*>(memory_); }
  /// The pages that lie wholly within the bytes [first, last); gives their number.
  size_t forbid(size_t first, size_t last) {
    const size_t from = (first + kPage - 1) / kPage * kPage, to = last / kPage * kPage;
    if (from >= to) return 0;
    if (::mprotect(data() + from, to - from, PROT_NONE) != 0) std::abort();
    return (to - from) / kPage;
  }

 private:
  size_t bytes_;
  void* memory_;
};

/// How large the numbers are.
enum class Range { kUsual, kTiny, kHuge };

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint64_t next() { return engine_(); }
  size_t below(size_t limit) { return static_cast<size_t>(engine_() % limit); }
  /// A half that a scale may be: positive, normal or (kTiny) subnormal.
  uint16_t scale(Range range) {
    switch (range) {
      case Range::kUsual: return float_to_half(0.001f + 0.01f * static_cast<float>(below(1000)) / 1000.0f);
      case Range::kTiny: return static_cast<uint16_t>(1 + below(0x500));
      case Range::kHuge: return static_cast<uint16_t>(0x7800 + below(0x3FF));
    }
    return 0;
  }
  float value(Range range) {
    const float unit = static_cast<float>(static_cast<int64_t>(engine_() >> 40) - (1 << 23)) * 0x1p-23f;
    return range == Range::kUsual ? unit : range == Range::kTiny ? unit * 0x1p-60f : unit * 0x1p+30f;
  }

 private:
  std::mt19937_64 engine_;
};

inline size_t payload_bytes(DType dtype, size_t rows, size_t columns) {
  const size_t n = rows * columns, groups = (n + 31) / 32;
  switch (dtype) {
    case DType::kF32: return 4 * n;
    case DType::kF16:
    case DType::kBF16: return 2 * n;
    case DType::kQ8Row: return n + 2 * rows;
    case DType::kQ82F: return n + 2 * rows + 2 * columns;
    case DType::kQ4Tiled:
    case DType::kQ4Block: return 18 * groups;
    default: return 0;
  }
}

/// Types whose products are made from coded rows.
inline bool is_coded(DType dtype) {
  return dtype == DType::kVbit || dtype == DType::kVbitRo || dtype == DType::kQ1 || dtype == DType::kQ1T ||
         dtype == DType::kQ4TP || dtype == DType::kQ2TP;
}

/// Random weights as the codec encodes them; rows of vbit have all widths.
inline OwnedMatrix encoded_matrix(uint64_t seed, DType dtype, size_t rows, size_t columns, Range range) {
  const float size = range == Range::kUsual ? 1.0f : range == Range::kTiny ? 0x1p-12f : 10000.0f;
  const std::array<uint64_t, 2> shape = {rows, columns};
  std::vector<uint8_t> widths(rows);
  for (size_t row = 0; row < rows; ++row) widths[row] = std::array<uint8_t, 5>{8, 3, 5, 4, 6}[row % 5];
  const quant::EncodeOptions options = {.row_widths = widths};
  const quant::Codec& codec = *quant::find_codec(dtype);
  const size_t bytes = *quant::encoded_bytes(codec, shape, options);
  OwnedMatrix result{std::make_unique<std::byte[]>(bytes), {}};
  const MutableBytes payload(result.payload.get(), bytes);
  const Status status = codec.encode(random_floats(seed, rows * columns, size), shape, options, payload);
  EXPECT_TRUE(status) << status.error().message;
  result.matrix = {dtype, rows, columns, payload};
  result.matrix.coded = find_coded_rows(result.matrix);
  EXPECT_TRUE(result.matrix.coded);
  return result;
}

/// Every bit of the codes is random, so -128 is among them; but see encoded_matrix().
inline OwnedMatrix random_matrix(uint64_t seed, DType dtype, size_t rows, size_t columns,
                                 Range range = Range::kUsual) {
  if (is_coded(dtype)) return encoded_matrix(seed, dtype, rows, columns, range);
  Random random(seed);
  const size_t bytes = payload_bytes(dtype, rows, columns), n = rows * columns, groups = (n + 31) / 32;
  OwnedMatrix result{std::make_unique<std::byte[]>(bytes), {}};
  std::byte* const p = result.payload.get();
  result.matrix = {dtype, rows, columns, Bytes(p, bytes)};
  for (size_t i = 0; i < bytes; ++i) p[i] = static_cast<std::byte>(random.next() >> 56);
  const auto scales = [&](size_t from, size_t count, size_t step) {
    for (size_t i = 0; i < count; ++i) store_little_endian(p + from + i * step, random.scale(range));
  };
  const Range value_range = range == Range::kHuge ? Range::kHuge : range;
  switch (dtype) {
    case DType::kF32:
      for (size_t i = 0; i < n; ++i)
        store_little_endian(p + 4 * i, std::bit_cast<uint32_t>(random.value(value_range)));
      break;
    case DType::kF16:
      for (size_t i = 0; i < n; ++i)
        store_little_endian(p + 2 * i,
                            float_to_half(random.value(Range::kUsual) * (range == Range::kHuge ? 60000 : 1) *
                                          (range == Range::kTiny ? 0x1p-16f : 1)));
      break;
    case DType::kBF16:
      for (size_t i = 0; i < n; ++i)
        store_little_endian(p + 2 * i, float_to_bfloat16(random.value(value_range)));
      break;
    case DType::kQ8Row: scales(n, rows, 2); break;
    case DType::kQ82F: scales(n, rows + columns, 2); break;
    case DType::kQ4Tiled: scales(0, groups, 18); break;
    case DType::kQ4Block: scales(16 * groups, groups, 2); break;
    default: break;
  }
  return result;
}

/// The value of one weight, from the text of the specification and by other code than the kernels' (of types
/// with coded rows, by the codec).
inline double weight_at(const Matrix& m, size_t row, size_t column) {
  const std::byte* p = m.payload.data();
  const size_t n = m.rows * m.columns, flat = row * m.columns + column;
  const auto u16 = [&](size_t at) {
    return static_cast<uint16_t>(std::to_integer<unsigned>(p[at]) | std::to_integer<unsigned>(p[at + 1])
                                                                        << 8);
  };
  const auto half = [&](size_t at) { return static_cast<double>(half_to_float(u16(at))); };
  const auto nibble = [&](size_t at) {
    return static_cast<int>(std::to_integer<unsigned>(p[at]) >> (flat % 2 * 4) & 15u) - 8;
  };
  switch (m.dtype) {
    case DType::kF32:
      return std::bit_cast<float>(uint32_t{u16(4 * flat)} | uint32_t{u16(4 * flat + 2)} << 16);
    case DType::kF16: return half(2 * flat);
    case DType::kBF16: return bfloat16_to_float(u16(2 * flat));
    case DType::kQ8Row: return static_cast<int8_t>(p[flat]) * half(n + 2 * row);
    case DType::kQ82F:
      return static_cast<int8_t>(p[flat]) * half(n + 2 * row) * half(n + 2 * m.rows + 2 * column);
    case DType::kQ4Tiled: return nibble(flat / 32 * 18 + 2 + flat % 32 / 2) * half(flat / 32 * 18);
    case DType::kQ4Block: return nibble(flat / 2) * half((n + 31) / 32 * 16 + flat / 32 * 2);
    default: break;
  }
  float value = 0;
  const std::array<uint64_t, 2> shape = {m.rows, m.columns};
  quant::find_codec(m.dtype)->decode(m.payload, shape, flat, std::span(&value, 1));
  return value;
}

/// Equal bits; any NaN equals any NaN.
inline ::testing::AssertionResult same_bits(const std::vector<float>& got, const std::vector<float>& wanted) {
  if (got.size() != wanted.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(got[i]) && std::isnan(wanted[i])) continue;
    if (std::bit_cast<uint32_t>(got[i]) != std::bit_cast<uint32_t>(wanted[i]))
      return ::testing::AssertionFailure() << "at " << i << ": " << got[i] << ", wanted " << wanted[i];
  }
  return ::testing::AssertionSuccess();
}

/// The variants other than the scalar that this processor runs; says aloud which cannot be tested.
inline std::vector<const Variant*> other_variants() {
  std::vector<const Variant*> result;
  for (const Variant* variant : variants()) {
    if (name_of(*variant) == "scalar") continue;
    if (runs_here(*variant))
      result.push_back(variant);
    else
      std::cerr << "NOT RUN: variant " << name_of(*variant) << " cannot run on this processor\n";
  }
  return result;
}

inline const Variant& scalar() { return *find_variant("scalar"); }

inline constexpr DType kDTypes[] = {
    DType::kF32,  DType::kF16,    DType::kBF16, DType::kQ8Row, DType::kQ82F, DType::kQ4Tiled, DType::kQ4Block,
    DType::kVbit, DType::kVbitRo, DType::kQ1,   DType::kQ1T,   DType::kQ4TP, DType::kQ2TP};

/// Whether a matrix of this type may have so many columns.
inline bool can_have(DType dtype, size_t columns) {
  return (dtype != DType::kQ4Tiled && !is_coded(dtype)) || columns % 32 == 0;
}

inline std::vector<float> product(const Executor& executor, const Matrix& matrix, const std::vector<float>& x,
                                  size_t tokens) {
  std::vector<float> out(tokens * matrix.rows, -1.0f);
  Activations activations;
  activations.assign(executor, x.data(), tokens, matrix.columns);
  const Product products[] = {{&matrix, out.data(), matrix.rows}};
  matmul(executor, products, activations);
  return out;
}

}  // namespace amphora::kernels::testing
