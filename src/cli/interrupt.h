// SIGINT and SIGTERM: a running generation ends at its next token; any other work is dropped without a trace.
#pragma once

#include <stop_token>

namespace amphora::cli {

inline constexpr int kInterruptedStatus = 130;

/// Also turns the loss of a mapped file (SIGBUS) into one line and status 3. Blocks both signals in this
/// thread (and so in all that it starts) and waits for them in a thread of its own. Call once, before any
/// other thread exists.
void watch_for_interrupts();

/// While one of these lives, the first signal requests a stop instead of ending the process; the second ends
/// it.
class InterruptScope {
 public:
  InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  ~InterruptScope();
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
};

}  // namespace amphora::cli
