// The tokenizer: its pipeline in order, forwards and backwards.
#include "text/tokenizer.h"

#include <algorithm>

#include <fmt/format.h>

#include "text/tokenizer/load.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

// Places inside a text are 32 bits wide where words are merged, and a normal form may be longer than the
// text.
constexpr size_t kMaxTextBytes = size_t{256} << 20;

// The ids of a text between added tokens.
Status encode_ordinary(const Tokenizer::Impl& impl, Stretch stretch, Model::Scratch& scratch,
                       std::vector<TokenId>& ids) {
  stretch.words = {{0, stretch.text.size()}};
  if (impl.pre_tokenizer) AMPHORA_TRY(impl.pre_tokenizer->split(stretch));
  for (const Span word : stretch.words)
    if (!word.empty()) AMPHORA_TRY(impl.model->tokenize(slice(stretch.text, word), scratch, ids));
  return {};
}

Status encode_text(const Tokenizer::Impl& impl, std::string_view text, bool parse_special,
                   const MarkerRule& rule, std::vector<TokenId>& ids) {
  const auto scratch = impl.model->make_scratch();
  std::vector<AddedPart> raw_parts, parts;
  impl.added.split_raw(text, parse_special, rule, raw_parts);
  AMPHORA_TRY(impl.added.protect_normalized(text, parse_special, rule, impl.normalizer.get(), raw_parts));
  for (const AddedPart& raw : raw_parts) {
    if (raw.token != nullptr) {
      ids.push_back(raw.token->id);
      continue;
    }
    std::string normalized(slice(text, raw.span));
    size_t origin_bytes = raw.span.begin == 0 ? unicode::sequence_bytes(normalized[0]) : 0;
    if (impl.normalizer) AMPHORA_TRY(impl.normalizer->normalize(normalized, origin_bytes));
    impl.added.split_normalized(normalized, parse_special, raw.has_markers ? MarkerRule() : rule, parts);
    for (const AddedPart& part : parts) {
      if (part.token != nullptr) {
        ids.push_back(part.token->id);
        continue;
      }
      const size_t origin = origin_bytes > part.span.begin ? origin_bytes - part.span.begin : 0;
      AMPHORA_TRY(
          encode_ordinary(impl, {std::string(slice(normalized, part.span)), {}, origin}, *scratch, ids));
    }
  }
  return {};
}

// The ids of a text, before the post-processor.
Result<std::vector<TokenId>> encode_alone(const Tokenizer::Impl& impl, std::string_view text,
                                          const EncodeOptions& options) {
  if (text.size() > kMaxTextBytes)
    return fail(Fault::kRefused,
                fmt::format("tokenizer: a text of {} bytes is longer than the {} that are accepted",
                            text.size(), kMaxTextBytes));
  std::vector<TokenId> ids;
  MarkerRule rule{options.quoted, options.markers};
  if (unicode::is_utf8(text)) {
    AMPHORA_TRY(encode_text(impl, text, options.parse_special, rule, ids));
    return ids;
  }
  // The quoted parts lie elsewhere in the mended text: all of it counts as quoted.
  const QuotedRange whole[] = {{0, UINT32_MAX}};
  if (!rule.quoted.empty()) rule.quoted = whole;
  AMPHORA_TRY(encode_text(impl, unicode::replace_ill_formed(text), options.parse_special, rule, ids));
  return ids;
}

Status push_piece(const Tokenizer::Impl& impl, TokenId id, bool skip_special, DecoderChain& chain) {
  if (const AddedToken* token = impl.added.find(id)) {
    if (skip_special && impl.added.is_skipped(*token)) return {};
    return chain.push(token->decoded);
  }
  const std::string* piece = impl.vocabulary.find_piece(id);
  if (piece == nullptr) return fail(Fault::kUsage, fmt::format("tokenizer: there is no token {}", id));
  return chain.push(*piece);
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::~Tokenizer() = default;

Result<std::shared_ptr<const Tokenizer>> Tokenizer::from_json(std::string_view tokenizer_json) {
  AMPHORA_ASSIGN(auto impl, load_tokenizer(tokenizer_json));
  return std::make_shared<const Tokenizer>(std::move(impl));
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  AMPHORA_ASSIGN(auto ids, encode_alone(*impl_, text, options));
  return impl_->post_processor.apply(std::move(ids), options.add_special);
}

Result<EncodedPair> Tokenizer::encode_pair(std::string_view first, std::string_view second,
                                           const EncodeOptions& options) const {
  AMPHORA_ASSIGN(const auto first_ids, encode_alone(*impl_, first, options));
  AMPHORA_ASSIGN(const auto second_ids, encode_alone(*impl_, second, options));
  return impl_->post_processor.apply_to_pair(first_ids, second_ids, options.add_special);
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, bool skip_special) const {
  DecoderChain chain(impl_->decoders);
  for (const TokenId id : ids) AMPHORA_TRY(push_piece(*impl_, id, skip_special, chain));
  AMPHORA_TRY(chain.finish());
  return chain.take();
}

const std::string* Tokenizer::find_piece(TokenId id) const { return impl_->vocabulary.find_piece(id); }

std::optional<TokenId> Tokenizer::find_id(std::string_view piece) const {
  if (const auto id = impl_->added.find_id(piece)) return id;
  return impl_->vocabulary.find(piece);
}

bool Tokenizer::is_special(TokenId id) const {
  const AddedToken* token = impl_->added.find(id);
  return token != nullptr && token->special;
}

std::vector<TokenId> Tokenizer::added_ids() const {
  std::vector<TokenId> ids;
  for (const AddedToken& token : impl_->added.all()) ids.push_back(token.id);
  std::ranges::sort(ids);
  return ids;
}

uint32_t Tokenizer::id_limit() const { return impl_->vocabulary.id_limit(); }

struct StreamDecoder::State {
  DecoderChain chain;
};

StreamDecoder::StreamDecoder(std::shared_ptr<const Tokenizer> tokenizer, bool skip_special)
    : tokenizer_(std::move(tokenizer)),
      skip_special_(skip_special),
      state_(std::make_unique<State>(DecoderChain(tokenizer_->impl().decoders))) {}
StreamDecoder::StreamDecoder(StreamDecoder&&) noexcept = default;
StreamDecoder& StreamDecoder::operator=(StreamDecoder&&) noexcept = default;
StreamDecoder::~StreamDecoder() = default;

Result<std::string> StreamDecoder::push(TokenId id) {
  AMPHORA_TRY(push_piece(tokenizer_->impl(), id, skip_special_, state_->chain));
  return state_->chain.take();
}

Result<std::string> StreamDecoder::finish() {
  AMPHORA_TRY(state_->chain.finish());
  return state_->chain.take();
}

}  // namespace amphora::text
