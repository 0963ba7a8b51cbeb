// vocab.json and merges.txt to a tokenizer.json.
#include "package/vocab_merges.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/file.h"
#include "package/added_tokens.h"
#include "package/bpe_classes.h"
#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/limits.h"
#include "package/tokenizer_json.h"
#include "unicode/utf8.h"

namespace amphora::package {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kVocabularyFile = "vocab.json", kMergesFile = "merges.txt";

struct Vocabulary {
  std::string text;  ///< the file: it becomes a part of the tokenizer.json as it is
  std::unordered_map<std::string, uint32_t> ids;
};

Result<Vocabulary> read_vocabulary(const fs::path& path) {
  Vocabulary vocabulary;
  AMPHORA_ASSIGN(vocabulary.text, read_small_file(path, kMaxTokenizerBytes));
  const auto root = json::parse(vocabulary.text);
  if (!root) return in_file(path, root.error());
  const auto corrupt = [&](std::string place, std::string message) {
    return in_file(path, Error{Fault::kCorrupt, "Parse", std::move(place), std::nullopt, std::move(message)});
  };
  if (!root->is_object()) return corrupt("$", "not an object of tokens and ids");
  vocabulary.ids.reserve(root->members().size());
  for (const json::Member& member : root->members()) {
    const auto id = member.value.is_number() ? member.value.as_unsigned() : std::nullopt;
    if (!id || *id >= kMaxDimension)
      return corrupt("$" + json::path_step(member.key),
                     fmt::format("the id of a token is not a number below {}", kMaxDimension));
    vocabulary.ids.emplace(member.key, static_cast<uint32_t>(*id));
  }
  return vocabulary;
}

/// The lines "left right" as a JSON array. The reference refuses the same lines.
Result<std::string> read_merges(const fs::path& path, const Vocabulary& vocabulary) {
  AMPHORA_ASSIGN(const std::string text, read_small_file(path, kMaxTokenizerBytes));
  std::string json = "[";
  std::string whole;
  size_t line_number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = std::string_view(text).substr(begin, end - begin);
    const size_t offset = begin;
    begin = end + 1;
    ++line_number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version")) continue;
    const auto corrupt = [&](std::string message) {
      return in_file(path, Error{Fault::kCorrupt, "Merge", std::string(kMergesFile), offset,
                                 fmt::format("line {}: {}", line_number, message)});
    };
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
      return corrupt("a merge is not two tokens with one space between");
    if (!unicode::is_utf8(line)) return corrupt("not UTF-8");
    const std::string left(line.substr(0, space)), right(line.substr(space + 1));
    whole = left + right;
    for (const std::string& token : {left, right, whole})
      if (!vocabulary.ids.contains(token))
        return corrupt(fmt::format("the token \"{}\" is not in {}", token.substr(0, 40), kVocabularyFile));
    if (json.size() > 1) json += ',';
    json += json_text(line);
  }
  return json + ']';
}

/// The class in use, and what was assumed to have one.
struct Chosen {
  BpeClass bpe_class;
  const PreTokenizer* assumed = nullptr;
  bool is_guessed = false;  ///< the class is that of the model's type: none is given
};

Result<Chosen> choose_class(const TokenizerDirectory& directory) {
  const auto [name, is_given] = tokenizer_class_of(directory);
  if (const BpeClass* known = find_bpe_class(name)) return Chosen{*known, nullptr, !is_given};
  if (directory.assumed != nullptr) return Chosen{BpeClass{.name = ""}, directory.assumed};
  return fail_at(
      Fault::kUnsupported, "TokenizerClass", std::string(kVocabularyFile), std::nullopt,
      fmt::format(
          "{} and {} are there, but how text is cut before them depends on the tokenizer's class, and {} "
          "(known: {}); {}",
          kVocabularyFile, kMergesFile,
          name.empty() ? "nothing names it" : fmt::format("{} is not known", name.substr(0, 60)),
          known_bpe_classes(), offer_to_assume()));
}

