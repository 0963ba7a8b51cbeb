// What a rendering may still spend: see budget.h.
#include "text/jinja/budget.h"

#include "text/jinja/errors.h"

namespace amphora::text::jinja {

std::unexpected<Error> Budget::error() const { return limit_error(exceeded_); }

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
  if (!exceeded_.empty()) return;  // the first limit is the reason; what follows is its consequence
  exceeded_ = "limit of " + std::string(limit) + " exceeded (" + std::to_string(value) + ")";
}

void TextBuilder::append_repeated(std::string_view piece, uint64_t count) {
  if (piece.empty() || count == 0) return;
  if (count > (kMaxTextBytes - text_.size()) / piece.size()) return overflow();
  if (budget_ != nullptr) budget_->spend_bytes(piece.size() * count);
  text_.reserve(text_.size() + piece.size() * count);
  for (uint64_t i = 0; i < count; ++i) text_ += piece;
  account(text_.capacity());
}

void TextBuilder::overflow() {
  overflowed_ = true;
  if (budget_ != nullptr) budget_->exceed("text bytes", kMaxTextBytes);
}

}  // namespace amphora::text::jinja
