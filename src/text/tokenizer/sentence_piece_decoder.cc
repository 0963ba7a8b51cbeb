// The decoder "SentencePiece": pieces to text as the library puts them together (docs/formats/tokenizer.md).
#include "text/tokenizer/sentence_piece_decoder.h"

#include <memory>
#include <optional>

#include "text/tokenizer/vocabulary.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

std::optional<uint8_t> upper_hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

// SentencePiece spells its byte pieces with upper-case digits alone.
std::optional<uint8_t> find_byte_piece(std::string_view piece) {
  if (piece.size() != 6 || !piece.starts_with("<0x") || !piece.ends_with('>')) return std::nullopt;
  const auto high = upper_hex_digit(piece[3]), low = upper_hex_digit(piece[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<uint8_t>(*high << 4 | *low);
}

struct DecoderOptions {
  std::string unk_piece, unk_surface;
  bool byte_fallback, add_dummy_prefix, remove_extra_whitespaces;
};

class SentencePieceStage : public DecoderStage {
 public:
  explicit SentencePieceStage(std::shared_ptr<const DecoderOptions> options) : options_(std::move(options)) {}

  Status push(std::string_view text, bool ends_piece) override {
    piece_ += text;
    if (!ends_piece) return {};
    const std::string piece = std::exchange(piece_, {});
    if (options_->byte_fallback) {
      if (const auto byte = find_byte_piece(piece)) {
        bytes_ += static_cast<char>(*byte);
        return pass_bytes(/*run_ends=*/false);
      }
      AMPHORA_TRY(pass_bytes(/*run_ends=*/true));
    }
    return push_piece(piece);
  }

  Status finish() override { return pass_bytes(/*run_ends=*/true); }

 private:
  // Bytes that make no character become U+FFFD one by one.
  Status pass_bytes(bool run_ends) {
    const size_t waiting = run_ends ? 0 : unicode::incomplete_tail_bytes(bytes_);
    std::string out;
    std::string_view certain = std::string_view(bytes_).substr(0, bytes_.size() - waiting);
    while (!certain.empty()) {
      const unicode::Decoded decoded = unicode::decode_utf8(certain, 0);
      const size_t bytes = decoded.well_formed ? decoded.bytes : 1;
      out += decoded.well_formed ? certain.substr(0, bytes) : "\uFFFD";
      certain.remove_prefix(bytes);
    }
    bytes_.erase(0, bytes_.size() - waiting);
    if (out.empty()) return {};
    has_text_ = true;
    return pass(out, true);
  }

  Status push_piece(std::string_view piece) {
    if (has_text_ || took_prefix_) at_start_ = false;
    if (piece == options_->unk_piece) {
      has_text_ = has_text_ || !options_->unk_surface.empty();
      return pass(options_->unk_surface, true);
    }
    if (at_start_ && (options_->add_dummy_prefix || options_->remove_extra_whitespaces) &&
        piece.starts_with(kSpaceMark)) {
      piece.remove_prefix(kSpaceMark.size());
      // Extra white space is removed from each piece until there is text, the dummy prefix once.
      took_prefix_ = !options_->remove_extra_whitespaces;
    }
    std::string out;
    for (const unicode::CodePoint c : unicode::CodePoints(piece)) {
      const std::string_view character = piece.substr(c.offset, c.bytes);
      out += character == kSpaceMark ? " " : character;
    }
    has_text_ = has_text_ || !out.empty();
    return pass(out, true);
  }

  std::shared_ptr<const DecoderOptions> options_;
  std::string piece_, bytes_;
  bool at_start_ = true, took_prefix_ = false, has_text_ = false;
};

class SentencePieceDecoder : public Decoder {
 public:
  explicit SentencePieceDecoder(DecoderOptions options)
      : options_(std::make_shared<const DecoderOptions>(std::move(options))) {}
  std::unique_ptr<DecoderStage> start() const override {
    return std::make_unique<SentencePieceStage>(options_);
  }

 private:
  std::shared_ptr<const DecoderOptions> options_;
};

}  // namespace

Result<std::unique_ptr<Decoder>> build_sentence_piece_decoder(Component& component) {
  DecoderOptions options;
  AMPHORA_ASSIGN(options.unk_piece, component.string("unk_piece"));
  AMPHORA_ASSIGN(options.unk_surface, component.string("unk_surface"));
  AMPHORA_ASSIGN(options.byte_fallback, component.boolean("byte_fallback"));
  AMPHORA_ASSIGN(options.add_dummy_prefix, component.boolean("add_dummy_prefix"));
  AMPHORA_ASSIGN(options.remove_extra_whitespaces, component.boolean("remove_extra_whitespaces"));
  return std::make_unique<SentencePieceDecoder>(std::move(options));
}

}  // namespace amphora::text
