// Decodes ModelProto: field numbers and defaults are those of sentencepiece_model.proto.
#include "formats/sentencepiece/model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <unordered_map>

#include "formats/sentencepiece/wire.h"
#include "unicode/utf8.h"

namespace amphora::sentencepiece {
namespace {

namespace model_field {
constexpr uint32_t kPieces = 1, kTrainer = 2, kNormalizer = 3, kSelfTest = 4, kDenormalizer = 5;
}
namespace piece_field {
constexpr uint32_t kText = 1, kScore = 2, kType = 3;
}
namespace trainer_field {
constexpr uint32_t kModelType = 3, kSuffix = 24, kByteFallback = 35, kUnkSurface = 44, kBosPiece = 46,
                   kEosPiece = 47, kPadPiece = 48;
}
namespace normalizer_field {
constexpr uint32_t kName = 1, kCharsmap = 2, kDummyPrefix = 3, kExtraSpaces = 4, kEscape = 5;
}
namespace self_test_field {
constexpr uint32_t kSamples = 1, kInput = 1, kExpected = 2;
}

Status want(const Field& field, WireType type, std::string_view place) {
  if (field.type == type) return {};
  return fail_at(Fault::kCorrupt, "WireType", std::string(place), field.offset,
                 fmt::format("field {} is {}, wanted {}", field.number, wire_type_name(field.type),
                             wire_type_name(type)));
}

Status read_flag(const Field& field, std::string_view place, bool& flag) {
  AMPHORA_TRY(want(field, WireType::kVarint, place));
  flag = field.value != 0;
  return {};
}

Status read_text(const Field& field, std::string_view place, std::string_view& text) {
  AMPHORA_TRY(want(field, WireType::kBytes, place));
  text = as_text(field.bytes);
  if (unicode::is_utf8(text)) return {};
  return fail_at(Fault::kCorrupt, "Text", std::string(place), field.bytes_offset,
                 fmt::format("field {} is not UTF-8", field.number));
}

/// Calls `read(field)` for each field of a message.
template <class Read>
Status for_each_field(Bytes message, uint64_t offset, std::string_view place, const Read& read) {
  WireReader in(message, offset, place);
  while (true) {
    AMPHORA_ASSIGN(const auto field, in.next());
    if (!field) return {};
    AMPHORA_TRY(read(*field));
  }
}

class Decoder {
 public:
  Result<Model> decode(Bytes file) {
    if (file.size() > kMaxModelBytes)
      return fail_at(Fault::kRefused, "TooLarge", "model", std::nullopt,
                     fmt::format("{} bytes are more than the limit of {}", file.size(), kMaxModelBytes));
    AMPHORA_TRY(for_each_field(file, 0, "model", [&](const Field& field) { return decode_field(field); }));
    if (model_.pieces.empty())
      return fail_at(Fault::kCorrupt, "Missing", "model", file.size(), "there are no pieces");
    // Writers put the messages in the order of their numbers: what lacks the later ones was cut short.
    if (!has_trainer_ || !has_normalizer_)
      return fail_at(Fault::kTruncated, "Missing", "model", file.size(),
                     fmt::format("there is no {}", has_trainer_ ? "normalizer_spec" : "trainer_spec"));
    AMPHORA_TRY(check_unknown());
    AMPHORA_TRY(check_bytes());
    return std::move(model_);
  }

 private:
  Status decode_field(const Field& field) {
    if (field.number < model_field::kPieces || field.number > model_field::kDenormalizer) return {};
    AMPHORA_TRY(want(field, WireType::kBytes, "model"));
    switch (field.number) {
      case model_field::kPieces: return decode_piece(field);
      case model_field::kTrainer: has_trainer_ = true; return decode_trainer(field);
      case model_field::kNormalizer:
        has_normalizer_ = true;
        return decode_normalizer(field, "normalizer_spec", model_.normalizer);
      case model_field::kSelfTest: return check_self_test(field);
      default: return decode_normalizer(field, "denormalizer_spec", model_.denormalizer);
    }
  }

