// A fork-join pool: the caller and its workers share out a fixed list of chunks.
#pragma once

#include <cstddef>
#include <memory>

namespace amphora {

/// A reference to a callable `void(size_t chunk)`; it must outlive the call that it is passed to.
class ChunkFunction {
 public:
  template <class F>
  ChunkFunction(const F& function)  // NOLINT(google-explicit-constructor): a view, like string_view
      : object_(&function),
        call_([](const void* object, size_t chunk) { (*static_cast<const F*>(object))(chunk); }) {}
  void operator()(size_t chunk) const { call_(object_, chunk); }

 private:
  const void* object_;
  void (*call_)(const void*, size_t);
};

/// Runs the chunks of one job at a time on the calling thread and threads() - 1 workers. Workers spin for a
/// bounded while between jobs and then sleep, so a busy machine is not made busier. Chunks are handed out
/// from a counter; what a chunk computes must not depend on which thread runs it. Not reentrant: a chunk may
/// not call run().
class ThreadPool {
 public:
  /// Fewer threads than asked for if the system does not give them; threads() tells.
  explicit ThreadPool(size_t threads);
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;
  ~ThreadPool();

  size_t threads() const;
  /// Calls function(0) … function(chunks - 1), each once, and returns when all are done. The function must
  /// not throw.
  void run(size_t chunks, ChunkFunction function);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Threads that this process may use: the CPU affinity mask, further limited by the cgroup's CPU quota
/// (rounded up).
size_t available_threads();

}  // namespace amphora
