// A SentencePiece model file: the message ModelProto.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/result.h"

namespace amphora::sentencepiece {

inline constexpr uint64_t kMaxModelBytes = uint64_t{1} << 28;
inline constexpr size_t kMaxPieces = size_t{1} << 21;
inline constexpr size_t kMaxPieceBytes = size_t{1} << 16;

enum class ModelType : uint8_t { kUnigram = 1, kBpe = 2, kWord = 3, kChar = 4 };
enum class PieceType : uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6
};

struct Piece {
  std::string_view text;
  float score = 0;
  PieceType type = PieceType::kNormal;
  uint64_t offset = 0;  ///< of its message in the file
};

/// What of the settings matters after training; the defaults are the message's.
struct TrainerSpec {
  ModelType model_type = ModelType::kUnigram;
  bool treat_whitespace_as_suffix = false;
  bool byte_fallback = false;
  std::string_view unk_surface = " \u2047 ";  ///< what the unknown piece is decoded to
  std::string_view bos_piece = "<s>", eos_piece = "</s>", pad_piece = "<pad>";
};

struct NormalizerSpec {
  std::string_view name;
  Bytes precompiled_charsmap;  ///< empty: characters stay as they are
  bool add_dummy_prefix = true;
  bool remove_extra_whitespaces = true;
  bool escape_whitespaces = true;
};

/// All views point into the bytes that decode_model was given.
struct Model {
  std::vector<Piece> pieces;  ///< by id
  TrainerSpec trainer;
  NormalizerSpec normalizer;
  NormalizerSpec denormalizer;
  uint32_t unknown_id = 0;

  /// The id of the control piece with this text: how SentencePiece finds BOS and EOS. Absence is normal.
  std::optional<uint32_t> find_control(std::string_view text) const;
};

/// Whether the bytes begin as a model does: with a piece, which no text file does. decode_model says whether
/// it is one.
bool looks_like_model(Bytes file);

/// Reads and checks a whole file.
///
/// Error codes: those of WireReader; WireType, TooLarge, Counts, Piece, PieceType, DuplicatePiece, Score,
/// ModelType, Text, Unknown, Bytes, Missing. The place is the message, with the piece's number.
Result<Model> decode_model(Bytes file);

/// The byte of a piece spelled <0xHH> (two upper-case digits), or empty.
std::optional<uint8_t> byte_of_piece(std::string_view text);

}  // namespace amphora::sentencepiece
