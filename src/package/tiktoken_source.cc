// A file of ranks to a tokenizer.json.
#include "package/tiktoken_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/file.h"
#include "package/added_tokens.h"
#include "package/bpe_classes.h"
#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/limits.h"
#include "package/tiktoken.h"
#include "package/tokenizer_json.h"
#include "text/tokenizer/byte_alphabet.h"
#include "unicode/utf8.h"

namespace amphora::package {
namespace {

namespace fs = std::filesystem;

/// What tells the pre-tokenizer. An empty field tells nothing; the first line that fits is taken.
struct Hint {
  std::string_view tokenizer_class, file, model_type;
  std::string_view pre_tokenizer;
  bool nfc = false;  ///< text is normalised first, whatever the pre-tokenizer's own custom is
  bool qwen_tokens =
      false;  ///< the special tokens of Qwen's first models, which stand in their program alone
};
constexpr std::array kHints = {
    Hint{"QWenTokenizer", "", "", "qwen2", true, true},
    Hint{"", "qwen.tiktoken", "", "qwen2", true, true},
    Hint{"TikTokenTokenizer", "", "", "kimi-k2"},
    Hint{"", "", "kimi_k2", "kimi-k2"},
    Hint{"", "cl100k_base.tiktoken", "", "llama-bpe"},
    Hint{"", "o200k_base.tiktoken", "", "gpt-4o"},
    Hint{"", "", "llama", "llama-bpe"},
};

bool fits(const Hint& hint, std::string_view tokenizer_class, std::string_view file,
          std::string_view model_type) {
  if (!hint.tokenizer_class.empty()) return hint.tokenizer_class == tokenizer_class;
  if (!hint.file.empty()) return hint.file == file;
  return hint.model_type == model_type;
}

/// The path of the file, and its mapping.
struct Found {
  fs::path path;
  std::shared_ptr<const MappedFile> mapping;
};

Result<std::optional<Found>> find_file(const fs::path& directory) {
  AMPHORA_ASSIGN(const std::vector<std::string> names, files_ending_in(directory, ".tiktoken"));
  if (names.size() > 1)
    return fail_at(
        Fault::kUnsupported, "Tiktoken", names.front(), std::nullopt,
        fmt::format("{}: there are several tiktoken files: {}", directory.string(), fmt::join(names, ", ")));
  std::vector<std::string> candidates = {"tokenizer.model", "tiktoken.model"};
  candidates.insert(candidates.end(), names.begin(), names.end());
  for (const std::string& name : candidates) {
    const fs::path path = directory / name;
    if (!is_there(path)) continue;
    AMPHORA_ASSIGN(auto mapping, MappedFile::open(path));
    if (mapping->bytes().size() > kMaxRanksBytes)
      return fail(Fault::kRefused, fmt::format("{}: {} bytes are more than the limit of {} bytes",
                                               path.string(), mapping->bytes().size(), kMaxRanksBytes));
    // tokenizer.model is SentencePiece's name in the first place.
    if (name != "tokenizer.model" || looks_like_tiktoken(as_text(mapping->bytes())))
      return Found{path, std::move(mapping)};
  }
  return std::nullopt;
}

std::vector<std::string> byte_level_pieces(const std::vector<std::string>& tokens) {
  std::vector<std::string> pieces(tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i)
    for (const char byte : tokens[i])
      unicode::append_utf8(pieces[i], text::kByteCharacters[static_cast<uint8_t>(byte)]);
  return pieces;
}

/// Every id between the ranks and the last added token has a token in the reference, too.
void fill_gaps(size_t ranks, TokenSettings& settings) {
  if (settings.with_ids.empty() || settings.with_ids.back().id < ranks) return;
  std::vector<AddedToken> filled;
  uint64_t next = ranks;
  for (AddedToken& token : settings.with_ids) {
    for (; next < token.id && token.id - ranks < kMaxAddedTokens; ++next)
      filled.push_back(
          {.id = static_cast<uint32_t>(next), .content = fmt::format("<|reserved_token_{}|>", next)});
    if (token.id >= next) next = uint64_t{token.id} + 1;
    filled.push_back(std::move(token));
  }
  settings.with_ids = std::move(filled);
}

void add_qwen_tokens(size_t ranks, TokenSettings& settings) {
  std::vector<std::string> contents = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  for (int extra = 0; extra < 205; ++extra) contents.push_back(fmt::format("<|extra_{}|>", extra));
  for (const std::string& content : contents)
    settings.with_ids.push_back({.id = static_cast<uint32_t>(ranks++), .content = content});
}

struct Chosen {
  const PreTokenizer* pre_tokenizer = nullptr;
  bool nfc = false, qwen_tokens = false, assumed = false;
  std::string guessed_from = {};  ///< the model's type, where it decides because no class is given
};

Result<Chosen> choose(const TokenizerDirectory& directory, const std::string& file) {
  const auto [tokenizer_class, is_given] = tokenizer_class_of(directory);
  const json::Value* type = directory.config.find_present("model_type");
  const std::string model_type = type != nullptr && type->is_string() ? type->text() : "";
  for (const Hint& hint : kHints)
    if (fits(hint, tokenizer_class, file, model_type))
      return Chosen{find_pre_tokenizer(hint.pre_tokenizer), hint.nfc, hint.qwen_tokens, false,
                    is_given ? std::string() : std::string(hint.model_type)};
  if (directory.assumed != nullptr) return Chosen{directory.assumed, directory.assumed->nfc, false, true};
  return fail_at(
      Fault::kUnsupported, "TokenizerClass", file, std::nullopt,
      fmt::format(
          "{} is a tiktoken file, which does not say how text is cut before its ranks apply, and neither "
          "the tokenizer's class ({}) nor the model's type ({}) tells; {}",
          file, tokenizer_class.empty() ? "not named" : tokenizer_class.substr(0, 60),
          model_type.substr(0, 60), offer_to_assume()));
}

}  // namespace

Result<std::optional<TokenizerText>> read_tiktoken(const TokenizerDirectory& directory) {
  AMPHORA_ASSIGN(const auto found, find_file(directory.path));
  if (!found) return std::nullopt;
  const std::string file = found->path.filename().string();
  AMPHORA_ASSIGN(const Chosen chosen, choose(directory, file));
  const auto tokens = decode_tiktoken(as_text(found->mapping->bytes()));
  if (!tokens) return in_file(found->path, tokens.error());

  AMPHORA_ASSIGN(TokenSettings settings, read_token_settings(directory, {}, true));
  if (chosen.qwen_tokens && settings.with_ids.empty()) add_qwen_tokens(tokens->size(), settings);
  fill_gaps(tokens->size(), settings);
  const std::vector<std::string> pieces = byte_level_pieces(*tokens);
  std::unordered_map<std::string_view, uint32_t> ids;
  ids.reserve(pieces.size());
  for (uint32_t id = 0; id < pieces.size(); ++id) ids.emplace(pieces[id], id);
  const auto find_id = [&](const std::string& content) -> std::optional<uint32_t> {
    const auto id = ids.find(content);
    return id == ids.end() ? std::nullopt : std::optional(id->second);
  };
  TokenizerParts parts;
  AMPHORA_ASSIGN(parts.added_tokens, place_tokens(settings, false, pieces.size(), find_id));
  const auto named = [&](Part part, const std::optional<bool>& wanted) -> std::optional<NamedToken> {
    const auto& token = settings.part(part);
    if (!wanted.value_or(false) || !token) return std::nullopt;
    const auto placed = std::ranges::find(parts.added_tokens, token->content, &AddedToken::content);
    if (placed == parts.added_tokens.end()) return std::nullopt;
    return NamedToken{placed->id, placed->content};
  };
  if (chosen.nfc) parts.normalizer = R"({"type":"NFC"})";
  parts.pre_tokenizer = pre_tokenizer_json(*chosen.pre_tokenizer);
  parts.post_processor =
      post_processor_json(named(Part::kBos, settings.adds_bos), named(Part::kEos, settings.adds_eos));
  parts.decoder = kByteLevelDecoder;
  // tiktoken takes a word that is a token whole, without a look at the ranks of its parts.
  parts.model = bpe_model_json(
      R"("unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)"
      R"("byte_fallback":false,"ignore_merges":true)",
      pieces, merges_of_ranks(*tokens));

  std::vector<std::string> notes;
  if (!chosen.guessed_from.empty())
    notes.push_back(
        fmt::format("tokenizer_class is not given: how text is cut follows from the model's type {}",
                    chosen.guessed_from));
  notes.push_back(fmt::format("{} ({} ranks) became a tokenizer.json with the pre-tokenizer {}", file,
                              tokens->size(), chosen.pre_tokenizer->name));
  if (parts.added_tokens.empty())
    notes.push_back(fmt::format("nothing beside {} names special tokens: the tokenizer has none", file));
  TokenizerText text = owned_tokenizer(tokenizer_json(parts), std::move(notes));
  text.took_assumed = chosen.assumed;
  return text;
}

}  // namespace amphora::package
