// How much memory this process may still take.
#pragma once

#include <cstdint>
#include <optional>

namespace amphora {

/// Bytes that can be taken without swapping: what the system calls available (Linux: MemAvailable), further
/// limited by the memory limit of the cgroup. Empty if the system does not tell.
std::optional<uint64_t> available_memory();

}  // namespace amphora