class Builder {
 public:
  Builder(const TokenizerDirectory& directory, Chosen chosen)
      : directory_(directory), class_(chosen.bpe_class), assumed_(chosen.assumed) {}

  Result<std::string> build() {
    AMPHORA_ASSIGN(vocabulary_, read_vocabulary(directory_.path / kVocabularyFile));
    AMPHORA_ASSIGN(const std::string merges, read_merges(directory_.path / kMergesFile, vocabulary_));
    AMPHORA_ASSIGN(settings_, read_token_settings(directory_, class_.tokens, true));
    AMPHORA_TRY(read_prefix_space());
    const auto find_id = [&](const std::string& content) -> std::optional<uint32_t> {
      const auto found = vocabulary_.ids.find(content);
      return found == vocabulary_.ids.end() ? std::nullopt : std::optional(found->second);
    };
    AMPHORA_ASSIGN(added_, place_tokens(settings_, class_.plain_specials, vocabulary_.ids.size(), find_id));

    TokenizerParts parts;
    AMPHORA_ASSIGN(parts.post_processor, post_processor());
    parts.added_tokens = added_;
    parts.normalizer = normalizer();
    parts.pre_tokenizer = pre_tokenizer();
    parts.decoder = class_.pre_tokenizer.empty()
                        ? std::string(kByteLevelDecoder)
                        : fmt::format(R"({{"type":"BPEDecoder","suffix":{}}})", json_text(class_.word_end));
    const auto& unknown = settings_.part(Part::kUnknown);
    parts.model = fmt::format(
        R"({{"type":"BPE","dropout":null,"unk_token":{},"continuing_subword_prefix":"","end_of_word_suffix":{},)"
        R"("fuse_unk":false,"byte_fallback":false,"ignore_merges":{},"vocab":{},"merges":{}}})",
        class_.has_unknown && unknown ? json_text(unknown->content) : "null", json_text(class_.word_end),
        assumed_ != nullptr && assumed_->ignore_merges, vocabulary_.text, merges);
    return tokenizer_json(parts);
  }

 private:
  Status read_prefix_space() {
    prefix_space_ = class_.prefix_space;
    const json::Value* value = directory_.tokenizer_config.find_present("add_prefix_space");
    if (value == nullptr) return {};
    if (!value->is_bool())
      return fail_at(Fault::kCorrupt, "Parse", "$.add_prefix_space", std::nullopt,
                     "tokenizer_config.json: add_prefix_space is not true or false");
    // CLIP and the classes without a byte level have no such setting.
    if (class_.framing != Framing::kClip) prefix_space_ = value->as_bool();
    return {};
  }

  std::string normalizer() const {
    if (assumed_ != nullptr) return assumed_->nfc ? R"({"type":"NFC"})" : "null";
    return class_.normalizer.empty() ? "null" : std::string(class_.normalizer);
  }

  std::string pre_tokenizer() const {
    if (assumed_ != nullptr) return pre_tokenizer_json(*assumed_);
    if (!class_.pre_tokenizer.empty()) return std::string(class_.pre_tokenizer);
    const std::string byte_level =
        fmt::format(R"({{"type":"ByteLevel","add_prefix_space":{},"trim_offsets":true,"use_regex":{}}})",
                    prefix_space_, class_.byte_level_words);
    if (class_.before_byte_level.empty()) return byte_level;
    return fmt::format(R"({{"type":"Sequence","pretokenizers":[{},{}]}})", class_.before_byte_level,
                       byte_level);
  }

  Result<NamedToken> placed(Part part) const {
    const auto& token = settings_.part(part);
    if (!token)
      return fail_at(
          Fault::kCorrupt, "Missing", "tokenizer_config.json", std::nullopt,
          fmt::format("{} puts tokens around a text, but the settings name none for it", class_.name));
    const auto found = std::ranges::find(added_, token->content, &AddedToken::content);
    if (found == added_.end())
      return fail_at(Fault::kCorrupt, "Missing", "tokenizer_config.json", std::nullopt,
                     "a token that is put around a text is empty");
    return NamedToken{found->id, found->content};
  }

