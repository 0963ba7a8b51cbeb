// The table of element types.
#include "quant/codec.h"

#include <algorithm>
#include <array>

#include "base/checked.h"
#include "quant/dtypes.h"

namespace amphora::quant {
namespace {

const std::array<Codec, 15>& table() {
  // Built at the first use: the codecs are constants of other files, whose initialisation has no order.
  static const std::array<Codec, 15> codecs = {
      kF32Codec,    kF16Codec,     kBF16Codec, kQ8RowCodec, kQ4BlockCodec, kU8Codec,   kVbitCodec, kQ82FCodec,
      kVbitRoCodec, kQ4TiledCodec, kQ1Codec,   kQ1SCodec,   kQ1TCodec,     kQ4TPCodec, kQ2TPCodec,
  };
  return codecs;
}

}  // namespace

std::optional<uint64_t> element_count(Shape shape) {
  return std::ranges::find(shape, uint64_t{0}) != shape.end() ? 0 : checked_product(shape);
}

std::optional<uint64_t> encoded_bytes(const Codec& codec, Shape shape, const EncodeOptions& options) {
  if (codec.payload_bytes) return codec.payload_bytes(shape);
  return codec.encoded_bytes ? codec.encoded_bytes(shape, options) : std::nullopt;
}

std::span<const Codec> codecs() { return table(); }

const Codec* find_codec(uint8_t id) {
  const auto found = std::ranges::find(table(), static_cast<DType>(id), &Codec::dtype);
  return found == table().end() ? nullptr : &*found;
}

const Codec* find_codec(std::string_view name) {
  const auto found = std::ranges::find_if(table(), [&](const Codec& codec) {
    return codec.name == name || (!name.empty() && codec.cli_name == name);
  });
  return found == table().end() ? nullptr : &*found;
}

std::string_view name_of(DType dtype) {
  const Codec* codec = find_codec(dtype);
  return codec ? codec->name : "unknown";
}

}  // namespace amphora::quant
