// Reads the tokens beside a vocabulary with the precedence that transformers gives their files.
#include "package/added_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/object_reader.h"

namespace amphora::package {
namespace {

constexpr std::array<std::string_view, kPartCount> kPartKeys = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

std::unexpected<Error> malformed(std::string place, std::string message) {
  return fail_at(Fault::kCorrupt, "Parse", std::move(place), std::nullopt, std::move(message));
}

}  // namespace

Result<AddedToken> read_token(const json::Value& value, const std::string& place, bool special) {
  if (value.is_string()) return AddedToken{.content = value.text()};
  if (!value.is_object()) return malformed(place, "a token is neither a string nor an object");
  ObjectReader in(value, place);
  AddedToken token;
  token.content = in.read_string("content");
  token.single_word = in.find_bool("single_word").value_or(false);
  token.strip_left = in.find_bool("lstrip").value_or(false);
  token.strip_right = in.find_bool("rstrip").value_or(false);
  token.special = in.find_bool("special").value_or(special);
  token.normalized = in.find_bool("normalized").value_or(!token.special);
  AMPHORA_TRY(in.status());
  return token;
}

namespace {

/// Empty: no file has the key.
using TokenList = std::optional<std::vector<AddedToken>>;

class SettingsReader {
 public:
  SettingsReader(const TokenizerDirectory& directory, bool older_list_counts, TokenSettings& settings)
      : directory_(directory), settings_(settings), older_list_counts_(older_list_counts) {}

  Status read(const DefaultTokens& defaults) {
    for (size_t i = 0; i < kPartCount; ++i)
      if (!defaults[i].empty()) settings_.parts[i] = AddedToken{.content = std::string(defaults[i])};
    const json::Value& config = directory_.tokenizer_config;
    const json::Value* decoder = nullptr;
    if (config.is_object()) {
      if (const Status named = read_named(config, false); !named)
        return in_file("tokenizer_config.json", named.error());
      if (additional_ && !has_named_extra_ && (!extra_ || extra_->empty()))
        extra_ = std::exchange(additional_, std::nullopt);
      decoder = config.find_present("added_tokens_decoder");
      if (decoder != nullptr) {
        const Status status = read_decoder(*decoder);
        if (!status) return in_file("tokenizer_config.json", status.error());
      }
    }
    if (decoder == nullptr) AMPHORA_TRY(read_older_files());
    if (!extra_ && older_list_counts_) extra_ = std::move(additional_);
    if (extra_) std::ranges::move(*extra_, std::back_inserter(settings_.others));
    std::ranges::sort(settings_.with_ids, {}, &AddedToken::id);
    return {};
  }

 private:
  /// Members called *_token are tokens, and so are those of the lists of further ones.
  Status read_named(const json::Value& object, bool special) {
    if (!object.is_object()) return malformed("$", "not an object");
    for (const json::Member& member : object.members()) {
      const std::string place = "$" + json::path_step(member.key);
      const auto part = std::ranges::find(kPartKeys, member.key);
      if (part != kPartKeys.end()) {
        auto& token = settings_.parts[static_cast<size_t>(part - kPartKeys.begin())];
        token.reset();
        settings_.denied[static_cast<size_t>(part - kPartKeys.begin())] = member.value.is_null();
        if (member.value.is_null()) continue;
        AMPHORA_ASSIGN(token, read_token(member.value, place, special));
      } else if (member.key == "add_bos_token" || member.key == "add_eos_token") {
        if (member.value.is_null()) continue;
        if (!member.value.is_bool()) return malformed(place, "not true or false");
        (member.key == "add_bos_token" ? settings_.adds_bos : settings_.adds_eos) = member.value.as_bool();
      } else if (member.key == "extra_special_tokens") {
        has_named_extra_ = member.value.is_object() && !member.value.members().empty();
        AMPHORA_TRY(read_further(member.value, place, extra_));
      } else if (member.key == "additional_special_tokens") {
        additional_.reset();
        AMPHORA_TRY(read_further(member.value, place, additional_));
      } else if (member.key.ends_with("_token") && (member.value.is_string() || member.value.is_object())) {
        AMPHORA_ASSIGN(AddedToken token, read_token(member.value, place, special));
        settings_.others.push_back(std::move(token));
      }
    }
    return {};
  }

  /// An object of named tokens adds to the rest and is no list; null is an empty list, or takes one away. A
  /// list goes on after one that an earlier file has.
  Status read_further(const json::Value& value, const std::string& place, TokenList& list) {
    if (value.is_object()) {
      for (const json::Member& member : value.members()) {
        AMPHORA_ASSIGN(AddedToken token, read_token(member.value, place + json::path_step(member.key), true));
        settings_.others.push_back(std::move(token));
      }
      list.reset();
      return {};
    }
    if (!value.is_array() && !value.is_null())
      return malformed(place, "further special tokens are neither a list nor an object");
    if (!list || value.is_null()) list.emplace();
    if (value.is_null()) return {};
    for (size_t i = 0; i < value.items().size(); ++i) {
      AMPHORA_ASSIGN(AddedToken token, read_token(value.items()[i], fmt::format("{}[{}]", place, i), true));
      list->push_back(std::move(token));
    }
    return {};
  }

