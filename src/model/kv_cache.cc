// Keys and values of one sequence: see kv_cache.h.
#include "model/kv_cache.h"

#include <sys/mman.h>

#include <string>
#include <utility>

#include "base/checked.h"

namespace amphora::model {

Result<KvCache> KvCache::create(const Plan& plan, kernels::KvType type, uint64_t capacity) {
  constexpr uint64_t kPage = 4096;
  const uint64_t position_bytes = plan.kv_heads * kernels::kv_bytes_per_position(type, plan.head_dim);
  const auto wanted = checked_mul(position_bytes, capacity);
  const auto part = wanted ? checked_align(*wanted, kPage) : std::nullopt;  // keys or values of a layer
  const auto total = part ? checked_mul(*part, 2 * plan.layers.size()) : std::nullopt;
  void* memory = MAP_FAILED;
  if (total)
    memory =
        ::mmap(nullptr, *total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return fail(Fault::kUsage, "a context of " + std::to_string(capacity) +
                                   " positions does not fit into memory: ask for a shorter one");
  // A huge page would be filled by the first position of each head.
  ::madvise(memory, *total, MADV_NOHUGEPAGE);

  KvCache cache(static_cast<std::byte*>(memory), *total);
  cache.bytes_per_position_ = 2 * position_bytes * plan.layers.size();
  cache.layers_.reserve(plan.layers.size());
  for (size_t layer = 0; layer < plan.layers.size(); ++layer) {
    kernels::KvView view;
    view.type = type;
    view.kv_heads = plan.kv_heads;
    view.head_dim = plan.head_dim;
    view.capacity = capacity;
    view.keys = cache.memory_ + 2 * layer * *part;
    view.values = view.keys + *part;
    cache.layers_.push_back(view);
  }
  return cache;
}

KvCache::KvCache(KvCache&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      reserved_bytes_(other.reserved_bytes_),
      bytes_per_position_(other.bytes_per_position_),
      layers_(std::move(other.layers_)) {}

KvCache::~KvCache() {
  if (memory_) ::munmap(memory_, reserved_bytes_);
}

}  // namespace amphora::model
