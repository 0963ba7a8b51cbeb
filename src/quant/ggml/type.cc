// The table of ggml types, and decoding of ranges that need not start at a block.
#include "quant/ggml/type.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/checked.h"
#include "quant/ggml/blocks.h"

namespace amphora::quant::ggml {
namespace {

// Ids, names and sizes as in ggml.h. Types without a decoder are here so that a file that holds one can be
// listed. Q8_1 (9) is missing on purpose: it exists only inside dot products, and its size has changed.
constexpr std::array kTypes = {
    Type{0, "F32", 1, 4, decode_f32},
    Type{1, "F16", 1, 2, decode_f16},
    Type{2, "Q4_0", 32, 18, decode_q4_0},
    Type{3, "Q4_1", 32, 20, decode_q4_1},
    Type{6, "Q5_0", 32, 22, decode_q5_0},
    Type{7, "Q5_1", 32, 24, decode_q5_1},
    Type{8, "Q8_0", 32, 34, decode_q8_0},
    Type{10, "Q2_K", 256, 84, decode_q2_k},
    Type{11, "Q3_K", 256, 110, decode_q3_k},
    Type{12, "Q4_K", 256, 144, decode_q4_k},
    Type{13, "Q5_K", 256, 176, decode_q5_k},
    Type{14, "Q6_K", 256, 210, decode_q6_k},
    Type{15, "Q8_K", 256, 292, decode_q8_k},
    Type{16, "IQ2_XXS", 256, 66, nullptr},
    Type{17, "IQ2_XS", 256, 74, nullptr},
    Type{18, "IQ3_XXS", 256, 98, nullptr},
    Type{19, "IQ1_S", 256, 50, nullptr},
    Type{20, "IQ4_NL", 32, 18, decode_iq4_nl},
    Type{21, "IQ3_S", 256, 110, nullptr},
    Type{22, "IQ2_S", 256, 82, nullptr},
    Type{23, "IQ4_XS", 256, 136, decode_iq4_xs},
    Type{24, "I8", 1, 1, decode_i8},
    Type{25, "I16", 1, 2, decode_i16},
    Type{26, "I32", 1, 4, decode_i32},
    Type{27, "I64", 1, 8, nullptr},
    Type{28, "F64", 1, 8, decode_f64},
    Type{29, "IQ1_M", 256, 56, nullptr},
    Type{30, "BF16", 1, 2, decode_bf16},
    Type{34, "TQ1_0", 256, 54, nullptr},
    Type{35, "TQ2_0", 256, 66, nullptr},
    Type{39, "MXFP4", 32, 17, nullptr},
};

}  // namespace

std::span<const Type> types() { return kTypes; }

const Type* find_type(uint32_t id) {
  const auto found = std::ranges::lower_bound(kTypes, id, {}, &Type::id);
  return found != kTypes.end() && found->id == id ? &*found : nullptr;
}

const Type* find_type(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &Type::name);
  return found != kTypes.end() ? &*found : nullptr;
}

Status decode_elements(const Type& type, Bytes data, uint64_t first, std::span<float> out) {
  if (!type.can_decode())
    return fail(Fault::kUnsupported, "ggml type " + std::string(type.name) + " cannot be decoded here");
  // cannot wrap: a byte holds at most a few elements, and no mapping comes near 2^60 bytes
  const uint64_t elements = data.size() / type.block_bytes * type.block_elements;
  if (!lies_within(first, out.size(), elements))
    return fail(Fault::kUsage, "elements beyond the tensor's end were asked for");

  const std::byte* block = data.data() + first / type.block_elements * type.block_bytes;
  const size_t skipped = first % type.block_elements;
  std::array<float, kMaxBlockElements> values;
  if (skipped != 0) {
    const size_t taken = std::min<size_t>(type.block_elements - skipped, out.size());
    type.decode(block, 1, values.data());
    std::copy_n(values.data() + skipped, taken, out.data());
    out = out.subspan(taken);
    block += type.block_bytes;
  }
  const size_t whole = out.size() / type.block_elements;
  type.decode(block, whole, out.data());
  out = out.subspan(whole * type.block_elements);
  if (!out.empty()) {
    type.decode(block + whole * type.block_bytes, 1, values.data());
    std::copy_n(values.data(), out.size(), out.data());
  }
  return {};
}

}  // namespace amphora::quant::ggml
