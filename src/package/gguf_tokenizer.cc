// Writes a tokenizer.json from GGUF metadata.
#include "package/gguf_tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "package/gguf_metadata.h"
#include "package/gguf_vocabulary.h"
#include "package/piece_merges.h"
#include "package/tokenizer_json.h"
#include "unicode/utf8.h"

namespace amphora::package {
namespace {

/// Tokens that end a turn or a text in the families that this program reads. Files often name only one of
/// them as end of sequence.
constexpr std::array<std::string_view, 8> kStopTokens = {"<|im_end|>", "<|endoftext|>", "<|eot_id|>",
                                                         "<|eom_id|>", "<end_of_turn>", "<|end_of_text|>",
                                                         "<|end|>",    "<EOT>"};

/// The ids that the file names, each within the vocabulary.
struct NamedIds {
  std::optional<uint32_t> bos, eos, eot, eom, unknown, padding;
};

NamedIds read_named_ids(MetadataReader& metadata, size_t token_count) {
  const auto read = [&](std::string_view key) -> std::optional<uint32_t> {
    const auto id = metadata.find_integer(key);
    if (!id || *id == std::numeric_limits<uint32_t>::max()) return std::nullopt;  // -1: some writers' "none"
    if (*id < token_count) return id;
    metadata.reject(key, fmt::format("{} is not below the number of tokens, {}", *id, token_count));
    return std::nullopt;
  };
  return {read("bos_token_id"), read("eos_token_id"),     read("eot_token_id"),
          read("eom_token_id"), read("unknown_token_id"), read("padding_token_id")};
}

bool is_added(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUserDefined || type == TokenType::kUnknown;
}

std::vector<uint32_t> stop_ids(const Vocabulary& vocabulary, const NamedIds& named) {
  std::vector<uint32_t> ids;
  const auto add = [&](std::optional<uint32_t> id) {
    if (id && std::ranges::find(ids, *id) == ids.end()) ids.push_back(*id);
  };
  add(named.eos);
  add(named.eot);
  add(named.eom);
  for (const std::string_view token : kStopTokens)
    if (const auto id = vocabulary.find(token); id && is_added(vocabulary.types[*id])) add(id);
  return ids;
}

/// What the parts of a tokenizer.json are made from; it differs by model.
struct Parts {
  std::vector<std::string> pieces;  ///< by id, as they stand in the vocabulary
  std::string normalizer = "null", pre_tokenizer = "null", decoder;
  std::string model_fields;  ///< of the BPE model, before vocab and merges
  std::vector<Merge> merges;
  size_t merges_left_out = 0;
};

std::string write_tokenizer(Parts parts, const Vocabulary& vocabulary, std::optional<uint32_t> bos,
                            std::optional<uint32_t> eos) {
  TokenizerParts whole;
  for (uint32_t id = 0; id < vocabulary.tokens.size(); ++id)
    if (is_added(vocabulary.types[id]))
      whole.added_tokens.push_back({.id = id,
                                    .content = parts.pieces[id],
                                    .special = vocabulary.types[id] != TokenType::kUserDefined});
  const auto named = [&](std::optional<uint32_t> id) {
    return id ? std::optional(NamedToken{*id, parts.pieces[*id]}) : std::nullopt;
  };
  whole.normalizer = std::move(parts.normalizer);
  whole.pre_tokenizer = std::move(parts.pre_tokenizer);
  whole.post_processor = post_processor_json(named(bos), named(eos));
  whole.decoder = std::move(parts.decoder);
  whole.model = bpe_model_json(parts.model_fields, parts.pieces, parts.merges);
  return tokenizer_json(whole);
}

/// Merges of a byte-level model stand in the file. One that needs or makes a token which does not exist can
/// never apply: it is left out, since Hugging Face's reader would refuse the whole tokenizer for it.
void read_merges(MetadataReader& metadata, const Vocabulary& vocabulary, Parts& parts) {
  const gguf::Array* merges = metadata.read_array("merges", gguf::ValueType::kString);
  if (merges == nullptr) return;
  std::string whole;
  for (size_t i = 0; i < merges->strings.size(); ++i) {
    const std::string_view merge = merges->strings[i];
    const size_t space = merge.find(' ');
    if (space == 0 || space == std::string_view::npos || space + 1 == merge.size() ||
        merge.find(' ', space + 1) != std::string_view::npos)
      return metadata.reject("merges", fmt::format("merge {} is not two pieces with one space between", i));
    const std::string_view left = merge.substr(0, space), right = merge.substr(space + 1);
    whole.assign(left).append(right);
    const auto left_id = vocabulary.find(left), right_id = vocabulary.find(right);
    if (left_id && right_id && vocabulary.find(whole))
      parts.merges.push_back({*left_id, *right_id});
    else
      ++parts.merges_left_out;
  }
}

Parts byte_level_parts(MetadataReader& metadata, const Vocabulary& vocabulary, const PreTokenizer& pre) {
  Parts parts;
  parts.pieces.assign(vocabulary.tokens.begin(), vocabulary.tokens.end());
  if (pre.nfc) parts.normalizer = R"({"type":"NFC"})";
  parts.pre_tokenizer = pre_tokenizer_json(pre);
  parts.decoder = R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":false})";
  parts.model_fields = fmt::format(
      R"("unk_token":null,"continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)"
      R"("byte_fallback":false,"ignore_merges":{})",
      pre.ignore_merges);
  read_merges(metadata, vocabulary, parts);
  return parts;
}

/// The pieces as SentencePiece has them: GGUF writers turn the ▁ of user-defined pieces into spaces.
std::vector<std::string> sentence_pieces(const Vocabulary& vocabulary) {
  std::vector<std::string> pieces(vocabulary.tokens.begin(), vocabulary.tokens.end());
  for (uint32_t id = 0; id < pieces.size(); ++id) {
    if (vocabulary.types[id] != TokenType::kUserDefined || !pieces[id].contains(' ')) continue;
    std::string marked;
    for (const char c : pieces[id]) c == ' ' ? marked += kSpaceMark : marked += c;
    if (!vocabulary.find(marked)) pieces[id] = std::move(marked);
  }
  return pieces;
}

void generate_merges(const Vocabulary& vocabulary, Parts& parts) {
  std::vector<Piece> pieces;
  std::unordered_map<std::string_view, uint32_t> ids;
  ids.reserve(parts.pieces.size());
  for (uint32_t id = 0; id < parts.pieces.size(); ++id) {
    const TokenType type = vocabulary.types[id];
    // SentencePiece gives user-defined pieces the score 0, above all learned ones; GGUF writers replace it.
    const float score = type == TokenType::kUserDefined ? 0.0f : vocabulary.scores[id];
    const bool merges =
        type != TokenType::kControl && type != TokenType::kUnknown && type != TokenType::kByte;
    pieces.push_back({parts.pieces[id], score, merges});
    ids.emplace(parts.pieces[id], id);
  }
  parts.merges = merges_of_pieces(pieces, ids);
}

Parts sentence_piece_parts(MetadataReader& metadata, const Vocabulary& vocabulary,
                           std::optional<uint32_t> unknown) {
  Parts parts;
  if (vocabulary.scores.empty())
    metadata.reject("scores", "there are none, and merges cannot be found without");
  if (metadata.find_bool("remove_extra_whitespaces").value_or(false))
    metadata.reject("remove_extra_whitespaces", "removing white space is not supported", Fault::kUnsupported);
  if (metadata.find("precompiled_charsmap") != nullptr)
    metadata.reject("precompiled_charsmap", "a character map is not supported with the model llama",
                    Fault::kUnsupported);
  const bool prefix = metadata.find_bool("add_space_prefix").value_or(true);
  if (!metadata.ok()) return parts;

  parts.pieces = sentence_pieces(vocabulary);
  const bool byte_fallback = std::ranges::find(vocabulary.types, TokenType::kByte) != vocabulary.types.end();
  LlamaComponents components = llama_components(
      prefix, unknown ? std::optional<std::string_view>(parts.pieces[*unknown]) : std::nullopt,
      byte_fallback);
  parts.normalizer = std::move(components.normalizer);
  parts.decoder = std::move(components.decoder);
  parts.model_fields = std::move(components.model_fields);
  generate_merges(vocabulary, parts);
  return parts;
}

std::unexpected<Error> unsupported(std::string_view key, std::string message) {
  return fail_at(Fault::kUnsupported, "Tokenizer", std::string(key), std::nullopt, std::move(message));
}

/// The pre-tokenizer that the file names, or the one that is to be assumed if it names none that is known.
Result<const PreTokenizer*> settle_pre_tokenizer(MetadataReader& metadata, const PreTokenizer* assumed,
                                                 bool& took_assumed) {
  const auto name = metadata.find_string("pre");
  AMPHORA_TRY(metadata.status());
  const PreTokenizer* known = name ? find_pre_tokenizer(*name) : nullptr;
  if (known != nullptr) return known;
  took_assumed = assumed != nullptr;
  if (took_assumed) return assumed;
  return unsupported(
      "tokenizer.ggml.pre",
      fmt::format("{}; {}",
                  name ? fmt::format("the pre-tokenizer \"{}\" is unknown", name->substr(0, 40))
                       : "the file does not name its pre-tokenizer",
                  offer_to_assume()));
}

Result<std::optional<std::string>> read_chat_template(const gguf::Directory& directory) {
  MetadataReader metadata(directory, "tokenizer.");
  const auto chat_template = metadata.find_string("chat_template");
  if (chat_template && !unicode::is_utf8(*chat_template))
    metadata.reject("chat_template", "the text is not UTF-8");
  AMPHORA_TRY(metadata.status());
  return chat_template ? std::optional<std::string>(*chat_template) : std::nullopt;
}

}  // namespace

