// What a rendering may still spend. Exceeding a limit is remembered, not thrown: the evaluator asks before
// each node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "amphora/result.h"
#include "text/jinja/limits.h"
#include "text/quoted_text.h"

namespace amphora::text::jinja {

class Budget {
 public:
  Budget() = default;
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// False once any limit has been exceeded; long loops ask so that they can stop early.
  bool ok() const { return !failure_; }
  /// The error that names the limit. Only when !ok().
  std::unexpected<Error> error() const;
  Status status() const;

  void spend(uint64_t steps) {
    steps_ += steps;
    if (steps_ > kMaxSteps) exceed("steps", kMaxSteps);
  }
  /// Steps for reading or writing that much text.
  void spend_bytes(size_t bytes) { spend(bytes / kBytesPerStep); }

  void charge(size_t bytes) {
    live_bytes_ += bytes;
    if (live_bytes_ > kMaxLiveBytes) exceed("value memory in bytes", kMaxLiveBytes);
  }
  void refund(size_t bytes) { live_bytes_ -= bytes; }
  /// Whether a value of that size still fits; if not, the limit counts as exceeded. Asked before an operation
  /// whose result can be much larger than its operands.
  bool allows(uint64_t bytes);

  void exceed(std::string_view limit, uint64_t value);
  /// Ends the rendering as a limit does, but for something that is not supported.
  void refuse(std::string message);
  uint64_t steps() const { return steps_; }
  size_t live_bytes() const { return live_bytes_; }

 private:
  uint64_t steps_ = 0;
  size_t live_bytes_ = 0;
  std::optional<Error> failure_;
};

/// Builds one string; stops growing (and exceeds the budget) at kMaxTextBytes. Charges what it holds. Keeps
/// account of which parts are quoted.
class TextBuilder {
 public:
  /// One level of values within values; too many exceed the budget.
  class Level {
   public:
    explicit Level(TextBuilder& text) : text_(text) {
      if (++text_.levels_ > kMaxRecursion) text_.overflow("levels of values", kMaxRecursion);
    }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;
    ~Level() { --text_.levels_; }

   private:
    TextBuilder& text_;
  };

  explicit TextBuilder(Budget* budget) : budget_(budget) {}
  TextBuilder(const TextBuilder&) = delete;
  TextBuilder& operator=(const TextBuilder&) = delete;
  ~TextBuilder() { account(0); }

  void append(std::string_view piece) {
    if (piece.size() > kMaxTextBytes - text_.size()) return overflow();
    text_ += piece;
    account();
  }
  /// A piece with its own quoted ranges.
  void append(std::string_view piece, const QuotedRanges& quoted) {
    const size_t start = text_.size();
    append(piece);
    if (text_.size() == start) return;
    for (const QuotedRange& range : quoted) append_range(quoted_, start + range.begin, start + range.end);
    account();
  }
  /// Counts everything behind the first `start` bytes as quoted.
  void quote_from(size_t start) {
    while (!quoted_.empty() && quoted_.back().begin >= start) quoted_.pop_back();
    append_range(quoted_, start, text_.size());
    account();
  }
  void append(char c) { append(std::string_view(&c, 1)); }
  void append_repeated(std::string_view piece, uint64_t count);
  /// For what has no text: the rendering ends with that message.
  void refuse(std::string message);
  bool ok() const { return !overflowed_ && (budget_ == nullptr || budget_->ok()); }
  size_t size() const { return text_.size(); }
  /// The text without its ranges.
  std::string take() { return take_quoted().text; }
  QuotedText take_quoted() {
    account(0);
    return {std::move(text_), std::move(quoted_)};
  }

 private:
  void overflow(std::string_view limit = "text bytes", uint64_t value = kMaxTextBytes);
  void account() {
    const size_t bytes = text_.capacity() + quoted_.capacity() * sizeof(QuotedRange);
    if (bytes != charged_) account(bytes);
  }
  void account(size_t bytes) {
    if (budget_ != nullptr) {
      budget_->refund(charged_);
      budget_->charge(bytes);
    }
    charged_ = bytes;
  }

  Budget* budget_;
  bool overflowed_ = false;
  uint32_t levels_ = 0;
  size_t charged_ = 0;
  std::string text_;
  QuotedRanges quoted_;
};

}  // namespace amphora::text::jinja
