// Encoding by slices: see encode_tensor.h.
#include "package/encode_tensor.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <span>

#include "base/checked.h"
#include "base/page_advice.h"
#include "package/tensor_values.h"

namespace amphora::package {
namespace {

/// Values of a slice, about: few enough to stay in a cache between decoding and encoding.
constexpr uint64_t kSliceElements = uint64_t{1} << 18;

bool has_slices(const PlannedTensor& planned) {
  const PackageTensor& tensor = *planned.source;
  const quant::Codec& codec = *quant::find_codec(planned.dtype);
  return codec.row_parts != nullptr && tensor.shape.size() == 2 && tensor.elements() != 0 &&
         codec.row_parts(tensor.shape[1]).has_value();
}

uint64_t rows_of_slice(const PackageTensor& tensor) {
  return std::max<uint64_t>(1, kSliceElements / tensor.shape[1]);
}

quant::EncodeOptions options_of(const PlannedTensor& planned, quant::Encoder encoder) {
  return {.encoder = encoder, .importance = planned.importance, .row_widths = planned.row_widths};
}

/// Lets go of the source's pages that the elements [first, first + count) were read from.
void release_elements(const PackageTensor& tensor, uint64_t first, uint64_t count) {
  const double bytes = static_cast<double>(tensor.mapped.size()),
               all = static_cast<double>(tensor.elements());
  const auto from = static_cast<size_t>(bytes * static_cast<double>(first) / all);
  const auto to =
      std::min(tensor.mapped.size(), static_cast<size_t>(bytes * static_cast<double>(first + count) / all));
  if (from < to) release_pages(tensor.mapped.subspan(from, to - from));
}

}  // namespace

uint64_t count_slices(const PlannedTensor& planned) {
  if (!has_slices(planned)) return 1;
  const uint64_t rows = planned.source->shape[0], step = rows_of_slice(*planned.source);
  return divide_rounding_up(rows, step);
}

Status encode_slice(const PlannedTensor& planned, quant::Encoder encoder, uint64_t slice,
                    MutableBytes payload) {
  if (count_slices(planned) == 1) return encode_whole(planned, encoder, payload);
  const PackageTensor& tensor = *planned.source;
  const quant::Codec& codec = *quant::find_codec(planned.dtype);
  const uint64_t columns = tensor.shape[1], step = rows_of_slice(tensor), first = slice * step;
  const uint64_t rows = std::min(step, tensor.shape[0] - first);
  const auto room = std::make_unique_for_overwrite<float[]>(rows * columns);
  const std::span<float> values(room.get(), rows * columns);
  if (Status read = tensor.read(first * columns, values); !read) return in_tensor(tensor, read.error());
  release_elements(tensor, first * columns, values.size());
  AMPHORA_TRY(check_finite(tensor, values, first * columns));

  const std::array<uint64_t, 2> shape = {rows, columns};
  const auto parts = *codec.row_parts(columns);
  uint64_t row_bytes = 0;
  for (const uint64_t part : parts) row_bytes += part;
  const auto encoded = std::make_unique_for_overwrite<std::byte[]>(rows * row_bytes);
  if (Status done = codec.encode(values, shape, options_of(planned, encoder),
                                 MutableBytes(encoded.get(), rows * row_bytes));
      !done)
    return in_tensor(tensor, done.error());
  const std::byte* from = encoded.get();
  std::byte* part_of_tensor = payload.data();
  for (const uint64_t part : parts) {
    if (part == 0) continue;
    std::memcpy(part_of_tensor + first * part, from, rows * part);
    from += rows * part;
    part_of_tensor += tensor.shape[0] * part;
  }
  return {};
}

Status encode_whole(const PlannedTensor& planned, quant::Encoder encoder, MutableBytes payload) {
  const PackageTensor& tensor = *planned.source;
  const auto values = std::make_unique_for_overwrite<float[]>(tensor.elements());
  const std::span<float> room(values.get(), tensor.elements());
  AMPHORA_TRY(read_pieces(tensor, room, kPieceElements, [](uint64_t, std::span<const float>) {}));
  const quant::Codec& codec = *quant::find_codec(planned.dtype);
  if (Status encoded = codec.encode(room, tensor.shape, options_of(planned, encoder), payload); !encoded)
    return in_tensor(tensor, encoded.error());
  return {};
}

}  // namespace amphora::package
