// The values of a package's tensors, read piece by piece and refused where they are not finite.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"
#include "base/page_advice.h"

namespace amphora::package {

/// Elements that are read between two releases of the source's pages.
inline constexpr uint64_t kPieceElements = uint64_t{1} << 20;

/// The error with the tensor's name as its place and at the start of its message.
std::unexpected<Error> in_tensor(const PackageTensor& tensor, Error error);

/// kRefused, naming the flat index, unless every value is finite. `first` is the index of the first value.
Status check_finite(const PackageTensor& tensor, std::span<const float> values, uint64_t first);

/// Calls use(first, values) for a whole tensor, `piece` elements at a time, each checked to be finite. The
/// values lie in `room`, which holds all of them, or in a buffer of one piece if it is empty.
template <class Use>
Status read_pieces(const PackageTensor& tensor, std::span<float> room, uint64_t piece, const Use& use) {
  std::vector<float> buffer(room.empty() ? std::min(piece, tensor.elements()) : 0);
  for (uint64_t first = 0; first < tensor.elements(); first += piece) {
    const uint64_t count = std::min(piece, tensor.elements() - first);
    const std::span<float> values =
        room.empty() ? std::span(buffer).first(count) : room.subspan(first, count);
    if (Status read = tensor.read(first, values); !read) return in_tensor(tensor, read.error());
    release_pages(tensor.mapped);
    AMPHORA_TRY(check_finite(tensor, values, first));
    use(first, std::span<const float>(values));
  }
  return {};
}

}  // namespace amphora::package
