// What a rendering may still spend: see budget.h.
#include "text/jinja/budget.h"

#include "text/jinja/errors.h"

namespace amphora::text::jinja {

std::unexpected<Error> Budget::error() const { return std::unexpected(*failure_); }

Status Budget::status() const {
  if (ok()) return {};
  return error();
}

bool Budget::allows(uint64_t bytes) {
  if (bytes <= kMaxLiveBytes && live_bytes_ <= kMaxLiveBytes - bytes) return ok();
  exceed("value memory in bytes", kMaxLiveBytes);
  return false;
}

void Budget::exceed(std::string_view limit, uint64_t value) {
  if (failure_) return;  // the first limit is the reason; what follows is its consequence
  failure_ =
      limit_error("limit of " + std::string(limit) + " exceeded (" + std::to_string(value) + ")").error();
}

void Budget::refuse(std::string message) {
  if (!failure_) failure_ = unsupported_error(std::move(message)).error();
}

void TextBuilder::append_repeated(std::string_view piece, uint64_t count) {
  if (piece.empty() || count == 0) return;
  if (count > (kMaxTextBytes - text_.size()) / piece.size()) return overflow();
  if (budget_ != nullptr) budget_->spend_bytes(piece.size() * count);
  text_.reserve(text_.size() + piece.size() * count);
  for (uint64_t i = 0; i < count; ++i) text_ += piece;
  account(text_.capacity());
}

void TextBuilder::refuse(std::string message) {
  overflowed_ = true;
  if (budget_ != nullptr) budget_->refuse(std::move(message));
}

void TextBuilder::overflow(std::string_view limit, uint64_t value) {
  overflowed_ = true;
  if (budget_ != nullptr) budget_->exceed(limit, value);
}

}  // namespace amphora::text::jinja
