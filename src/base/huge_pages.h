// Memory for large tables that are read at random places.
#pragma once

#include <cstddef>
#include <memory>
#include <new>

namespace amphora {

/// Bytes in huge pages where the system has them and `bytes` is large enough to fill some: one page fault and
/// one TLB entry for 2 MiB. Null if there is no memory. release_huge() takes it back.
void* allocate_huge(size_t bytes) noexcept;
void release_huge(void* memory) noexcept;

struct HugeDeleter {
  void operator()(void* memory) const noexcept { release_huge(memory); }
};
using HugeBuffer = std::unique_ptr<char[], HugeDeleter>;

/// allocate_huge() for standard containers.
template <class T>
struct HugePageAllocator {
  using value_type = T;
  HugePageAllocator() = default;
  template <class U>
  HugePageAllocator(const HugePageAllocator<U>&) noexcept {}

  T* allocate(size_t count) {
    void* memory = allocate_huge(count * sizeof(T));  // containers have compared the count with max_size()
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t) noexcept { release_huge(memory); }
  friend bool operator==(HugePageAllocator, HugePageAllocator) { return true; }
};

}  // namespace amphora
