// Watches streamed text for stop strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace amphora::engine {

/// Lets text through as soon as it cannot be part of a stop string. The first stop string to be complete ends
/// the text where it begins (of several that end together, the one that begins first); how the text is cut
/// into pieces makes no difference.
class StopMatcher {
 public:
  /// No stop string is empty.
  explicit StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {}

  /// The text that is now certain to come before any stop string. Once stopped(), always empty.
  std::string push(std::string_view piece);
  /// What was held back, when no more text comes.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;  ///< the longest end of the text that begins some stop string
  bool stopped_ = false;
};

}  // namespace amphora::engine
