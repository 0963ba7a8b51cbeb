// SentencePiece models: what is read, and each damage refused for its own reason.
#include "formats/sentencepiece/model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "formats/sentencepiece/testing/model_builder.h"

namespace amphora::sentencepiece {
namespace {

using testing::bytes_field;
using testing::float_field;
using testing::ModelBuilder;
using testing::tag;
using testing::varint;
using testing::varint_field;

ModelBuilder small_builder() {
  auto builder =
      ModelBuilder::with(ModelType::kBpe, {{"\u2581a", -1.5f}, {"b", -2.25f, PieceType::kUserDefined}});
  builder.trainer += varint_field(24, 1) + bytes_field(44, "??") + bytes_field(46, "<s>") +
                     varint_field(4, 5) + varint_field(40, 0) + varint_field(43, ~0ull);
  builder.normalizer += bytes_field(2, "map") + varint_field(3, 0) + varint_field(5, 0);
  return builder;
}

TEST(SentencePieceModel, ReadsWhatWasWritten) {
  const std::string file = small_builder().file();
  const auto model = decode_model(as_bytes(file));
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_EQ(model->pieces.size(), 5u);
  EXPECT_EQ(model->unknown_id, 0u);
  EXPECT_EQ(model->pieces[3].text, "\u2581a");
  EXPECT_EQ(model->pieces[3].score, -1.5f);
  EXPECT_EQ(model->pieces[3].type, PieceType::kNormal);
  EXPECT_EQ(model->pieces[4].type, PieceType::kUserDefined);
  EXPECT_EQ(model->find_control("</s>"), 2u);
  EXPECT_EQ(model->find_control("b"), std::nullopt);
  EXPECT_EQ(model->find_control("nothing"), std::nullopt);
  EXPECT_EQ(model->trainer.model_type, ModelType::kBpe);
  EXPECT_TRUE(model->trainer.treat_whitespace_as_suffix);
  EXPECT_FALSE(model->trainer.byte_fallback);
  EXPECT_EQ(model->trainer.unk_surface, "??");
  EXPECT_EQ(model->trainer.eos_piece, "</s>");
  EXPECT_EQ(model->normalizer.name, "identity");
  EXPECT_EQ(as_text(model->normalizer.precompiled_charsmap), "map");
  EXPECT_FALSE(model->normalizer.add_dummy_prefix);
  EXPECT_TRUE(model->normalizer.remove_extra_whitespaces);
  EXPECT_FALSE(model->normalizer.escape_whitespaces);
  EXPECT_TRUE(model->denormalizer.precompiled_charsmap.empty());
  EXPECT_TRUE(looks_like_model(as_bytes(file)));
  EXPECT_FALSE(looks_like_model(as_bytes(std::string_view("{}"))));
}

// As protobuf says: fields that a message does not have are skipped, the last of several values counts,
// messages that come twice are one.
TEST(SentencePieceModel, SkipsWhatItDoesNotKnowAndMergesWhatComesTwice) {
  ModelBuilder builder = small_builder();
  builder.pieces[3].extra = varint_field(200, 7) + tag(201, 1) + "12345678" + bytes_field(202, "x") +
                            float_field(203, 1) + tag(204, 3) + varint_field(1, 5) + tag(9, 3) + tag(9, 4) +
                            tag(204, 4) + float_field(2, -3);
  builder.behind = bytes_field(2, varint_field(24, 0)) + bytes_field(1000, "whatever") +
                   bytes_field(4, bytes_field(1, bytes_field(1, "in") + bytes_field(2, "out")));
  const std::string file = builder.file();
  const auto model = decode_model(as_bytes(file));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->pieces[3].score, -3.0f);
  EXPECT_FALSE(model->trainer.treat_whitespace_as_suffix);
  EXPECT_EQ(model->trainer.unk_surface, "??");
}

TEST(SentencePieceModel, ReadsLongVarints) {
  ModelBuilder builder = small_builder();
  builder.trainer += tag(24, 0) + std::string("\x81\x80\x00", 3);  // 1, longer than it must be
  const std::string file = builder.file();
  ASSERT_TRUE(decode_model(as_bytes(file)));
}

struct Damage {
  const char* name;
  std::function<void(ModelBuilder&)> apply;
  Fault fault;
  const char* code;
  const char* place;
};
const Damage kDamages[] = {
    {"an empty piece", [](auto& b) { b.pieces[3].text = ""; }, Fault::kCorrupt, "Piece", "pieces[3]"},
    {"a piece with a zero byte", [](auto& b) { b.pieces[3].text = std::string("a\0", 2); },
     Fault::kUnsupported, "Piece", "pieces[3]"},
    {"a piece too long", [](auto& b) { b.pieces[3].text.assign(kMaxPieceBytes + 1, 'a'); }, Fault::kRefused,
     "Piece", "pieces[3]"},
    {"a piece that is not UTF-8", [](auto& b) { b.pieces[3].text = "\xC3"; }, Fault::kCorrupt, "Text",
     "pieces[3]"},
    {"a piece twice", [](auto& b) { b.pieces[4].text = "\u2581a"; }, Fault::kCorrupt, "DuplicatePiece",
     "pieces[4]"},
    {"a score that is no number", [](auto& b) { b.pieces[3].score = std::nanf(""); }, Fault::kCorrupt,
     "Score", "pieces[3]"},
    {"an infinite score", [](auto& b) { b.pieces[3].score = -std::numeric_limits<float>::infinity(); },
     Fault::kCorrupt, "Score", "pieces[3]"},
    {"a type that does not exist", [](auto& b) { b.pieces[3].extra = varint_field(3, 7); },
     Fault::kUnsupported, "PieceType", "pieces[3]"},
    {"type zero", [](auto& b) { b.pieces[3].extra = varint_field(3, 0); }, Fault::kUnsupported, "PieceType",
     "pieces[3]"},
    {"a type behind 64 bits",
     [](auto& b) { b.pieces[3].extra = tag(3, 0) + std::string(9, '\xFF') + "\x02"; }, Fault::kCorrupt,
     "Varint", "pieces[3]"},
    {"a type without end", [](auto& b) { b.pieces[3].extra = tag(3, 0) + std::string(11, '\x80'); },
     Fault::kCorrupt, "Varint", "pieces[3]"},
    {"a text that is a number", [](auto& b) { b.pieces[3].extra = varint_field(1, 1); }, Fault::kCorrupt,
     "WireType", "pieces[3]"},
    {"a score of 64 bits", [](auto& b) { b.pieces[3].extra = tag(2, 1) + "12345678"; }, Fault::kCorrupt,
     "WireType", "pieces[3]"},
    {"field number zero", [](auto& b) { b.pieces[3].extra = tag(0, 0) + "x"; }, Fault::kCorrupt, "Tag",
     "pieces[3]"},
    {"a field number too large", [](auto& b) { b.pieces[3].extra = tag(1ull << 29, 0) + "x"; },
     Fault::kCorrupt, "Tag", "pieces[3]"},
    {"wire type 6", [](auto& b) { b.pieces[3].extra = tag(9, 6) + "x"; }, Fault::kCorrupt, "Tag",
     "pieces[3]"},
    {"a length past the message", [](auto& b) { b.pieces[3].extra = tag(9, 2) + varint(9) + "x"; },
     Fault::kTruncated, "Truncated", "pieces[3]"},
    {"a length of nearly 2^64", [](auto& b) { b.pieces[3].extra = tag(9, 2) + varint(~0ull); },
     Fault::kTruncated, "Truncated", "pieces[3]"},
    {"a group without end", [](auto& b) { b.pieces[3].extra = tag(9, 3); }, Fault::kTruncated, "Truncated",
     "pieces[3]"},
    {"a group without start", [](auto& b) { b.pieces[3].extra = tag(9, 4); }, Fault::kCorrupt, "Group",
     "pieces[3]"},
    {"groups crossed", [](auto& b) { b.pieces[3].extra = tag(9, 3) + tag(8, 3) + tag(9, 4) + tag(8, 4); },
     Fault::kCorrupt, "Group", "pieces[3]"},
    {"groups too deep",
     [](auto& b) {
       for (int i = 0; i < 100; ++i) b.pieces[3].extra += tag(9, 3);
     },
     Fault::kRefused, "Group", "pieces[3]"},
    {"a model type that does not exist", [](auto& b) { b.trainer += varint_field(3, 5); },
     Fault::kUnsupported, "ModelType", "trainer_spec"},
    {"a flag that is text", [](auto& b) { b.trainer += bytes_field(35, "x"); }, Fault::kCorrupt, "WireType",
     "trainer_spec"},
    {"a surface that is not UTF-8", [](auto& b) { b.trainer += bytes_field(44, "\xFF"); }, Fault::kCorrupt,
     "Text", "trainer_spec"},
    {"a charsmap that is a number", [](auto& b) { b.normalizer += varint_field(2, 1); }, Fault::kCorrupt,
     "WireType", "normalizer_spec"},
    {"a denormalizer cut short", [](auto& b) { b.denormalizer = tag(2, 2) + varint(5) + "x"; },
     Fault::kTruncated, "Truncated", "denormalizer_spec"},
    {"self_test_data of numbers", [](auto& b) { b.behind = bytes_field(4, varint_field(1, 1)); },
     Fault::kCorrupt, "WireType", "self_test_data"},
    {"a sample that is a number",
     [](auto& b) { b.behind = bytes_field(4, bytes_field(1, varint_field(1, 1))); }, Fault::kCorrupt,
     "WireType", "self_test_data"},
    {"pieces that are a number", [](auto& b) { b.behind = varint_field(1, 1); }, Fault::kCorrupt, "WireType",
     "model"},
    {"no pieces", [](auto& b) { b.pieces.clear(); }, Fault::kCorrupt, "Missing", "model"},
    {"no unknown piece", [](auto& b) { b.pieces[0].type = PieceType::kNormal; }, Fault::kCorrupt, "Unknown",
     "model"},
    {"two unknown pieces", [](auto& b) { b.pieces[3].type = PieceType::kUnknown; }, Fault::kCorrupt,
     "Unknown", "pieces[3]"},
    {"a byte piece that is none", [](auto& b) { b.pieces[3].type = PieceType::kByte; }, Fault::kCorrupt,
     "Bytes", "pieces[3]"},
    {"a byte piece in small letters", [](auto& b) { b.pieces[3] = {"<0xab>", 0, PieceType::kByte}; },
     Fault::kCorrupt, "Bytes", "pieces[3]"},
    {"a byte piece without byte_fallback", [](auto& b) { b.pieces[3] = {"<0xAB>", 0, PieceType::kByte}; },
     Fault::kCorrupt, "Bytes", "trainer_spec"},
    {"byte_fallback without byte pieces", [](auto& b) { b.trainer += varint_field(35, 1); }, Fault::kCorrupt,
     "Bytes", "trainer_spec"},
};

TEST(SentencePieceModel, RefusesEachDamageForItsOwnReason) {
  for (const Damage& damage : kDamages) {
    ModelBuilder builder = small_builder();
    damage.apply(builder);
    const std::string file = builder.file();
    const auto model = decode_model(as_bytes(file));
    ASSERT_FALSE(model) << damage.name;
    EXPECT_EQ(model.error().fault, damage.fault) << damage.name << ": " << model.error().message;
    EXPECT_EQ(model.error().code, damage.code) << damage.name << ": " << model.error().message;
    EXPECT_EQ(model.error().place, damage.place) << damage.name << ": " << model.error().message;
  }
}

TEST(SentencePieceModel, SaysWhereTheFaultIs) {
  ModelBuilder builder = small_builder();
  builder.pieces[4].text = "\u2581a";
  const std::string file = builder.file();
  const auto duplicate = decode_model(as_bytes(file));
  ASSERT_FALSE(duplicate);
  // Behind four pieces of 16, 14, 15 and 13 bytes with their tags and lengths.
  EXPECT_EQ(duplicate.error().offset, 58u);
  const auto cut = decode_model(as_bytes(std::string_view(file).substr(0, 5)));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().offset, 0u);
  EXPECT_EQ(cut.error().fault, Fault::kTruncated);
}

// A file that lacks nothing but the last message, which says nothing here, is a whole one.
TEST(SentencePieceModel, RefusesEveryTruncation) {
  const std::string file = small_builder().file();
  const size_t without_denormalizer = file.size() - bytes_field(5, "").size();
  for (size_t kept = 0; kept < file.size(); ++kept) {
    const auto model = decode_model(as_bytes(std::string_view(file).substr(0, kept)));
    EXPECT_EQ(model.has_value(), kept == without_denormalizer) << kept;
    if (!model && kept > 0) {
      EXPECT_EQ(model.error().fault, Fault::kTruncated) << kept << model.error().message;
      EXPECT_LE(model.error().offset.value_or(SIZE_MAX), kept);
    }
  }
}

}  // namespace
}  // namespace amphora::sentencepiece
