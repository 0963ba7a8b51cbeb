// Components of the type SentencePiece: what they refuse, and what they do where the trained models of
// package/spm_tokenizer_test.cc do not go.
#include "text/tokenizer/sentence_piece.h"

#include <gtest/gtest.h>

#include "text/tokenizer.h"

namespace amphora::text {
namespace {

constexpr std::string_view kNormalizer =
    R"({"type":"SentencePiece","precompiled_charsmap":"","user_defined_symbols":["<x>"],"dummy_prefix":"always","treat_whitespace_as_suffix":false,"remove_extra_whitespaces":false,"escape_whitespaces":true})";
constexpr std::string_view kModel =
    R"({"type":"SentencePiece","algorithm":"bpe","byte_fallback":false,"vocab":[["<unk>",0,"unknown"],["<s>",0,"control"],["<x>",0,"user_defined"],["▁",-3],["a",-4],["b",-5],["▁a",-1],["ab",-2]]})";
constexpr std::string_view kDecoder =
    R"({"type":"SentencePiece","unk_piece":"<unk>","unk_surface":" ⁇ ","byte_fallback":false,"add_dummy_prefix":true,"remove_extra_whitespaces":false})";
constexpr std::string_view kAdded =
    R"({"id":1,"content":"<s>","single_word":false,"lstrip":false,"rstrip":false,"normalized":false,"special":true})";

std::string whole(std::string_view normalizer, std::string_view model, std::string_view decoder) {
  return std::string(R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)") +
         std::string(kAdded) + R"(],"normalizer":)" + std::string(normalizer) +
         R"(,"pre_tokenizer":null,"post_processor":null,"decoder":)" + std::string(decoder) + R"(,"model":)" +
         std::string(model) + "}";
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

std::shared_ptr<const Tokenizer> load_sentence_piece(std::string_view normalizer = kNormalizer,
                                                     std::string_view model = kModel) {
  auto tokenizer = Tokenizer::from_json(whole(normalizer, model, kDecoder));
  EXPECT_TRUE(tokenizer) << tokenizer.error().place << ": " << tokenizer.error().message;
  return *tokenizer;
}

struct SentencePieceDamage {
  const char* name;
  std::string_view part, from, to;
  Fault fault;
  std::string_view place;
};
const SentencePieceDamage kDamages[] = {
    {"an unknown algorithm", kModel, R"("bpe")", R"("lattice")", Fault::kUnsupported, "$.model.algorithm"},
    {"no algorithm", kModel, R"("algorithm":"bpe",)", "", Fault::kUnsupported, "$.model.algorithm"},
    {"a field of another model", kModel, R"("byte_fallback")", R"("unk_id":0,"byte_fallback")",
     Fault::kUnsupported, "$.model.unk_id"},
    {"a kind that does not exist", kModel, R"("control")", R"("magic")", Fault::kCorrupt, "$.model.vocab[1]"},
    {"a kind that is a number", kModel, R"("control")", "3", Fault::kCorrupt, "$.model.vocab[1]"},
    {"a score that is text", kModel, "-4", R"("x")", Fault::kCorrupt, "$.model.vocab[4]"},
    {"a score beyond float", kModel, "-4", "-4e38", Fault::kCorrupt, "$.model.vocab[4]"},
    {"a piece without score", kModel, R"(["a",-4])", R"(["a"])", Fault::kCorrupt, "$.model.vocab[4]"},
    {"a piece of four fields", kModel, R"(["a",-4])", R"(["a",-4,"normal",1])", Fault::kCorrupt,
     "$.model.vocab[4]"},
    {"an empty piece", kModel, R"("a",)", R"("",)", Fault::kCorrupt, "$.model.vocab[4]"},
    {"a piece twice", kModel, R"("ab")", R"("a")", Fault::kCorrupt, ""},
    {"no unknown piece", kModel, R"(,"unknown")", "", Fault::kCorrupt, "$.model.vocab"},
    {"two unknown pieces", kModel, R"("user_defined")", R"("unknown")", Fault::kCorrupt, "$.model.vocab"},
    {"byte_fallback without bytes", kModel, R"("byte_fallback":false)", R"("byte_fallback":true)",
     Fault::kCorrupt, "$.model.vocab"},
    {"no pieces", kModel, R"("vocab":[["<unk>",0,"unknown"],)", R"("vocab":[],"x":[)", Fault::kUnsupported,
     "$.model.x"},
    {"a prefix of another name", kNormalizer, R"("always")", R"("often")", Fault::kCorrupt,
     "$.normalizer.dummy_prefix"},
    {"symbols that are a text", kNormalizer, R"(["<x>"])", R"("<x>")", Fault::kCorrupt,
     "$.normalizer.user_defined_symbols"},
    {"a symbol that is a number", kNormalizer, R"(["<x>"])", "[1]", Fault::kCorrupt,
     "$.normalizer.user_defined_symbols"},
    {"an empty symbol", kNormalizer, R"(["<x>"])", R"([""])", Fault::kCorrupt,
     "$.normalizer.user_defined_symbols"},
    {"a symbol twice", kNormalizer, R"(["<x>"])", R"(["<x>","<x>"])", Fault::kCorrupt,
     "$.normalizer.user_defined_symbols"},
    {"a map that is not base64", kNormalizer, R"("precompiled_charsmap":"")", R"("precompiled_charsmap":"?")",
     Fault::kCorrupt, "$.normalizer.precompiled_charsmap"},
    {"a map cut short", kNormalizer, R"("precompiled_charsmap":"")", R"("precompiled_charsmap":"AAA=")",
     Fault::kCorrupt, "$.normalizer.precompiled_charsmap"},
    {"a flag left out", kNormalizer, R"(,"escape_whitespaces":true)", "", Fault::kCorrupt,
     "$.normalizer.escape_whitespaces"},
    {"a further field", kNormalizer, R"(,"escape_whitespaces":true)", R"(,"escape_whitespaces":true,"x":1)",
     Fault::kUnsupported, "$.normalizer"},
    {"no surface", kDecoder, R"("unk_surface":" ⁇ ",)", "", Fault::kCorrupt, "$.decoder.unk_surface"},
    {"a further field of the decoder", kDecoder, R"("unk_surface")", R"("x":1,"unk_surface")",
     Fault::kUnsupported, "$.decoder"},
};

TEST(SentencePiece, RefusesEachDamageForItsOwnReason) {
  ASSERT_TRUE(Tokenizer::from_json(whole(kNormalizer, kModel, kDecoder)));
  for (const SentencePieceDamage& damage : kDamages) {
    const std::string part = replaced(damage.part, damage.from, damage.to);
    const auto tokenizer =
        Tokenizer::from_json(whole(damage.part == kNormalizer ? part : std::string(kNormalizer),
                                   damage.part == kModel ? part : std::string(kModel),
                                   damage.part == kDecoder ? part : std::string(kDecoder)));
    ASSERT_FALSE(tokenizer) << damage.name;
    EXPECT_EQ(tokenizer.error().fault, damage.fault) << damage.name << ": " << tokenizer.error().message;
    EXPECT_TRUE(tokenizer.error().place.starts_with(damage.place))
        << damage.name << ": " << tokenizer.error().place << tokenizer.error().message;
  }
}

TEST(SentencePiece, RefusesEveryTruncation) {
  const std::string json = whole(kNormalizer, kModel, kDecoder);
  for (size_t kept = 0; kept < json.size(); ++kept)
    ASSERT_FALSE(Tokenizer::from_json(std::string_view(json).substr(0, kept))) << kept;
}

// "first" looks at where a stretch stands in the whole text; a control piece parts the text only where
// special tokens count.
TEST(SentencePiece, PutsThePrefixWhereTheSchemeSays) {
  using Ids = std::vector<TokenId>;
  EXPECT_EQ(load_sentence_piece()->encode("a<s>a").value(), (Ids{6, 1, 6}));
  const std::string first = replaced(kNormalizer, "always", "first");
  EXPECT_EQ(load_sentence_piece(first)->encode("a<s>a").value(), (Ids{6, 1, 4}));
  EXPECT_EQ(load_sentence_piece(first)->encode("<s>a").value(), (Ids{1, 4}));
  EXPECT_EQ(load_sentence_piece(replaced(kNormalizer, "always", "never"))->encode("a<s>a").value(),
            (Ids{4, 1, 4}));
  EXPECT_EQ(load_sentence_piece()->encode("a<s>a", {.parse_special = false}).value(), (Ids{6, 0, 4}));
}

TEST(SentencePiece, MergesALongWordInTimeThatIsCloseToLinear) {
  const auto tokenizer = load_sentence_piece();
  std::string text;
  for (int i = 0; i < 200'000; ++i) text += "ab";
  const auto ids = tokenizer->encode(text).value();
  ASSERT_EQ(ids.size(), 200'001u);
  EXPECT_EQ(ids[0], 6u);
  EXPECT_EQ(ids[1], 5u);
  EXPECT_EQ(ids[2], 7u);
  EXPECT_EQ(tokenizer->decode(ids).value(), text);
}

}  // namespace
}  // namespace amphora::text
