// Memory for large tables that are read at random places.
#include "base/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

namespace amphora {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;  // x86-64, and Arm with 4 KiB pages

}  // namespace

void* allocate_huge(size_t bytes) noexcept {
  if (bytes < 2 * kHugePageBytes) return std::malloc(bytes);
  if (bytes > SIZE_MAX - kHugePageBytes) return nullptr;
  const size_t whole = (bytes + kHugePageBytes - 1) / kHugePageBytes * kHugePageBytes;
  void* memory = std::aligned_alloc(kHugePageBytes, whole);
  // Advice only: without huge pages everything works, a little slower.
  if (memory != nullptr) (void)::madvise(memory, whole, MADV_HUGEPAGE);
  return memory;
}

void release_huge(void* memory) noexcept { std::free(memory); }

}  // namespace amphora
