// The way back: pieces to text, as they come.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer/component.h"

namespace amphora::text {

/// One step on the way from pieces to text, working on one stream of them. It is given a piece in one or
/// several parts and passes on what can no longer change, so a whole sequence and a stream are decoded by the
/// same code.
class DecoderStage {
 public:
  virtual ~DecoderStage() = default;
  /// A part of the current piece (whole characters); `ends_piece` on its last part.
  virtual Status push(std::string_view text, bool ends_piece) = 0;
  /// No more pieces: passes on what was held back. Called once, before the next stage's.
  virtual Status finish() { return {}; }

  void set_next(DecoderStage* next) { next_ = next; }

 protected:
  Status pass(std::string_view text, bool ends_piece) { return next_->push(text, ends_piece); }

 private:
  DecoderStage* next_ = nullptr;
};

/// A decoder of tokenizer.json; immutable.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual std::unique_ptr<DecoderStage> start() const = 0;
};

/// The decoders that stand behind one another. The types are in the table kDecoders.
Result<std::vector<std::unique_ptr<Decoder>>> build_decoders(Component& component);
/// What the reference does without a decoder: pieces with a space between them.
std::unique_ptr<Decoder> build_joining_decoder();

/// The stages of one stream, with their output.
class DecoderChain {
 public:
  explicit DecoderChain(const std::vector<std::unique_ptr<Decoder>>& decoders);
  Status push(std::string_view piece) { return stages_.front()->push(piece, true); }
  Status finish();
  /// The text that has come out since the last call.
  std::string take();

 private:
  class Sink;
  std::vector<std::unique_ptr<DecoderStage>> stages_;
  Sink* sink_;  // the last stage
};

}  // namespace amphora::text
