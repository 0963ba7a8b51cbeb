// Available memory: see memory.h.
#include "base/memory.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace amphora {
namespace {

std::optional<uint64_t> number_in(const char* path) {
  std::ifstream file(path);
  uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;  // "max" too
}

std::optional<uint64_t> available_on_this_machine() {
  std::ifstream file("/proc/meminfo");
  std::string name, unit;
  for (uint64_t kilobytes = 0; file >> name >> kilobytes && std::getline(file, unit);)
    if (name == "MemAvailable:") return kilobytes * 1024;
  return std::nullopt;
}

/// A limit less what is used of it; the files of cgroup v2, then those of v1.
std::optional<uint64_t> available_in_cgroup() {
  constexpr const char* kFiles[][2] = {
      {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
      {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
  for (const auto& [limit_file, used_file] : kFiles) {
    const auto limit = number_in(limit_file), used = number_in(used_file);
    if (limit && used) return *limit > *used ? *limit - *used : 0;
  }
  return std::nullopt;
}

}  // namespace

std::optional<uint64_t> available_memory() {
  const auto machine = available_on_this_machine();
  const auto cgroup = available_in_cgroup();
  if (machine && cgroup) return std::min(*machine, *cgroup);
  return machine ? machine : cgroup;
}

}  // namespace amphora
