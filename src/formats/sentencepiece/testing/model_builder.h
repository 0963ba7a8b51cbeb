// Builds SentencePiece models in memory, for tests: valid ones, and ones with a single thing wrong.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "formats/sentencepiece/model.h"

namespace amphora::sentencepiece::testing {

inline std::string varint(uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(static_cast<uint8_t>(value | 0x80));
  return bytes += static_cast<char>(static_cast<uint8_t>(value));
}
inline std::string tag(uint64_t number, uint64_t wire_type) { return varint(number << 3 | wire_type); }
inline std::string varint_field(uint64_t number, uint64_t value) { return tag(number, 0) + varint(value); }
inline std::string bytes_field(uint64_t number, std::string_view bytes) {
  return tag(number, 2) + varint(bytes.size()) + std::string(bytes);
}
inline std::string float_field(uint64_t number, float value) {
  std::string bytes = tag(number, 5);
  for (int i = 0; i < 4; ++i)
    bytes += static_cast<char>(static_cast<uint8_t>(std::bit_cast<uint32_t>(value) >> (8 * i)));
  return bytes;
}

struct PieceRecord {
  std::string text;
  float score = 0;
  PieceType type = PieceType::kNormal;
  std::string extra = {};  ///< further fields, as they stand in the file
};

/// file() lays out what the members say.
struct ModelBuilder {
  std::vector<PieceRecord> pieces;
  std::string trainer, normalizer, denormalizer;  ///< the messages' fields
  std::string behind = {};                        ///< further fields of the model

  static std::string piece_message(const PieceRecord& piece) {
    std::string message = bytes_field(1, piece.text) + float_field(2, piece.score);
    if (piece.type != PieceType::kNormal) message += varint_field(3, static_cast<uint64_t>(piece.type));
    return message + piece.extra;
  }
  std::string file() const {
    std::string file;
    for (const PieceRecord& piece : pieces) file += bytes_field(1, piece_message(piece));
    return file + bytes_field(2, trainer) + bytes_field(3, normalizer) + bytes_field(5, denormalizer) +
           behind;
  }
  /// <unk>, <s>, </s> and the given pieces; all settings as they are by default, for the given type of model.
  static ModelBuilder with(ModelType type, std::vector<PieceRecord> further) {
    ModelBuilder builder;
    builder.pieces = {
        {"<unk>", 0, PieceType::kUnknown}, {"<s>", 0, PieceType::kControl}, {"</s>", 0, PieceType::kControl}};
    builder.pieces.insert(builder.pieces.end(), further.begin(), further.end());
    builder.trainer = varint_field(3, static_cast<uint64_t>(type));
    builder.normalizer = bytes_field(1, "identity");
    return builder;
  }
};

}  // namespace amphora::sentencepiece::testing
