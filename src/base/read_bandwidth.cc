// Measured read bandwidth: see read_bandwidth.h.
#include "base/read_bandwidth.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/stopwatch.h"

namespace amphora {
namespace {

constexpr size_t kStreams = 4;

/// Explicit registers: compilers turn sums of an array into shuffles.
using Words [[gnu::vector_size(32)]] = uint64_t;

[[gnu::always_inline]] inline uint64_t sum_streams_with_any_registers(const std::byte* bytes, size_t count) {
  constexpr size_t kLine = 64;
  const size_t quarter = count / kStreams / kLine * kLine;
  Words sums[kStreams] = {};
  for (size_t at = 0; at < quarter; at += kLine) {
    for (size_t stream = 0; stream < kStreams; ++stream) {
      Words low, high;
      std::memcpy(&low, bytes + stream * quarter + at, sizeof low);
      std::memcpy(&high, bytes + stream * quarter + at + sizeof low, sizeof high);
      sums[stream] += low;
      sums[stream] += high;
    }
  }
  const Words all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  return all[0] + all[1] + all[2] + all[3];
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] uint64_t sum_streams_with_avx2(const std::byte* bytes, size_t count) {
  return sum_streams_with_any_registers(bytes, count);
}
#endif

uint64_t sum_streams(const std::byte* bytes, size_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return sum_streams_with_avx2(bytes, count);  // a tenth faster
#endif
  return sum_streams_with_any_registers(bytes, count);
}

}  // namespace

ReadBandwidth::ReadBandwidth() : buffer_(static_cast<char*>(allocate_huge(kBytes))) {
  if (buffer_) std::memset(buffer_.get(), 1, kBytes);
}

double ReadBandwidth::measure(ThreadPool& pool) const {
  if (!buffer_) return 0;
  const auto* const bytes = reinterpret_cast<const std::byte*>(buffer_.get());
  const size_t part = kBytes / pool.threads();
  std::atomic<uint64_t> total = 0;
  const SteadyClock::time_point start = SteadyClock::now();
  pool.run(pool.threads(), [&](size_t thread) { total += sum_streams(bytes + thread * part, part); });
  const double seconds = seconds_since(start);
  return total != 0 ? static_cast<double>(part * pool.threads()) / seconds : 0;
}

}  // namespace amphora
