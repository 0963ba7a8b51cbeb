// Tokens beside the model's vocabulary.
#include "text/tokenizer/added_tokens.h"

#include <algorithm>

#include <fmt/format.h>

#include "unicode/ranges.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

char32_t last_character(std::string_view text) {
  size_t at = text.size() - 1;
  while (at > 0 && (static_cast<uint8_t>(text[at]) & 0xC0) == 0x80) --at;
  return unicode::decode_utf8(text, at).code_point;
}

bool ends_with_word(std::string_view text) { return !text.empty() && unicode::is_word(last_character(text)); }

bool starts_with_word(std::string_view text) {
  return !text.empty() && unicode::is_word(unicode::decode_utf8(text, 0).code_point);
}

// Where the white space at the end of `text` begins; not before `limit`.
size_t trailing_space(std::string_view text, size_t limit) {
  size_t end = text.size();
  while (end > limit && unicode::is_white_space(last_character(text.substr(0, end)))) {
    --end;
    while (end > 0 && (static_cast<uint8_t>(text[end]) & 0xC0) == 0x80) --end;
  }
  return std::max(end, limit);
}

size_t leading_space_bytes(std::string_view text) {
  for (const unicode::CodePoint c : unicode::CodePoints(text))
    if (!unicode::is_white_space(c.value)) return c.offset;
  return text.size();
}

bool lies_in(std::span<const QuotedRange> ranges, size_t offset) {
  const auto range = std::ranges::upper_bound(ranges, offset, {}, &QuotedRange::end);
  return range != ranges.end() && range->begin <= offset;
}

// A part of a text with something else in the place of what is quoted.
std::string without_quoted(std::string_view text, Span part, std::span<const QuotedRange> quoted) {
  std::string rest;
  size_t end = part.begin;
  for (const QuotedRange& range : quoted) {
    if (range.end <= part.begin || range.begin >= part.end) continue;
    const size_t begin = std::max<size_t>(range.begin, part.begin);
    rest.append(text.substr(end, begin - end)).append("\uFFFC");
    end = std::min<size_t>(range.end, part.end);
  }
  return rest.append(text.substr(end, part.end - end));
}

}  // namespace

bool MarkerRule::is_marker(const AddedToken& token) const {
  return std::ranges::binary_search(markers, token.id);
}

bool MarkerRule::forbids(const AddedToken& token, Span span) const {
  return !quoted.empty() && (lies_in(quoted, span.begin) || lies_in(quoted, span.end - 1)) &&
         is_marker(token);
}

bool TextTrie::add(std::string_view text, uint32_t value) {
  uint32_t* link = &roots_[static_cast<uint8_t>(text[0])];
  uint32_t node = kNone;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    while (*link != kNone && nodes_[*link].byte != byte) link = &nodes_[*link].sibling;
    node = *link;
    if (node == kNone) {
      node = static_cast<uint32_t>(nodes_.size());
      *link = node;  // before the vector grows: `link` may point into it
      nodes_.push_back({.byte = byte});
    }
    link = &nodes_[node].first_child;
  }
  if (nodes_[node].value != kNone) return false;
  nodes_[node].value = value;
  return true;
}

std::optional<TextTrie::Found> TextTrie::longest_at(std::string_view text, size_t offset) const {
  std::optional<Found> found;
  uint32_t node = roots_[static_cast<uint8_t>(text[offset])];
  for (size_t at = offset; node != kNone;) {
    const auto byte = static_cast<uint8_t>(text[at]);
    while (node != kNone && nodes_[node].byte != byte) node = nodes_[node].sibling;
    if (node == kNone) break;
    ++at;
    if (nodes_[node].value != kNone) found = Found{nodes_[node].value, at - offset};
    if (at == text.size()) break;
    node = nodes_[node].first_child;
  }
  return found;
}

Result<AddedTokens> AddedTokens::read(const json::Value& array, Vocabulary& vocabulary,
                                      const Normalizer* normalizer) {
  AddedTokens added;
  if (array.is_null()) return added;
  if (!array.is_array())
    return fail_at(Fault::kCorrupt, {}, "$.added_tokens", std::nullopt,
                   "tokenizer: 'added_tokens' is not an array");
  added.tokens_.reserve(array.items().size());
  for (size_t i = 0; i < array.items().size(); ++i)
    AMPHORA_TRY(
        added.read_one(array.items()[i], fmt::format("$.added_tokens[{}]", i), vocabulary, normalizer));
  for (const AddedToken& token : added.tokens_) {
    const auto same = added.by_content_.find(token.decoded);
    added.skipped_.push_back(same != added.by_content_.end() && added.tokens_[same->second].special);
  }
  return added;
}

