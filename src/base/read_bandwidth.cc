// Measured read bandwidth: see read_bandwidth.h.
#include "base/read_bandwidth.h"

#include <atomic>
#include <cstdint>
#include <cstring>

#include "base/stopwatch.h"

namespace amphora {
namespace {

constexpr size_t kStreams = 4;

/// Few enough that the sums of all streams stay in registers.
struct Sums {
  uint64_t words[4] = {};
  void add(const uint64_t* from) {
    for (size_t word = 0; word < 4; ++word) words[word] += from[word];
  }
};

[[gnu::always_inline]] inline uint64_t sum_streams_with_any_registers(const uint64_t* words, size_t count) {
  constexpr size_t kLineWords = 8;
  const size_t quarter = count / kStreams / kLineWords * kLineWords;
  Sums a, b, c, d;
  for (size_t line = 0; line < quarter; line += kLineWords)
    for (size_t at = line; at < line + kLineWords; at += 4) {
      a.add(words + at);
      b.add(words + quarter + at);
      c.add(words + 2 * quarter + at);
      d.add(words + 3 * quarter + at);
    }
  uint64_t total = 0;
  for (const Sums& sums : {a, b, c, d})
    for (const uint64_t word : sums.words) total += word;
  return total;
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] uint64_t sum_streams_with_avx2(const uint64_t* words, size_t count) {
  return sum_streams_with_any_registers(words, count);
}
#endif

uint64_t sum_streams(const uint64_t* words, size_t count) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2")) return sum_streams_with_avx2(words, count);  // a tenth faster
#endif
  return sum_streams_with_any_registers(words, count);
}

}  // namespace

ReadBandwidth::ReadBandwidth() : buffer_(static_cast<char*>(allocate_huge(kBytes))) {
  if (buffer_) std::memset(buffer_.get(), 1, kBytes);
}

double ReadBandwidth::measure(ThreadPool& pool) const {
  if (!buffer_) return 0;
  const auto* const words = reinterpret_cast<const uint64_t*>(buffer_.get());
  const size_t part = kBytes / sizeof(uint64_t) / pool.threads();
  std::atomic<uint64_t> total = 0;
  const SteadyClock::time_point start = SteadyClock::now();
  pool.run(pool.threads(), [&](size_t thread) { total += sum_streams(words + thread * part, part); });
  const double seconds = seconds_since(start);
  return total != 0 ? static_cast<double>(part * pool.threads() * sizeof(uint64_t)) / seconds : 0;
}

}  // namespace amphora