Result<GgufTokenizer> rebuild_tokenizer(const gguf::Directory& directory, const PreTokenizer* assumed) {
  MetadataReader metadata(directory, "tokenizer.ggml.");
  GgufTokenizer result;
  AMPHORA_ASSIGN(result.config.chat_template, read_chat_template(directory));
  const auto model = metadata.find_string("model");
  AMPHORA_TRY(metadata.status());
  if (!model || *model == "none" || *model == "no_vocab") return result;
  const bool byte_level = *model == "gpt2";
  if (!byte_level && *model != "llama")
    return unsupported("tokenizer.ggml.model",
                       fmt::format("the tokenizer model \"{}\" is not supported (supported: gpt2, llama)",
                                   model->substr(0, 40)));

  AMPHORA_ASSIGN(const Vocabulary vocabulary, read_vocabulary(metadata));
  const NamedIds named = read_named_ids(metadata, vocabulary.tokens.size());
  AMPHORA_TRY(metadata.status());
  result.config.bos_token_id = named.bos;
  result.config.pad_token_id = named.padding;
  result.config.eos_token_ids = stop_ids(vocabulary, named);

  Parts parts;
  bool adds_bos = true;
  if (byte_level) {
    AMPHORA_ASSIGN(const PreTokenizer* pre,
                   settle_pre_tokenizer(metadata, assumed, result.took_assumed_pre_tokenizer));
    adds_bos = pre->adds_bos;
    parts = byte_level_parts(metadata, vocabulary, *pre);
  } else {
    parts = sentence_piece_parts(metadata, vocabulary, named.unknown);
  }
  const auto says_bos = metadata.find_bool("add_bos_token");
  const auto says_eos = metadata.find_bool("add_eos_token");
  if (says_bos.value_or(false) && !named.bos)
    metadata.reject("add_bos_token", "is true, but there is no bos_token_id");
  if (says_eos.value_or(false) && !named.eos)
    metadata.reject("add_eos_token", "is true, but there is no eos_token_id");
  AMPHORA_TRY(metadata.status());
  if (parts.merges_left_out != 0)
    result.notes.push_back(fmt::format(
        "{} merges of the tokenizer name tokens that do not exist and are left out", parts.merges_left_out));
  const auto bos = says_bos.value_or(adds_bos) ? named.bos : std::nullopt;
  const auto eos = says_eos.value_or(false) ? named.eos : std::nullopt;
  result.tokenizer_json = write_tokenizer(std::move(parts), vocabulary, bos, eos);
  return result;
}

}  // namespace amphora::package