Status AddedTokens::read_one(const json::Value& value, const std::string& place, Vocabulary& vocabulary,
                             const Normalizer* normalizer) {
  const auto corrupt = [&](std::string message) {
    return fail_at(Fault::kCorrupt, {}, place, std::nullopt, "tokenizer: " + std::move(message));
  };
  if (!value.is_object()) return corrupt("an added token is not an object");
  AddedToken token;
  const json::Value* content = value.find("content");
  const json::Value* id = value.find("id");
  if (content == nullptr || !content->is_string()) return corrupt("an added token has no content");
  const auto declared = id != nullptr && id->is_number() ? id->as_unsigned() : std::nullopt;
  if (!declared) return corrupt("an added token has no id");
  token.content = content->text();
  if (token.content.empty()) return {};  // the reference passes over it
  struct Flag {
    std::string_view key;
    bool* value;
  };
  const Flag flags[] = {{"single_word", &token.single_word},
                        {"lstrip", &token.strip_left},
                        {"rstrip", &token.strip_right},
                        {"normalized", &token.normalized},
                        {"special", &token.special}};
  for (const json::Member& member : value.members()) {
    if (member.key == "content" || member.key == "id") continue;
    const auto flag = std::ranges::find(flags, std::string_view(member.key), &Flag::key);
    if (flag == std::end(flags))
      return fail_at(Fault::kUnsupported, {}, place, std::nullopt,
                     fmt::format("tokenizer: field '{}' of an added token is not supported", member.key));
    if (!member.value.is_bool()) return corrupt(fmt::format("'{}' is not true or false", member.key));
    *flag->value = member.value.as_bool();
  }
  for (const Flag& flag : flags)
    if (value.find(flag.key) == nullptr) return corrupt(fmt::format("'{}' is missing", flag.key));

  const auto index = static_cast<uint32_t>(tokens_.size());
  if (!by_content_.emplace(token.content, index).second)
    return corrupt(fmt::format("the added token '{}' comes twice", token.content));
  const auto listed = vocabulary.find(token.content);
  // Behind the model's pieces, by their number and not by their largest id: so does the reference.
  const uint64_t expected = listed ? *listed : vocabulary.size() + unlisted_;
  if (*declared != expected)
    return fail_at(
        Fault::kUnsupported, {}, place, std::nullopt,
        fmt::format("tokenizer: the added token '{}' says id {}, but Hugging Face would number it {}",
                    token.content, *declared, expected));
  token.id = static_cast<TokenId>(expected);
  if (!listed) {
    AMPHORA_TRY(vocabulary.add_unlisted(token.content, expected));
    ++unlisted_;
  }
  by_id_.emplace(token.id, index);

  token.decoded = token.content;
  if (token.normalized && normalizer != nullptr) {
    size_t origin_bytes = 0;
    AMPHORA_TRY(normalizer->normalize(token.decoded, origin_bytes));
    if (token.decoded.empty())
      return corrupt(fmt::format("nothing is left of '{}' in normal form", token.content));
  }
  if (!(token.normalized ? normalized_ : raw_).add(token.decoded, index))
    return corrupt(fmt::format("'{}' has the normal form of another added token", token.content));
  if (token.normalized) before_normalization_.add(token.content, index);
  tokens_.push_back(std::move(token));
  return {};
}

void AddedTokens::split_raw(std::string_view text, bool parse_special, const MarkerRule& rule,
                            std::vector<AddedPart>& parts) const {
  split(raw_, text, parse_special, rule, parts);
}

void AddedTokens::split_normalized(std::string_view text, bool parse_special, const MarkerRule& rule,
                                   std::vector<AddedPart>& parts) const {
  const QuotedRange whole[] = {{0, UINT32_MAX}};
  split(normalized_, text, parse_special, {rule.markers.empty() ? rule.quoted : whole, rule.markers}, parts);
}