  /// The framing of BERT's kind: "sep" comes behind a text, "cls" before it.
  Result<std::string> pair_json(std::string_view type, Part before, Part behind,
                                std::string_view further) const {
    AMPHORA_ASSIGN(const NamedToken first, placed(before));
    AMPHORA_ASSIGN(const NamedToken last, placed(behind));
    return fmt::format(R"({{"type":"{}","sep":[{},{}],"cls":[{},{}]{}}})", type, json_text(last.text),
                       last.id, json_text(first.text), first.id, further);
  }

  Result<std::string> bos_eos() const {
    std::optional<NamedToken> bos, eos;
    if (settings_.adds_bos.value_or(false) && settings_.part(Part::kBos)) {
      AMPHORA_ASSIGN(bos, placed(Part::kBos));
    }
    if (settings_.adds_eos.value_or(false) && settings_.part(Part::kEos)) {
      AMPHORA_ASSIGN(eos, placed(Part::kEos));
    }
    return post_processor_json(bos, eos);
  }

  Result<std::string> post_processor() const {
    switch (class_.framing) {
      case Framing::kBosEos: return bos_eos();
      case Framing::kBosEosIfSaid:
        if (settings_.adds_bos || settings_.adds_eos) return bos_eos();
        return R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":false,"use_regex":true})";
      case Framing::kRoberta:
        return pair_json("RobertaProcessing", Part::kClass, Part::kSeparator,
                         fmt::format(R"(,"trim_offsets":true,"add_prefix_space":{})", prefix_space_));
      case Framing::kClip:
        return pair_json("RobertaProcessing", Part::kBos, Part::kEos,
                         R"(,"trim_offsets":false,"add_prefix_space":false)");
      case Framing::kHerbert: {
        const auto &first = settings_.part(Part::kClass), &last = settings_.part(Part::kSeparator);
        return fmt::format(R"({{"type":"BertProcessing","sep":[{},2],"cls":[{},0]}})",
                           last ? json_text(last->content) : "null",
                           first ? json_text(first->content) : "null");
      }
      case Framing::kClassSeparator: {
        AMPHORA_ASSIGN(const NamedToken first, placed(Part::kClass));
        AMPHORA_ASSIGN(const NamedToken last, placed(Part::kSeparator));
        return post_processor_json(first, last);
      }
    }
    return "null";
  }

  const TokenizerDirectory& directory_;
  const BpeClass class_;
  const PreTokenizer* assumed_;
  Vocabulary vocabulary_;
  TokenSettings settings_;
  std::vector<AddedToken> added_;
  bool prefix_space_ = false;
};

}  // namespace

Result<std::optional<TokenizerText>> read_vocab_and_merges(const TokenizerDirectory& directory) {
  if (!is_there(directory.path / kVocabularyFile) || !is_there(directory.path / kMergesFile))
    return std::nullopt;
  AMPHORA_ASSIGN(const Chosen chosen, choose_class(directory));
  AMPHORA_ASSIGN(std::string json, Builder(directory, chosen).build());
  std::vector<std::string> notes;
  if (chosen.is_guessed)
    notes.push_back(
        fmt::format("tokenizer_class is not given: read as {}, by the model's type", chosen.bpe_class.name));
  notes.push_back(fmt::format("{} and {} became a tokenizer.json {}", kVocabularyFile, kMergesFile,
                              chosen.assumed != nullptr
                                  ? "without a class"
                                  : fmt::format("as {} reads them", chosen.bpe_class.name)));
  TokenizerText text = owned_tokenizer(std::move(json), std::move(notes));
  text.took_assumed = chosen.assumed != nullptr;
  return text;
}

}  // namespace amphora::package
