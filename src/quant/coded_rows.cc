// Unpacking of rows to integers: see coded_rows.h.
#include "quant/coded_rows.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "quant/ladder.h"
#include "quant/nibbles.h"
#include "quant/q1_tiles.h"
#include "quant/vbit_codes.h"

namespace amphora::quant {
namespace {

constexpr uint64_t kCrumbBytes = 8;  // of a q2tp group
constexpr uint64_t kTernaryTileBytes = 9;
constexpr uint64_t kNibbleTileBytes = 2 + kNibbleBytes;

void read_halves(const std::byte* halves, uint64_t count, float* values) {
  for (uint64_t i = 0; i < count; ++i)
    values[i] = half_to_float(load_little_endian<uint16_t>(halves + 2 * i));
}

void read_nibbles(const std::byte* nibbles, uint64_t bytes, int8_t* codes) {
  for (uint64_t i = 0; i < bytes; ++i) {
    const auto byte = std::to_integer<uint8_t>(nibbles[i]);
    codes[2 * i] = static_cast<int8_t>((byte & 15) - 8);
    codes[2 * i + 1] = static_cast<int8_t>((byte >> 4) - 8);
  }
}

// (c - 1.5) · s is (2c - 3) · s/2.
void read_crumbs(const std::byte* crumbs, uint64_t bytes, int8_t* codes) {
  for (uint64_t i = 0; i < bytes; ++i) {
    const auto byte = std::to_integer<uint8_t>(crumbs[i]);
    for (uint64_t k = 0; k < 4; ++k) codes[4 * i + k] = static_cast<int8_t>((byte >> 2 * k & 3) * 2 - 3);
  }
}

/// The codes of every byte value, as eight bytes to copy at once.
using ByteCodes = std::array<std::array<int8_t, 8>, 256>;

constexpr ByteCodes make_signs() {
  ByteCodes table{};
  for (uint32_t byte = 0; byte < 256; ++byte)
    for (uint32_t bit = 0; bit < 8; ++bit) table[byte][bit] = (byte >> bit & 1) != 0 ? 1 : -1;
  return table;
}
constexpr ByteCodes kSigns = make_signs();

/// Five base-3 digits, the first least significant: 0, 1, and 2 for -1.
constexpr ByteCodes make_trits() {
  ByteCodes table{};
  for (uint32_t byte = 0; byte < 256; ++byte)
    for (uint32_t i = 0, rest = byte; i < 5; ++i, rest /= 3)
      table[byte][i] = static_cast<int8_t>(rest % 3 == 2 ? -1 : static_cast<int>(rest % 3));
  return table;
}
constexpr ByteCodes kTrits = make_trits();

const std::array<int8_t, 8>& codes_of(const ByteCodes& table, std::byte byte) {
  return table[std::to_integer<uint8_t>(byte)];
}

void read_sign_tiles(const std::byte* tiles, uint64_t groups, int8_t* codes, float* scales) {
  for (uint64_t group = 0; group < groups; ++group, tiles += kQ1TileBytes) {
    scales[group] = half_to_float(load_little_endian<uint16_t>(tiles));
    for (uint64_t i = 0; i < 4; ++i)
      std::memcpy(codes + group * kGroup + 8 * i, codes_of(kSigns, tiles[2 + i]).data(), 8);
  }
}

void read_ternary_tiles(const std::byte* tiles, uint64_t groups, int8_t* codes, float* scales) {
  for (uint64_t group = 0; group < groups; ++group, tiles += kTernaryTileBytes) {
    scales[group] = half_to_float(load_little_endian<uint16_t>(tiles));
    int8_t* const to = codes + group * kGroup;
    // Eight are written where five are meant; the next five, and at the end the last two, come over the rest.
    for (uint64_t i = 0; i < 5; ++i) std::memcpy(to + 5 * i, codes_of(kTrits, tiles[2 + i]).data(), 8);
    std::memcpy(to + 25, codes_of(kTrits, tiles[7]).data(), 5);
    std::memcpy(to + 30, codes_of(kTrits, tiles[8]).data(), 2);
  }
}

/// Eight-bit codes reach 128, beyond an int8, so they are one less here: the row's offset.
template <unsigned kWidth>
constexpr int kVbitOffset = kWidth == 8 ? 1 : 0;

constexpr uint64_t kEveryByte = 0x0101010101010101;

/// Moves the upper half of every unit of `2 · kBits` bits, of which there is one in every `2 · kRoom`, up to
/// bit kRoom of the unit.
template <unsigned kBits, unsigned kRoom>
constexpr uint64_t spread_halves(uint64_t bits, uint64_t units) {
  constexpr uint64_t kHalf = (uint64_t{1} << kBits) - 1;
  return (bits & units * kHalf) | (bits & units * (kHalf << kBits)) << (kRoom - kBits);
}

/// Eight codes, the first in the highest of 8 · kWidth bits, one to a byte, the first in the highest.
template <unsigned kWidth>
constexpr uint64_t spread_octet(uint64_t bits) {
  bits = spread_halves<4 * kWidth, 32>(bits, 1);
  bits = spread_halves<2 * kWidth, 16>(bits, 0x0000000100000001);
  return spread_halves<kWidth, 8>(bits, 0x0001000100010001);
}
static_assert(spread_octet<3>(001234567) == 0x0001020304050607);
static_assert(spread_octet<6>(07766554433221100) == 0x3F362D241B120900);

/// The first bytes, none beyond them, as the low bytes of an integer. In registers: a copy through memory
/// would wait for its own stores.
template <unsigned kCount>
uint64_t load_bytes(const std::byte* from) {
  if constexpr (kCount == 8) return load_little_endian<uint64_t>(from);
  if constexpr (kCount > 4)
    return load_little_endian<uint32_t>(from) | load_bytes<kCount - 4>(from + 4) << 32;
  else if constexpr (kCount == 4)
    return load_little_endian<uint32_t>(from);
  else if constexpr (kCount > 1)
    return load_little_endian<uint16_t>(from) | load_bytes<kCount - 2>(from + 2) << 16;
  else if constexpr (kCount == 1)
    return std::to_integer<uint64_t>(*from);
  return 0;
}

template <unsigned kWidth>
void read_packed(const std::byte* packed, uint64_t octets, int8_t* codes) {
  constexpr uint64_t kTop = 0x80 * kEveryByte;
  constexpr auto kZero = static_cast<uint64_t>(vbit_zero_code(kWidth));
  for (uint64_t octet = 0; octet < octets; ++octet, packed += kWidth) {
    uint64_t bits = std::byteswap(load_bytes<kWidth>(packed)) >> (64 - 8 * kWidth);
    if constexpr (kWidth == 8)
      bits ^= kTop;  // less 128: the zero and the offset
    else
      bits = ((spread_octet<kWidth>(bits) | kTop) - kZero * kEveryByte) ^ kTop;  // bytes borrow nothing
    if constexpr (std::endian::native == std::endian::little) bits = std::byteswap(bits);
    std::memcpy(codes + 8 * octet, &bits, sizeof bits);  // the first code is in the highest byte
  }
}

bool has_overlay(Bytes payload, uint64_t rows, uint64_t groups) {
  return payload.size() != rows * groups * kTernaryTileBytes + 4 * (rows + 1);
}

}  // namespace

std::unique_ptr<const CodedRows> CodedRows::create(DType dtype, Bytes payload, Shape shape) {
  if (shape.size() != 2 || shape[1] % kGroup != 0) return nullptr;
  const uint64_t groups = shape[1] / kGroup;
  std::unique_ptr<CodedRows> rows(new CodedRows(dtype, payload, shape[0], groups));
  switch (dtype) {
    case DType::kQ1:
    case DType::kQ4Tiled:
    case DType::kQ4Block: return rows;
    case DType::kQ1T:
      if (has_overlay(payload, shape[0], groups)) return nullptr;
      return rows;
    case DType::kQ4TP: rows->read_ladders(kNibbleBytes); return rows;
    case DType::kQ2TP: rows->read_ladders(kCrumbBytes); return rows;
    case DType::kVbit:
    case DType::kVbitRo: rows->find_packed_rows(); return rows;
    default: return nullptr;
  }
}

void CodedRows::find_packed_rows() {
  uint64_t offset = rows_ + 2 * rows_ * groups_ + (dtype_ == DType::kVbitRo ? 4 * (rows_ + 1) : 0);
  packed_rows_.reserve(rows_);
  for (uint64_t row = 0; row < rows_; ++row) {
    packed_rows_.push_back(offset);
    offset += packed_bytes(groups_ * kGroup, std::to_integer<uint64_t>(payload_[row]));
  }
}

void CodedRows::read_ladders(uint64_t bytes_of_group) {
  const std::array<uint64_t, 2> shape = {rows_, groups_ * kGroup};
  const LadderLayout layout(shape, bytes_of_group);
  scales_.reserve(rows_ * groups_);
  for (uint64_t row = 0; row < rows_; ++row) {
    const auto rungs = ladder_of_row(payload_, layout, row);
    const std::byte* const codes = payload_.data() + layout.codes_offset(row);
    for (uint64_t group = 0; group < groups_; ++group) {
      const uint32_t code = rung_code(codes, group);
      if (dtype_ == DType::kQ4TP)
        scales_.push_back(rungs[code]);
      else
        scales_.push_back(code == 0 ? 0.0f : rungs[code - 1] / 2);
    }
  }
}

int32_t CodedRows::read_vbit(uint64_t row, int8_t* codes, float* scales) const {
  read_halves(payload_.data() + rows_ + 2 * row * groups_, groups_, scales);
  return with_vbit_width(std::to_integer<uint8_t>(payload_[row]), [&]<unsigned kWidth>() {
    read_packed<kWidth>(payload_.data() + packed_rows_[row], groups_ * kGroup / 8, codes);
    return int32_t{kVbitOffset<kWidth>};
  });
}

int32_t CodedRows::read(uint64_t row, int8_t* codes, float* scales) const {
  const std::byte* const payload = payload_.data();
  switch (dtype_) {
    case DType::kQ1:
      read_sign_tiles(payload + row * groups_ * kQ1TileBytes, groups_, codes, scales);
      return 0;
    case DType::kQ1T:
      read_ternary_tiles(payload + row * groups_ * kTernaryTileBytes, groups_, codes, scales);
      return 0;
    case DType::kQ4Tiled:
      for (uint64_t group = 0; group < groups_; ++group) {
        const std::byte* const tile = payload + (row * groups_ + group) * kNibbleTileBytes;
        scales[group] = half_to_float(load_little_endian<uint16_t>(tile));
        read_nibbles(tile + 2, kNibbleBytes, codes + group * kGroup);
      }
      return 0;
    case DType::kQ4Block:
      read_halves(payload + rows_ * groups_ * kNibbleBytes + 2 * row * groups_, groups_, scales);
      read_nibbles(payload + row * groups_ * kNibbleBytes, groups_ * kNibbleBytes, codes);
      return 0;
    case DType::kVbit:
    case DType::kVbitRo: return read_vbit(row, codes, scales);
    default: break;
  }
  if (dtype_ == DType::kQ4TP)
    read_nibbles(payload + row * groups_ * kNibbleBytes, groups_ * kNibbleBytes, codes);
  else
    read_crumbs(payload + row * groups_ * kCrumbBytes, groups_ * kCrumbBytes, codes);
  std::copy_n(scales_.begin() + static_cast<ptrdiff_t>(row * groups_), groups_, scales);
  return 0;
}

}  // namespace amphora::quant
