// The table of safetensors element types and their decoders.
#include "formats/safetensors/element_type.h"

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "base/byte_reader.h"
#include "base/checked.h"
#include "base/half.h"

namespace amphora::safetensors {
namespace {

float f16_value(uint16_t bits) { return half_to_float(bits); }
float bf16_value(uint16_t bits) { return bfloat16_to_float(bits); }
float f32_value(uint32_t bits) { return std::bit_cast<float>(bits); }
float f64_value(uint64_t bits) { return static_cast<float>(std::bit_cast<double>(bits)); }

/// E5M2 is binary16 cut to its upper byte.
float f8_e5m2_value(uint8_t bits) { return half_to_float(static_cast<uint16_t>(bits << 8)); }

/// E4M3 ("fn"): bias 7, no infinities, NaN only where all seven bits are set.
float f8_e4m3_value(uint8_t bits) {
  const int exponent = (bits >> 3) & 0xF;
  const int mantissa = bits & 7;
  if (exponent == 15 && mantissa == 7) return std::numeric_limits<float>::quiet_NaN();
  const float magnitude = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                        : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
  return (bits & 0x80) != 0 ? -magnitude : magnitude;
}

template <class Signed, class Unsigned>
float signed_value(Unsigned bits) {
  return static_cast<float>(std::bit_cast<Signed>(bits));
}

template <class Unsigned>
float unsigned_value(Unsigned bits) {
  return static_cast<float>(bits);
}

template <class Unsigned, float (*value)(Unsigned)>
void decode_each(const std::byte* bytes, std::span<float> out) {
  for (float& element : out) {
    element = value(load_little_endian<Unsigned>(bytes));
    bytes += sizeof(Unsigned);
  }
}

constexpr std::array kTypes = {
    ElementInfo{ElementType::kBool, "BOOL", 8, decode_each<uint8_t, unsigned_value<uint8_t>>},
    ElementInfo{ElementType::kF4, "F4", 4, nullptr},
    ElementInfo{ElementType::kF6E2M3, "F6_E2M3", 6, nullptr},
    ElementInfo{ElementType::kF6E3M2, "F6_E3M2", 6, nullptr},
    ElementInfo{ElementType::kU8, "U8", 8, decode_each<uint8_t, unsigned_value<uint8_t>>},
    ElementInfo{ElementType::kI8, "I8", 8, decode_each<uint8_t, signed_value<int8_t, uint8_t>>},
    ElementInfo{ElementType::kF8E5M2, "F8_E5M2", 8, decode_each<uint8_t, f8_e5m2_value>},
    ElementInfo{ElementType::kF8E4M3, "F8_E4M3", 8, decode_each<uint8_t, f8_e4m3_value>},
    ElementInfo{ElementType::kF8E8M0, "F8_E8M0", 8, nullptr},
    ElementInfo{ElementType::kF8E4M3Fnuz, "F8_E4M3FNUZ", 8, nullptr},
    ElementInfo{ElementType::kF8E5M2Fnuz, "F8_E5M2FNUZ", 8, nullptr},
    ElementInfo{ElementType::kI16, "I16", 16, decode_each<uint16_t, signed_value<int16_t, uint16_t>>},
    ElementInfo{ElementType::kU16, "U16", 16, decode_each<uint16_t, unsigned_value<uint16_t>>},
    ElementInfo{ElementType::kF16, "F16", 16, decode_each<uint16_t, f16_value>},
    ElementInfo{ElementType::kBF16, "BF16", 16, decode_each<uint16_t, bf16_value>},
    ElementInfo{ElementType::kI32, "I32", 32, decode_each<uint32_t, signed_value<int32_t, uint32_t>>},
    ElementInfo{ElementType::kU32, "U32", 32, decode_each<uint32_t, unsigned_value<uint32_t>>},
    ElementInfo{ElementType::kF32, "F32", 32, decode_each<uint32_t, f32_value>},
    ElementInfo{ElementType::kC64, "C64", 64, nullptr},
    ElementInfo{ElementType::kF64, "F64", 64, decode_each<uint64_t, f64_value>},
    ElementInfo{ElementType::kI64, "I64", 64, decode_each<uint64_t, signed_value<int64_t, uint64_t>>},
    ElementInfo{ElementType::kU64, "U64", 64, decode_each<uint64_t, unsigned_value<uint64_t>>},
};

consteval bool table_is_in_enum_order() {
  for (size_t i = 0; i < kTypes.size(); ++i)
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  return true;
}
static_assert(table_is_in_enum_order());

}  // namespace

std::span<const ElementInfo> element_types() { return kTypes; }

const ElementInfo& info(ElementType type) { return kTypes[static_cast<size_t>(type)]; }

const ElementInfo* find_element_type(std::string_view name) {
  for (const ElementInfo& entry : kTypes)
    if (entry.name == name) return &entry;
  return nullptr;
}

Status decode_elements(ElementType type, Bytes data, uint64_t first, std::span<float> out) {
  const ElementInfo& entry = info(type);
  if (entry.decode == nullptr)
    return fail(Fault::kUnsupported,
                "elements of type " + std::string(entry.name) + " cannot be turned into numbers here");
  const uint64_t element_bytes = entry.bits / 8;
  if (!lies_within(first, out.size(), data.size() / element_bytes))
    return fail(Fault::kUsage, "elements beyond the tensor's end were asked for");
  entry.decode(data.data() + first * element_bytes, out);
  return {};
}

}  // namespace amphora::safetensors