  Status decode_piece(const Field& message) {
    if (model_.pieces.size() == kMaxPieces)
      return fail_at(Fault::kRefused, "Counts", "model", message.offset,
                     fmt::format("there are more than {} pieces", kMaxPieces));
    const std::string place = fmt::format("pieces[{}]", model_.pieces.size());
    Piece piece;
    piece.offset = message.offset;
    AMPHORA_TRY(for_each_field(message.bytes, message.bytes_offset, place,
                               [&](const Field& field) { return decode_piece_field(field, place, piece); }));
    const auto refuse = [&](Fault fault, std::string_view code, std::string message_text) {
      return fail_at(fault, std::string(code), place, message.offset, std::move(message_text));
    };
    if (piece.text.empty()) return refuse(Fault::kCorrupt, "Piece", "the piece is empty");
    if (piece.text.size() > kMaxPieceBytes)
      return refuse(Fault::kRefused, "Piece",
                    fmt::format("the piece has {} bytes, more than the {} that are accepted",
                                piece.text.size(), kMaxPieceBytes));
    if (piece.text.contains('\0'))
      return refuse(Fault::kUnsupported, "Piece", "the piece holds a zero byte, which is not supported");
    if (!std::isfinite(piece.score)) return refuse(Fault::kCorrupt, "Score", "the score is not finite");
    if (piece.type == PieceType::kByte && !byte_of_piece(piece.text))
      return refuse(Fault::kCorrupt, "Bytes",
                    fmt::format("the byte piece \"{}\" is not spelled <0xHH>", piece.text.substr(0, 40)));
    const auto [same, is_new] = ids_.emplace(piece.text, static_cast<uint32_t>(model_.pieces.size()));
    if (!is_new)
      return refuse(Fault::kCorrupt, "DuplicatePiece",
                    fmt::format("\"{}\" is piece {} already", piece.text.substr(0, 40), same->second));
    model_.pieces.push_back(piece);
    return {};
  }

  static Status decode_piece_field(const Field& field, const std::string& place, Piece& piece) {
    switch (field.number) {
      case piece_field::kText: return read_text(field, place, piece.text);
      case piece_field::kScore:
        AMPHORA_TRY(want(field, WireType::kFixed32, place));
        piece.score = std::bit_cast<float>(static_cast<uint32_t>(field.value));
        return {};
      case piece_field::kType:
        AMPHORA_TRY(want(field, WireType::kVarint, place));
        if (field.value < 1 || field.value > static_cast<uint64_t>(PieceType::kByte))
          return fail_at(Fault::kUnsupported, "PieceType", place, field.offset,
                         fmt::format("{} is no known type of pieces", field.value));
        piece.type = static_cast<PieceType>(field.value);
        return {};
      default: return {};
    }
  }

  Status decode_trainer(const Field& message) {
    constexpr std::string_view kPlace = "trainer_spec";
    TrainerSpec& spec = model_.trainer;
    return for_each_field(message.bytes, message.bytes_offset, kPlace, [&](const Field& field) -> Status {
      switch (field.number) {
        case trainer_field::kModelType:
          AMPHORA_TRY(want(field, WireType::kVarint, kPlace));
          if (field.value < 1 || field.value > static_cast<uint64_t>(ModelType::kChar))
            return fail_at(Fault::kUnsupported, "ModelType", std::string(kPlace), field.offset,
                           fmt::format("{} is no known type of models", field.value));
          spec.model_type = static_cast<ModelType>(field.value);
          return {};
        case trainer_field::kSuffix: return read_flag(field, kPlace, spec.treat_whitespace_as_suffix);
        case trainer_field::kByteFallback: return read_flag(field, kPlace, spec.byte_fallback);
        case trainer_field::kUnkSurface: return read_text(field, kPlace, spec.unk_surface);
        case trainer_field::kBosPiece: return read_text(field, kPlace, spec.bos_piece);
        case trainer_field::kEosPiece: return read_text(field, kPlace, spec.eos_piece);
        case trainer_field::kPadPiece: return read_text(field, kPlace, spec.pad_piece);
        default: return {};
      }
    });
  }

