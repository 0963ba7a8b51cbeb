// Keys and values of every layer for one sequence. Address space is reserved for the full context at once;
// memory is taken page by page as positions fill.
#pragma once

#include <cstdint>
#include <vector>

#include "amphora/result.h"
#include "kernels/kernels.h"
#include "model/plan.h"

namespace amphora::model {

class KvCache {
 public:
  /// kUsage if the system does not give that much address space.
  static Result<KvCache> create(const Plan& plan, kernels::KvType type, uint64_t capacity);
  KvCache(KvCache&& other) noexcept;
  KvCache& operator=(KvCache&&) = delete;
  ~KvCache();

  const kernels::KvView& layer(size_t index) const { return layers_[index]; }
  uint64_t reserved_bytes() const { return reserved_bytes_; }
  /// Of all layers together.
  uint64_t bytes_per_position() const { return bytes_per_position_; }

 private:
  KvCache(std::byte* memory, uint64_t bytes) : memory_(memory), reserved_bytes_(bytes) {}

  std::byte* memory_;
  uint64_t reserved_bytes_;
  uint64_t bytes_per_position_ = 0;
  std::vector<kernels::KvView> layers_;
};

}  // namespace amphora::model
