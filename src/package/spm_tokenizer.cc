// Writes a tokenizer.json from a SentencePiece model.
#include "package/spm_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include "amphora/json.h"
#include "base/base64.h"
#include "package/spm_merges.h"

namespace amphora::package {
namespace {

using sentencepiece::Model;
using sentencepiece::ModelType;
using sentencepiece::PieceType;

bool has_type(const Model& model, PieceType type) {
  return std::ranges::find(model.pieces, type, &sentencepiece::Piece::type) != model.pieces.end();
}

/// Merges for Hugging Face's components, if they do exactly the same.
std::optional<std::vector<Merge>> find_standard_merges(const Model& model, DummyPrefix prefix) {
  const auto& normalizer = model.normalizer;
  if (model.trainer.model_type != ModelType::kBpe) return std::nullopt;
  // Without byte_fallback a text can hold unknown pieces, which Hugging Face decodes otherwise.
  if (!model.trainer.byte_fallback) return std::nullopt;
  if (!normalizer.precompiled_charsmap.empty() || normalizer.remove_extra_whitespaces ||
      !normalizer.escape_whitespaces)
    return std::nullopt;
  if (prefix == DummyPrefix::kFirst ||
      (prefix == DummyPrefix::kAlways && model.trainer.treat_whitespace_as_suffix))
    return std::nullopt;
  if (has_type(model, PieceType::kUserDefined) || has_type(model, PieceType::kUnused)) return std::nullopt;
  return find_equal_merges(model);
}

void write_standard(const Model& model, DummyPrefix prefix, std::span<const Merge> merges,
                    TokenizerParts& parts) {
  std::vector<std::string> pieces;
  pieces.reserve(model.pieces.size());
  for (const sentencepiece::Piece& piece : model.pieces) pieces.emplace_back(piece.text);
  LlamaComponents components =
      llama_components(prefix == DummyPrefix::kAlways, pieces[model.unknown_id], model.trainer.byte_fallback);
  parts.normalizer = std::move(components.normalizer);
  parts.decoder = std::move(components.decoder);
  parts.model = bpe_model_json(components.model_fields, pieces, merges);
}

std::string_view prefix_name(DummyPrefix prefix) {
  switch (prefix) {
    case DummyPrefix::kNever: return "never";
    case DummyPrefix::kFirst: return "first";
    case DummyPrefix::kAlways: return "always";
  }
  return "never";
}

/// Empty for ordinary pieces.
std::string_view kind_name(PieceType type) {
  switch (type) {
    case PieceType::kNormal: return "";
    case PieceType::kUnknown: return "unknown";
    case PieceType::kControl: return "control";
    case PieceType::kUserDefined: return "user_defined";
    case PieceType::kUnused: return "unused";
    case PieceType::kByte: return "byte";
  }
  return "";
}

/// The components of the type SentencePiece: docs/formats/tokenizer.md.
void write_own(const Model& model, DummyPrefix prefix, TokenizerParts& parts) {
  const auto& normalizer = model.normalizer;
  std::string symbols;
  for (const sentencepiece::Piece& piece : model.pieces)
    if (piece.type == PieceType::kUserDefined)
      symbols += (symbols.empty() ? "" : ",") + json_text(piece.text);
  parts.normalizer = fmt::format(
      R"({{"type":"SentencePiece","precompiled_charsmap":"{}","user_defined_symbols":[{}],"dummy_prefix":"{}",)"
      R"("treat_whitespace_as_suffix":{},"remove_extra_whitespaces":{},"escape_whitespaces":{}}})",
      encode_base64(as_text(normalizer.precompiled_charsmap)), symbols, prefix_name(prefix),
      model.trainer.treat_whitespace_as_suffix, normalizer.remove_extra_whitespaces,
      normalizer.escape_whitespaces);
  parts.decoder = fmt::format(
      R"({{"type":"SentencePiece","unk_piece":{},"unk_surface":{},"byte_fallback":{},"add_dummy_prefix":{},)"
      R"("remove_extra_whitespaces":{}}})",
      json_text(model.pieces[model.unknown_id].text), json_text(model.trainer.unk_surface),
      model.trainer.byte_fallback, prefix != DummyPrefix::kNever, normalizer.remove_extra_whitespaces);
  parts.model = fmt::format(R"({{"type":"SentencePiece","algorithm":"{}","byte_fallback":{},"vocab":[)",
                            algorithm_name(model.trainer.model_type), model.trainer.byte_fallback);
  for (size_t id = 0; id < model.pieces.size(); ++id) {
    const sentencepiece::Piece& piece = model.pieces[id];
    fmt::format_to(std::back_inserter(parts.model), "{}[{},{}", id == 0 ? "" : ",", json_text(piece.text),
                   json::dump(json::Value::number(piece.score)));
    if (const std::string_view kind = kind_name(piece.type); !kind.empty())
      fmt::format_to(std::back_inserter(parts.model), R"(,"{}")", kind);
    parts.model += ']';
  }
  parts.model += "]}";
}

/// Control pieces and what the settings add, by id. User-defined pieces belong to the model, which takes them
/// out of a text itself; so does the unknown piece, which has a text of its own when it is decoded.
std::vector<AddedToken> added_tokens(const Model& model, const SpmSettings& settings, bool is_standard) {
  std::vector<AddedToken> tokens;
  std::unordered_set<uint32_t> settled;
  for (const AddedToken& token : settings.added_tokens) {
    settled.insert(token.id);
    const auto type =
        token.id < model.pieces.size() ? std::optional(model.pieces[token.id].type) : std::nullopt;
    if (type == PieceType::kUnknown && !is_standard) continue;
    if (type == PieceType::kUserDefined && !token.special) continue;
    tokens.push_back(token);
    tokens.back().normalized = false;  // SentencePiece sees only the text between them
  }
  for (uint32_t id = 0; id < model.pieces.size(); ++id) {
    const PieceType type = model.pieces[id].type;
    const bool is_added = type == PieceType::kControl || (is_standard && type == PieceType::kUnknown);
    if (is_added && !settled.contains(id))
      tokens.push_back({.id = id, .content = std::string(model.pieces[id].text)});
  }
  std::ranges::sort(tokens, {}, &AddedToken::id);
  return tokens;
}

}  // namespace

std::string_view algorithm_name(ModelType type) {
  switch (type) {
    case ModelType::kUnigram: return "unigram";
    case ModelType::kBpe: return "bpe";
    case ModelType::kWord: return "word";
    case ModelType::kChar: return "char";
  }
  return "unigram";
}

Result<SpmTokenizer> write_spm_tokenizer(const Model& model, const SpmSettings& settings) {
  if (!model.denormalizer.precompiled_charsmap.empty())
    return fail_at(Fault::kUnsupported, "Denormalizer", "denormalizer_spec", std::nullopt,
                   "the model rewrites decoded text by a map of its own, which is not supported");
  const DummyPrefix prefix = model.normalizer.add_dummy_prefix ? settings.dummy_prefix : DummyPrefix::kNever;
  TokenizerParts parts;
  const auto merges = find_standard_merges(model, prefix);
  if (merges)
    write_standard(model, prefix, *merges, parts);
  else
    write_own(model, prefix, parts);
  parts.added_tokens = added_tokens(model, settings, merges.has_value());
  parts.post_processor = post_processor_json(settings.bos, settings.eos);
  return SpmTokenizer{tokenizer_json(parts), merges.has_value()};
}

Result<SpmTokenizer> write_bare_spm_tokenizer(Bytes file) {
  AMPHORA_ASSIGN(const Model model, sentencepiece::decode_model(file));
  return write_spm_tokenizer(model, {});
}

}  // namespace amphora::package
