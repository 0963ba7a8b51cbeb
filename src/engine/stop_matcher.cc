// Watches streamed text for stop strings: see stop_matcher.h.
#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace amphora::engine {

std::string StopMatcher::push(std::string_view piece) {
  if (stopped_) return {};
  held_ += piece;

  size_t begin = std::string::npos, end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    const size_t stop_end = at + stop.size();
    if (stop_end < end || (stop_end == end && at < begin)) begin = at, end = stop_end;
  }
  if (begin != std::string::npos) {
    stopped_ = true;
    std::string before = held_.substr(0, begin);
    held_.clear();
    return before;
  }

  size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (size_t length = std::min(stop.size() - 1, held_.size()); length > keep; --length) {
      if (held_.ends_with(std::string_view(stop).substr(0, length))) keep = length;
    }
  }
  std::string certain = held_.substr(0, held_.size() - keep);
  held_.erase(0, certain.size());
  return certain;
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace amphora::engine
