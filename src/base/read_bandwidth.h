// How fast memory can be read: the roof over everything that streams weights.
#pragma once

#include <cstddef>

#include "base/huge_pages.h"
#include "base/thread_pool.h"

namespace amphora {

/// A buffer far larger than any cache, in huge pages where there are any.
class ReadBandwidth {
 public:
  ReadBandwidth();
  /// Whether there was memory for the buffer; measure() gives 0 without.
  bool ready() const { return buffer_ != nullptr; }
  /// Sums the buffer once, every thread in four far-apart streams, and gives bytes per second. (One stream
  /// does not keep enough requests to memory in flight.)
  double measure(ThreadPool& pool) const;

 private:
  static constexpr size_t kBytes = size_t{256} << 20;
  HugeBuffer buffer_;
};

}  // namespace amphora
