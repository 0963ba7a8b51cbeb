// A fork-join pool with workers that spin for a bounded while and then sleep.
#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace amphora {
namespace {

// About 100 µs: longer than the serial parts between the matrices of a token, short against a scheduler's time slice,
// so a waiting thread gives its processor up when another process wants it.
constexpr int kSpins = 4000;

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

struct ThreadPool::State {
  explicit State(size_t worker_count) {
    workers.reserve(worker_count);
    for (size_t i = 0; i < worker_count; ++i) workers.emplace_back([this] { work(); });
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping.store(true, std::memory_order_relaxed);
      job_number.fetch_add(1, std::memory_order_release);
    }
    job_posted.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  void work() {
    uint64_t seen = 0;
    while (true) {
      wait_for_job(seen);
      seen = job_number.load(std::memory_order_acquire);
      if (stopping.load(std::memory_order_relaxed)) return;
      run_chunks();
      if (busy_workers.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        const std::lock_guard lock(mutex);  // pairs with the wait of run(): no wake-up is lost
        job_done.notify_one();
      }
    }
  }

  void wait_for_job(uint64_t seen) {
    for (int spin = 0; spin < kSpins; ++spin) {
      if (job_number.load(std::memory_order_acquire) != seen) return;
      pause_processor();
    }
    std::unique_lock lock(mutex);
    job_posted.wait(lock, [&] { return job_number.load(std::memory_order_acquire) != seen; });
  }

  void run_chunks() {
    while (true) {
      const size_t chunk = next_chunk.fetch_add(1, std::memory_order_relaxed);
      if (chunk >= chunk_count) return;
      (*function)(chunk);
    }
  }

  void run(size_t chunks, const ChunkFunction& job) {
    function = &job;
    chunk_count = chunks;
    next_chunk.store(0, std::memory_order_relaxed);
    busy_workers.store(workers.size(), std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex);
      job_number.fetch_add(1, std::memory_order_release);
    }
    job_posted.notify_all();
    run_chunks();
    for (int spin = 0; spin < kSpins; ++spin) {
      if (busy_workers.load(std::memory_order_acquire) == 0) return;
      pause_processor();
    }
    std::unique_lock lock(mutex);
    job_done.wait(lock, [&] { return busy_workers.load(std::memory_order_acquire) == 0; });
  }

  std::mutex mutex;
  std::condition_variable job_posted, job_done;
  std::atomic<uint64_t> job_number{0};
  std::atomic<bool> stopping{false};
  const ChunkFunction* function = nullptr;
  size_t chunk_count = 0;
  alignas(64) std::atomic<size_t> next_chunk{0};
  alignas(64) std::atomic<size_t> busy_workers{0};
  std::vector<std::thread> workers;  // last: the threads use everything above
};

ThreadPool::ThreadPool(size_t threads) : state_(std::make_unique<State>(std::max<size_t>(threads, 1) - 1)) {}
ThreadPool::~ThreadPool() = default;

size_t ThreadPool::threads() const { return state_->workers.size() + 1; }

void ThreadPool::run(size_t chunks, ChunkFunction function) {
  if (chunks == 0) return;
  if (state_->workers.empty() || chunks == 1) {
    for (size_t chunk = 0; chunk < chunks; ++chunk) function(chunk);
    return;
  }
  state_->run(chunks, function);
}

size_t available_threads() {
  size_t threads = std::max(1u, std::thread::hardware_concurrency());
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
    threads = std::clamp<size_t>(static_cast<size_t>(CPU_COUNT(&allowed)), 1, threads);
  }
  // cgroup v2: "quota period" in microseconds, or "max period". A container without the file has no limit to tell.
  std::ifstream file("/sys/fs/cgroup/cpu.max");
  std::string quota;
  uint64_t period = 0;
  if (file >> quota >> period && quota != "max" && period > 0) {
    const uint64_t microseconds = std::strtoull(quota.c_str(), nullptr, 10);
    threads = std::clamp<size_t>((microseconds + period - 1) / period, 1, threads);
  }
  return threads;
}

}  // namespace amphora
