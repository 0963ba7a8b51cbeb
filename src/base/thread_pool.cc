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
#include <system_error>
#include <thread>
#include <vector>

namespace amphora {
namespace {

// About 100 µs: longer than the serial parts between the matrices of a token, short against a scheduler's
// time slice, so a waiting thread gives its processor up when another process wants it.
constexpr int kSpins = 4000;

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// One job at a time. `ticket` holds the job's number in its upper half and the next chunk in its lower half,
// so taking a chunk and knowing which job it belongs to is one compare-and-swap: a worker that comes late
// (asleep, or pushed off its processor by another process) finds nothing to take, and run() never waits for
// it — only for chunks.
struct ThreadPool::State {
  explicit State(size_t worker_count) {
    workers.reserve(worker_count);
    try {
      for (size_t i = 0; i < worker_count; ++i) workers.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // The system gives no more threads: the ones that started do the work.
    }
  }

  ~State() {
    {
      const std::lock_guard lock(mutex);
      stopping.store(true);
    }
    job_posted.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  static uint64_t job_of(uint64_t a_ticket) { return a_ticket >> 32; }
  static uint64_t chunk_of(uint64_t a_ticket) { return a_ticket & 0xFFFFFFFF; }

  void work() {
    uint64_t seen = 0;
    while (wait_for_job(seen)) {
      seen = job_of(ticket.load(std::memory_order_acquire));
      run_chunks();
    }
  }

  // False: the pool is being destroyed.
  bool wait_for_job(uint64_t seen) {
    const auto posted = [&] { return job_of(ticket.load(std::memory_order_acquire)) != seen; };
    for (int spin = 0; spin < kSpins; ++spin) {
      if (stopping.load(std::memory_order_relaxed)) return false;
      if (posted()) return true;
      pause_processor();
    }
    std::unique_lock lock(mutex);
    job_posted.wait(lock, [&] { return stopping.load() || posted(); });
    return !stopping.load();
  }

  void run_chunks() {
    uint64_t taken = ticket.load(std::memory_order_acquire);
    while (true) {
      const uint64_t chunks = chunk_count.load(std::memory_order_relaxed);
      const ChunkFunction* const job = function.load(std::memory_order_relaxed);
      if (chunk_of(taken) >= chunks) return;
      // Success means that the job has not changed since `taken` was read, so `chunks` and `job` are its own.
      if (!ticket.compare_exchange_weak(taken, taken + 1, std::memory_order_acq_rel,
                                        std::memory_order_acquire))
        continue;
      (*job)(chunk_of(taken));
      if (chunks_done.fetch_add(1, std::memory_order_acq_rel) + 1 == chunks) {
        const std::lock_guard lock(mutex);  // pairs with the wait in run(): no wake-up is lost
        job_done.notify_one();
      }
      taken = ticket.load(std::memory_order_acquire);
    }
  }

  void run(size_t chunks, const ChunkFunction& job) {
    const uint64_t number = job_of(ticket.load(std::memory_order_relaxed)) + 1;
    // Closed while the job is being described: no chunk can be taken under the new number yet.
    ticket.store(number << 32 | 0xFFFFFFFF, std::memory_order_seq_cst);
    function.store(&job, std::memory_order_relaxed);
    chunk_count.store(chunks, std::memory_order_relaxed);
    chunks_done.store(0, std::memory_order_relaxed);
    {
      const std::lock_guard lock(mutex);
      ticket.store((number + 1) << 32, std::memory_order_release);
    }
    job_posted.notify_all();
    run_chunks();
    const auto done = [&] { return chunks_done.load(std::memory_order_acquire) == chunks; };
    for (int spin = 0; spin < kSpins; ++spin) {
      if (done()) return;
      pause_processor();
    }
    std::unique_lock lock(mutex);
    job_done.wait(lock, done);
  }

  std::mutex mutex;
  std::condition_variable job_posted, job_done;
  std::atomic<bool> stopping{false};
  std::atomic<const ChunkFunction*> function{nullptr};
  std::atomic<uint64_t> chunk_count{0};
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<uint64_t> chunks_done{0};
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
  // cgroup v2: "quota period" in microseconds, or "max period". A container without the file has no limit to
  // tell.
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
