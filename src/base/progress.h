// A progress bar for work that a person waits for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace amphora {

/// Told how far a long piece of work has come, in bytes or other units; it must be cheap and must not throw.
using ProgressFunction = std::function<void(uint64_t done, uint64_t total)>;

/// Draws `label [####    ] 42 %  1.2 GB/s  3 s left` on stderr, only if stderr is a terminal, and only once
/// the work has taken half a second. Erases itself when destroyed.
class ProgressBar {
 public:
  ProgressBar(std::string label, bool quiet);
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();
  void update(uint64_t done, uint64_t total);
  ProgressFunction function() {
    return [this](uint64_t done, uint64_t total) { update(done, total); };
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool enabled_;
  bool drawn_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point last_drawn_ = started_;
};

}  // namespace amphora
