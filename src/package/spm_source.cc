// The SentencePiece model of a Hugging Face directory, with what its tokenizer class adds.
#include "package/spm_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/file.h"
#include "formats/sentencepiece/model.h"
#include "package/added_tokens.h"
#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/limits.h"
#include "package/object_reader.h"
#include "package/spm_tokenizer.h"

namespace amphora::package {
namespace {

namespace fs = std::filesystem;
using sentencepiece::Model;
using sentencepiece::PieceType;

/// What a tokenizer class of transformers does beside SentencePiece.
struct TokenizerClass {
  std::string_view name;  ///< without "Fast"
  bool adds_bos, adds_eos;
  bool reads_flags;    ///< add_bos_token and add_eos_token count
  bool has_sentinels;  ///< <extra_id_0> … follow the pieces, the last one first
};
constexpr std::array kClasses = {
    TokenizerClass{"LlamaTokenizer", true, false, true, false},
    TokenizerClass{"CodeLlamaTokenizer", true, false, true, false},
    TokenizerClass{"GemmaTokenizer", true, false, true, false},
    TokenizerClass{"T5Tokenizer", false, true, false, true},
    TokenizerClass{"MT5Tokenizer", false, true, false, true},
};
constexpr const TokenizerClass& kUnnamedClass = kClasses[0];

/// The first that is there is taken.
constexpr std::array<std::string_view, 3> kModelNames = {"tokenizer.model", "spiece.model",
                                                         "sentencepiece.bpe.model"};

constexpr uint32_t kUsualSentinels = 100;
constexpr uint32_t kMaxSentinels = 1u << 16;

/// The class of a model's type, where no class is named. All types that are not T5's read as kUnnamedClass.
const TokenizerClass& class_of_model(const json::Value& config) {
  const json::Value* type = config.find_present("model_type");
  const bool is_t5 = type != nullptr && type->is_string() &&
                     (type->text() == "t5" || type->text() == "mt5" || type->text() == "umt5");
  return is_t5 ? *std::ranges::find(kClasses, "T5Tokenizer", &TokenizerClass::name) : kUnnamedClass;
}

Result<const TokenizerClass*> choose_class(ObjectReader& config, const json::Value& model_config,
                                           std::vector<std::string>& notes) {
  const std::string* name = config.find_string("tokenizer_class");
  AMPHORA_TRY(config.status());
  if (name == nullptr)
    if (const json::Value* value = model_config.find_present("tokenizer_class");
        value != nullptr && value->is_string())
      name = &value->text();
  if (name == nullptr) {
    const TokenizerClass& guessed = class_of_model(model_config);
    notes.push_back(fmt::format("tokenizer_class is not given: read as {}", guessed.name));
    return &guessed;
  }
  std::string_view wanted = *name;
  if (wanted.ends_with("Fast")) wanted.remove_suffix(4);
  std::string known;
  for (const TokenizerClass& one : kClasses) {
    if (one.name == wanted) return &one;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", one.name);
  }
  return fail_at(
      Fault::kUnsupported, "TokenizerClass", config.place("tokenizer_class"), std::nullopt,
      fmt::format("the tokenizer class {} is not supported with a SentencePiece model (supported: {})",
                  name->substr(0, 60), known));
}

/// T5's sentinels have numbers behind the pieces that count down.
Status add_sentinels(ObjectReader& config, size_t piece_count, TokenSettings& tokens) {
  const uint32_t count = config.find_integer("extra_ids").value_or(kUsualSentinels);
  if (count > kMaxSentinels)
    config.reject("extra_ids", fmt::format("{} is more than the limit of {}", count, kMaxSentinels),
                  Fault::kRefused);
  AMPHORA_TRY(config.status());
  const bool are_listed = std::ranges::any_of(
      tokens.with_ids, [](const AddedToken& token) { return token.content.starts_with("<extra_id_"); });
  if (are_listed) return {};
  for (uint32_t i = 0; i < count; ++i)
    tokens.with_ids.push_back({.id = static_cast<uint32_t>(piece_count) + i,
                               .content = fmt::format("<extra_id_{}>", count - 1 - i)});
  std::ranges::stable_sort(tokens.with_ids, {}, &AddedToken::id);
  return {};
}

/// A place for a token: before or behind a text.
struct FramePlace {
  Part part;
  std::string_view flag, token, where;
};
constexpr FramePlace kBefore{Part::kBos, "add_bos_token", "bos_token", "before"};
constexpr FramePlace kBehind{Part::kEos, "add_eos_token", "eos_token", "behind"};

/// What decides about a token that frames a text.
struct TemplateFraming {
  std::optional<bool> says;  ///< by the flag, or by a class that reads none
  bool by_default;
  std::string text;  ///< the token
};

/// The token that goes before or behind a text, if one does.
Result<std::optional<NamedToken>> find_framing_token(const FramePlace& place, const TemplateFraming& framing,
                                                     const TokenSettings& tokens,
                                                     const std::vector<AddedToken>& placed,
                                                     const FindId& find_id, std::vector<std::string>& notes) {
  if (!framing.says.value_or(framing.by_default)) return std::nullopt;
  if (tokens.is_denied(place.part)) {
    notes.push_back(fmt::format("{} is null: no token is put {} a text", place.token, place.where));
    return std::nullopt;
  }
  for (const AddedToken& token : placed)
    if (token.content == framing.text) return NamedToken{token.id, framing.text};
  if (const auto id = find_id(framing.text)) return NamedToken{*id, framing.text};
  if (!framing.says) return std::nullopt;
  return fail_at(
      Fault::kCorrupt, "AddedTokenId", "$" + json::path_step(place.flag), std::nullopt,
      fmt::format("texts are to have the token {}, which does not exist", json_text(framing.text)));
}

/// Which stretches of ordinary text get a space before them. "legacy" is what transformers calls the way in
/// which each of them is a text by itself.
DummyPrefix prefix_of(ObjectReader& config, const TokenizerClass& tokenizer_class) {
  if (!config.find_bool("add_prefix_space").value_or(true)) return DummyPrefix::kNever;
  const bool is_legacy = config.find_bool("legacy").value_or(true) || tokenizer_class.has_sentinels;
  return is_legacy ? DummyPrefix::kAlways : DummyPrefix::kFirst;
}

Result<SpmSettings> read_settings(const Model& model, const TokenizerDirectory& directory,
                                  std::vector<std::string>& notes) {
  const json::Value empty = json::Value::object();
  ObjectReader config(directory.tokenizer_config.is_object() ? directory.tokenizer_config : empty, "$");
  AMPHORA_ASSIGN(const TokenizerClass* tokenizer_class, choose_class(config, directory.config, notes));
  if (const json::Value* options = config.find_object("sp_model_kwargs");
      options != nullptr && !options->members().empty())
    config.reject("sp_model_kwargs", "options of SentencePiece are not supported", Fault::kUnsupported);
  AMPHORA_TRY(config.status());

  AMPHORA_ASSIGN(TokenSettings tokens, read_token_settings(directory, {}, false));
  if (tokenizer_class->has_sentinels) AMPHORA_TRY(add_sentinels(config, model.pieces.size(), tokens));
  std::unordered_map<std::string_view, uint32_t> ids;
  ids.reserve(model.pieces.size());
  for (uint32_t id = 0; id < model.pieces.size(); ++id) ids.emplace(model.pieces[id].text, id);
  const FindId find_id = [&](const std::string& text) -> std::optional<uint32_t> {
    const auto found = ids.find(text);
    return found == ids.end() ? std::nullopt : std::optional(found->second);
  };
  SpmSettings settings;
  AMPHORA_ASSIGN(settings.added_tokens, place_tokens(tokens, false, model.pieces.size(), find_id));

  const auto text_of = [&](Part part, std::string_view otherwise) {
    return tokens.part(part) ? tokens.part(part)->content : std::string(otherwise);
  };
  const std::string_view unknown = model.pieces[model.unknown_id].text;
  if (const std::string named = text_of(Part::kUnknown, unknown); named != unknown)
    return fail_at(Fault::kUnsupported, "UnknownToken", "$.unk_token", std::nullopt,
                   fmt::format("the unknown token is {}, but the model's unknown piece is {}",
                               json_text(named), json_text(unknown)));
  const auto framing_token = [&](const FramePlace& place, std::optional<bool> says, bool by_default,
                                 std::string_view piece) {
    if (!tokenizer_class->reads_flags) {
      if (says && *says != by_default)
        notes.push_back(
            fmt::format("{} = {} has no effect with {}", place.flag, *says, tokenizer_class->name));
      says = by_default;
    }
    return find_framing_token(place, {says, by_default, text_of(place.part, piece)}, tokens,
                              settings.added_tokens, find_id, notes);
  };
  AMPHORA_ASSIGN(settings.bos,
                 framing_token(kBefore, tokens.adds_bos, tokenizer_class->adds_bos, model.trainer.bos_piece));
  AMPHORA_ASSIGN(settings.eos,
                 framing_token(kBehind, tokens.adds_eos, tokenizer_class->adds_eos, model.trainer.eos_piece));
  settings.dummy_prefix = prefix_of(config, *tokenizer_class);
  AMPHORA_TRY(config.status());
  return settings;
}

}  // namespace

Result<std::optional<TokenizerText>> read_spm_tokenizer(const TokenizerDirectory& directory) {
  for (const std::string_view name : kModelNames) {
    const fs::path path = directory.path / name;
    if (!is_there(path)) continue;
    AMPHORA_ASSIGN(const auto mapping, MappedFile::open(path));
    // Files for tiktoken have this name, too.
    if (name == "tokenizer.model" && !sentencepiece::looks_like_model(mapping->bytes())) continue;
    const auto model = sentencepiece::decode_model(mapping->bytes());
    if (!model) return in_file(path, model.error());
    std::vector<std::string> notes;
    AMPHORA_ASSIGN(const SpmSettings settings, read_settings(*model, directory, notes));
    auto tokenizer = write_spm_tokenizer(*model, settings);
    if (!tokenizer) return in_file(path, tokenizer.error());
    for (const std::string_view other : kModelNames)
      if (other != name && is_there(directory.path / other))
        notes.push_back(fmt::format("{} is left aside: {} is there, too", other, name));
    notes.push_back(
        fmt::format("{} (SentencePiece, {}, {} pieces) became a tokenizer.json{}", name,
                    algorithm_name(model->trainer.model_type), model->pieces.size(),
                    tokenizer->is_standard ? "" : ", with components that other programs do not know"));
    return owned_tokenizer(std::move(tokenizer->json), std::move(notes));
  }
  return std::nullopt;
}

}  // namespace amphora::package