  static Status decode_normalizer(const Field& message, std::string_view place, NormalizerSpec& spec) {
    return for_each_field(message.bytes, message.bytes_offset, place, [&](const Field& field) -> Status {
      switch (field.number) {
        case normalizer_field::kName: return read_text(field, place, spec.name);
        case normalizer_field::kCharsmap:
          AMPHORA_TRY(want(field, WireType::kBytes, place));
          spec.precompiled_charsmap = field.bytes;
          return {};
        case normalizer_field::kDummyPrefix: return read_flag(field, place, spec.add_dummy_prefix);
        case normalizer_field::kExtraSpaces: return read_flag(field, place, spec.remove_extra_whitespaces);
        case normalizer_field::kEscape: return read_flag(field, place, spec.escape_whitespaces);
        default: return {};
      }
    });
  }

  /// The samples are for SentencePiece's own check of itself: only their form is looked at.
  static Status check_self_test(const Field& message) {
    constexpr std::string_view kPlace = "self_test_data";
    return for_each_field(message.bytes, message.bytes_offset, kPlace, [&](const Field& sample) -> Status {
      if (sample.number != self_test_field::kSamples) return {};
      AMPHORA_TRY(want(sample, WireType::kBytes, kPlace));
      return for_each_field(sample.bytes, sample.bytes_offset, kPlace, [&](const Field& field) -> Status {
        if (field.number != self_test_field::kInput && field.number != self_test_field::kExpected) return {};
        return want(field, WireType::kBytes, kPlace);
      });
    });
  }

  Status check_unknown() {
    std::optional<uint32_t> found;
    for (uint32_t id = 0; id < model_.pieces.size(); ++id) {
      if (model_.pieces[id].type != PieceType::kUnknown) continue;
      if (found)
        return fail_at(Fault::kCorrupt, "Unknown", fmt::format("pieces[{}]", id), model_.pieces[id].offset,
                       fmt::format("piece {} is the unknown piece already", *found));
      found = id;
    }
    if (!found)
      return fail_at(Fault::kCorrupt, "Unknown", "model", std::nullopt, "there is no unknown piece");
    model_.unknown_id = *found;
    return {};
  }

  Status check_bytes() const {
    size_t bytes = 0;
    for (const Piece& piece : model_.pieces) {
      if (piece.type != PieceType::kByte) continue;
      ++bytes;  // spelled <0xHH> and each there once: 256 of them are all
      if (!model_.trainer.byte_fallback)
        return fail_at(Fault::kCorrupt, "Bytes", "trainer_spec", piece.offset,
                       "there are byte pieces, but byte_fallback is not set");
    }
    if (model_.trainer.byte_fallback && bytes != 256)
      return fail_at(Fault::kCorrupt, "Bytes", "trainer_spec", std::nullopt,
                     fmt::format("byte_fallback is set, but there are {} byte pieces instead of 256", bytes));
    return {};
  }

  Model model_;
  std::unordered_map<std::string_view, uint32_t> ids_;
  bool has_trainer_ = false, has_normalizer_ = false;
};

std::optional<uint8_t> upper_hex_digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<uint8_t>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<uint8_t>(c - 'A' + 10);
  return std::nullopt;
}

}  // namespace

std::optional<uint32_t> Model::find_control(std::string_view text) const {
  const auto found = std::ranges::find(pieces, text, &Piece::text);
  if (found == pieces.end() || found->type != PieceType::kControl) return std::nullopt;
  return static_cast<uint32_t>(found - pieces.begin());
}

bool looks_like_model(Bytes file) {
  // A tag "pieces", a length below 128, a tag "piece": SentencePiece puts its short special pieces first.
  constexpr auto kTag = std::byte{0x0A};
  return file.size() >= 3 && file[0] == kTag && file[1] < std::byte{0x80} && file[2] == kTag;
}

Result<Model> decode_model(Bytes file) { return Decoder().decode(file); }

std::optional<uint8_t> byte_of_piece(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return std::nullopt;
  const auto high = upper_hex_digit(text[3]);
  const auto low = upper_hex_digit(text[4]);
  if (!high || !low) return std::nullopt;
  return static_cast<uint8_t>(*high << 4 | *low);
}

}  // namespace amphora::sentencepiece
