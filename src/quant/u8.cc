// u8: configuration bytes of pipeline containers, not weights.
#include "base/byte_writer.h"
#include "quant/dtypes.h"
#include "quant/layout.h"

namespace amphora::quant {
namespace {

Status check_place(std::string_view tensor_name, Shape shape) {
  if (shape.size() == 1 && tensor_name.ends_with(".config_json")) return {};
  return fail_at(Fault::kCorrupt, "Parse", {}, std::nullopt, "u8 is for 1-D tensors named *.config_json");
}

std::optional<uint64_t> payload_bytes(Shape shape) { return bytes_of_elements(shape, 1); }

void decode(Bytes payload, Shape, uint64_t first, std::span<float> out) {
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(std::to_integer<uint8_t>(payload[first + i]));
}

Status encode(std::span<const float> values, Shape, const EncodeOptions&, MutableBytes out) {
  AMPHORA_TRY(check_finite(values));
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < 0 || values[i] > 255 || values[i] != clamp_and_round(values[i], 0, 255))
      return fail(Fault::kRefused, "the value at flat index " + std::to_string(i) + " is no byte");
    out[i] = static_cast<std::byte>(values[i]);
  }
  return {};
}

}  // namespace

const Codec kU8Codec{.dtype = DType::kU8,
                     .name = "u8",
                     .check_place = check_place,
                     .payload_bytes = payload_bytes,
                     .decode = decode,
                     .encode = encode};

}  // namespace amphora::quant