  Status read_decoder(const json::Value& decoder) {
    if (!decoder.is_object()) return malformed("$.added_tokens_decoder", "not an object");
    for (const json::Member& member : decoder.members()) {
      const std::string place = "$.added_tokens_decoder" + json::path_step(member.key);
      uint32_t id = 0;
      const char* end = member.key.data() + member.key.size();
      const auto [rest, error] = std::from_chars(member.key.data(), end, id);
      if (error != std::errc() || rest != end) return malformed(place, "the name of a token is not its id");
      AMPHORA_ASSIGN(AddedToken token, read_token(member.value, place, false));
      token.id = id;
      settings_.with_ids.push_back(std::move(token));
    }
    return {};
  }

  Status read_older_files() {
    AMPHORA_ASSIGN(const json::Value map, read_object_if_there(directory_.path / "special_tokens_map.json"));
    if (map.is_object())
      if (const Status status = read_named(map, true); !status)
        return in_file("special_tokens_map.json", status.error());
    AMPHORA_ASSIGN(const json::Value added, read_object_if_there(directory_.path / "added_tokens.json"));
    const std::unordered_set<std::string> specials = special_contents();
    for (const json::Member& member : added.members()) {
      const auto id = member.value.is_number() ? member.value.as_unsigned() : std::nullopt;
      if (!id || *id > std::numeric_limits<uint32_t>::max())
        return in_file("added_tokens.json",
                       malformed("$" + json::path_step(member.key), "a token's id is not an id").error());
      const bool special = specials.contains(member.key);
      settings_.with_ids.push_back({.id = static_cast<uint32_t>(*id),
                                    .content = member.key,
                                    .special = special,
                                    .normalized = !special});
    }
    return {};
  }

  std::unordered_set<std::string> special_contents() const {
    std::unordered_set<std::string> contents;
    for (const auto& part : settings_.parts)
      if (part) contents.insert(part->content);
    for (const AddedToken& token : settings_.others) contents.insert(token.content);
    const TokenList& further = extra_ || !older_list_counts_ ? extra_ : additional_;
    if (further)
      for (const AddedToken& token : *further) contents.insert(token.content);
    return contents;
  }

  const TokenizerDirectory& directory_;
  TokenSettings& settings_;
  bool older_list_counts_;
  TokenList extra_;               ///< extra_special_tokens, or what stands for it
  bool has_named_extra_ = false;  ///< extra_special_tokens is an object: nothing stands for it
  TokenList additional_;          ///< additional_special_tokens, the older name
};

}  // namespace

Result<TokenSettings> read_token_settings(const TokenizerDirectory& directory, const DefaultTokens& defaults,
                                          bool older_list_counts) {
  TokenSettings settings;
  AMPHORA_TRY(SettingsReader(directory, older_list_counts, settings).read(defaults));
  return settings;
}

Result<std::vector<AddedToken>> place_tokens(const TokenSettings& settings, bool overwrites,
                                             size_t vocabulary_size, const FindId& find_id) {
  std::vector<AddedToken> placed;
  std::unordered_map<std::string, size_t> index_of;
  uint32_t next = static_cast<uint32_t>(vocabulary_size);
  // A token that is there already is replaced if it stands at `first_replaced` or behind.
  const auto place = [&](AddedToken token, size_t first_replaced) -> std::optional<uint32_t> {
    if (token.content.empty()) return std::nullopt;
    if (const auto known = index_of.find(token.content); known != index_of.end()) {
      token.id = placed[known->second].id;
      if (known->second >= first_replaced) placed[known->second] = token;
      return token.id;
    }
    const auto in_vocabulary = find_id(token.content);
    token.id = in_vocabulary ? *in_vocabulary : next;
    if (token.id >= next) next = token.id + 1;
    index_of.emplace(token.content, placed.size());
    placed.push_back(token);
    return token.id;
  };
  const auto place_specials = [&](size_t first_replaced, bool plain) {
    const auto place_special = [&](const AddedToken& token) {
      AddedToken added = plain ? AddedToken{.content = token.content} : token;
      added.special = true;
      place(std::move(added), first_replaced);
    };
    for (const auto& part : settings.parts)
      if (part) place_special(*part);
    for (const AddedToken& token : settings.others) place_special(token);
  };

  for (const AddedToken& token : settings.with_ids) {
    AddedToken added = token;
    for (const auto& part : settings.parts)
      if (part && part->content == token.content) added.special = true;
    if (const auto given = place(std::move(added), 0); given != token.id)
      return fail_at(
          Fault::kCorrupt, "AddedTokenId", token.content, std::nullopt,
          fmt::format("the added token \"{}\" is to have the id {}, but the vocabulary {}",
                      token.content.substr(0, 40), token.id,
                      given ? fmt::format("puts it at {}", *given) : std::string("has no place for it")));
  }
  place_specials(placed.size(), false);
  if (overwrites) place_specials(0, true);
  std::ranges::sort(placed, {}, &AddedToken::id);
  return placed;
}

}  // namespace amphora::package