Result<std::vector<const AddedToken*>> AddedTokens::find_normalized_markers(
    std::string text, bool parse_special, const MarkerRule& rule, const Normalizer* normalizer) const {
  size_t origin_bytes = 0;
  if (normalizer != nullptr) AMPHORA_TRY(normalizer->normalize(text, origin_bytes));
  std::vector<AddedPart> parts;
  split(normalized_, text, parse_special, {}, parts);
  std::vector<const AddedToken*> markers;
  for (const AddedPart& part : parts)
    if (part.token != nullptr && rule.is_marker(*part.token)) markers.push_back(part.token);
  return markers;
}

std::vector<AddedPart> AddedTokens::unquoted_markers(std::string_view text, Span within,
                                                     const MarkerRule& rule) const {
  std::vector<AddedPart> markers;
  for (size_t at = within.begin; at < within.end;) {
    const auto match = before_normalization_.longest_at(text.substr(0, within.end), at);
    const AddedToken* token = match ? &tokens_[match->value] : nullptr;
    const Span span{at, at + (match ? match->bytes : 1)};
    const bool counts = token != nullptr && rule.is_marker(*token) && !rule.forbids(*token, span);
    if (counts) markers.push_back({span, token});
    at = counts ? span.end : at + 1;
  }
  return markers;
}

Status AddedTokens::protect_normalized(std::string_view text, bool parse_special, const MarkerRule& rule,
                                       const Normalizer* normalizer, std::vector<AddedPart>& parts) const {
  if (rule.quoted.empty() || normalized_.empty()) return {};
  std::vector<AddedPart> kept;
  for (const AddedPart& part : parts) {
    if (part.token != nullptr) {
      kept.push_back(part);
      continue;
    }
    AMPHORA_ASSIGN(const auto found, find_normalized_markers(std::string(slice(text, part.span)),
                                                             parse_special, rule, normalizer));
    AMPHORA_ASSIGN(const auto own, find_normalized_markers(without_quoted(text, part.span, rule.quoted),
                                                           parse_special, rule, normalizer));
    const auto unquoted = unquoted_markers(text, part.span, rule);
    if (found == own || std::ranges::equal(found, unquoted, {}, {}, &AddedPart::token)) {
      kept.push_back(part);
      continue;
    }
    size_t end = part.span.begin;
    for (const AddedPart& marker : unquoted) {
      if (end < marker.span.begin) kept.push_back({{end, marker.span.begin}, nullptr, false});
      kept.push_back(marker);
      end = marker.span.end;
    }
    if (end < part.span.end) kept.push_back({{end, part.span.end}, nullptr, false});
  }
  parts = std::move(kept);
  return {};
}

void AddedTokens::split(const TextTrie& trie, std::string_view text, bool parse_special,
                        const MarkerRule& rule, std::vector<AddedPart>& parts) const {
  parts.clear();
  size_t end = 0;  // of what has been given out
  for (size_t at = 0; !trie.empty() && at < text.size();) {
    const auto found = trie.longest_at(text, at);
    if (!found) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[found->value];
    Span span{at, at + found->bytes};
    if (rule.forbids(token, span)) {
      ++at;
      continue;
    }
    at = span.end;
    // A match that does not count still hides what overlaps it, as in the reference.
    if (token.special && !parse_special) continue;
    if (token.single_word &&
        (ends_with_word(text.substr(0, span.begin)) || starts_with_word(text.substr(span.end))))
      continue;
    if (token.strip_left) span.begin = trailing_space(text.substr(0, span.begin), end);
    if (token.strip_right) span.end += leading_space_bytes(text.substr(span.end));
    if (span.begin >= span.end) continue;  // a token of spaces that the one before it has taken along
    if (end < span.begin) parts.push_back({{end, span.begin}, nullptr});
    parts.push_back({span, &token});
    end = span.end;
  }
  if (end < text.size()) parts.push_back({{end, text.size()}, nullptr});
}

const AddedToken* AddedTokens::find(TokenId id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &tokens_[at->second];
}

std::optional<TokenId> AddedTokens::find_id(std::string_view content) const {
  const auto at = by_content_.find(std::string(content));
  if (at == by_content_.end()) return std::nullopt;
  return tokens_[at->second].id;
}

}  // namespace amphora::text
