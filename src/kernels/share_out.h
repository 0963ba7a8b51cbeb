// How rows and elements are shared out over the threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include "kernels/kernels.h"

namespace amphora::kernels {

/// Calls function(first, last) over [0, count) in chunks of about 16384 elements, on the calling thread alone
/// if there is little to do: below 32768 elements sharing costs more than it saves.
template <class F>
void share_out(const Executor& executor, size_t count, size_t elements_each, const F& function) {
  constexpr size_t kWorthSharing = 32768;
  constexpr size_t kElementsPerChunk = 16384;  // a multiple of the lanes
  if (count * elements_each < kWorthSharing || executor.pool->threads() == 1)
    return function(size_t{0}, count);
  const size_t step = std::max<size_t>(1, kElementsPerChunk / elements_each);
  executor.pool->run((count + step - 1) / step,
                     [&](size_t chunk) { function(chunk * step, std::min(count, (chunk + 1) * step)); });
}

}  // namespace amphora::kernels
