// madvise over whole pages.
#include "base/page_advice.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace amphora {

void release_pages(Bytes mapped) {
  if (mapped.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<uintptr_t>(mapped.data());
  const uintptr_t first = start / page * page;
  // Advice only: if the system declines it, memory stays resident and nothing else changes.
  (void)::madvise(reinterpret_cast<void*>(first), start + mapped.size() - first, MADV_DONTNEED);
}

}  // namespace amphora
