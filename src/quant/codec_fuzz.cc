// Any bytes as the payload of a small matrix: what passes the tables decodes within its bytes, what passes
// the payload rules decodes to the same weights in whatever ranges it is read.
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <vector>

#include "quant/codec.h"

namespace {

using amphora::Bytes;
using amphora::quant::Codec;

constexpr size_t kPrefixBytes = 5;  // codec, rows, groups of 32 columns, two ends of a range

std::vector<float> decode_range(const Codec& codec, Bytes payload, amphora::quant::Shape shape,
                                uint64_t first, uint64_t count) {
  std::vector<float> values(count);
  codec.decode(payload, shape, first, values);
  return values;
}

void check_range(const Codec& codec, Bytes payload, amphora::quant::Shape shape, uint64_t a, uint64_t b) {
  const uint64_t elements = shape[0] * shape[1];
  const std::vector<float> whole = decode_range(codec, payload, shape, 0, elements);
  const uint64_t first = elements * a / 256;
  const uint64_t count = (elements - first) * b / 255;
  const std::vector<float> part = decode_range(codec, payload, shape, first, count);
  if (!codec.check_payload || !codec.check_payload(payload, shape)) return;
  for (uint64_t i = 0; i < count; ++i)
    if (std::bit_cast<uint32_t>(part[i]) != std::bit_cast<uint32_t>(whole[first + i])) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kPrefixBytes) return 0;
  const std::span<const Codec> codecs = amphora::quant::codecs();
  const Codec& codec = codecs[data[0] % codecs.size()];
  const uint64_t shape[] = {data[1] % 9u, 32 * (data[2] % 5u)};
  // A copy of its own, so that reading past its end is seen.
  const auto* begin = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> payload(begin + kPrefixBytes, begin + size);
  if (!codec.can_decode() || !codec.check_place("w", shape)) return 0;
  if (codec.payload_bytes ? codec.payload_bytes(shape) != payload.size()
                          : !codec.check_tables(payload, shape))
    return 0;
  check_range(codec, payload, shape, data[3], data[4]);
  return 0;
}
