// Elapsed time by the steady clock.
#pragma once

#include <chrono>

namespace amphora {

using SteadyClock = std::chrono::steady_clock;

inline double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

}  // namespace amphora
