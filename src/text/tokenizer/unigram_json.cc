// A unigram model out of tokenizer.json.
#include "text/tokenizer/unigram_json.h"

#include "text/tokenizer/model_json.h"
#include "text/tokenizer/serde_number.h"
#include "text/tokenizer/unigram.h"

namespace amphora::text {
namespace {

namespace ondemand = simdjson::ondemand;

class UnigramReader {
 public:
  explicit UnigramReader(Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Result<std::unique_ptr<Model>> read(ondemand::object model) {
    AMPHORA_TRY(for_each_field(model, [&](const std::string& key, ondemand::value value) {
      return key == "vocab" ? read_pieces(value) : read_option(key, value);
    }));
    if (!has_vocab_) return corrupt_model("vocab", "model 'Unigram' has no vocabulary");
    if (unk_id_ && *unk_id_ >= scores_.size())
      return corrupt_model("unk_id",
                           fmt::format("'unk_id' {} is no id of the {} pieces", *unk_id_, scores_.size()));
    UnigramOptions options;
    options.byte_fallback = byte_fallback_;
    if (unk_id_) options.unk_id = static_cast<TokenId>(*unk_id_);
    return std::make_unique<Unigram>(vocabulary_, std::move(scores_), options);
  }

 private:
  Status read_option(const std::string& key, ondemand::value value) {
    if (key != "type" && key != "unk_id" && key != "byte_fallback") return unsupported_field("Unigram", key);
    AMPHORA_ASSIGN(const bool is_null, is_null_field(key, value));
    if (is_null) return {};
    if (key == "type") {
      AMPHORA_TRY(read_model_string(key, value));
    } else if (key == "byte_fallback") {
      AMPHORA_ASSIGN(byte_fallback_, read_model_flag(key, value));
    } else {
      uint64_t id = 0;
      if (value.get_uint64().get(id) != simdjson::SUCCESS)
        return corrupt_model(key, "'unk_id' is not a token id");
      unk_id_ = id;
    }
    return {};
  }

  Status read_pieces(ondemand::value value) {
    has_vocab_ = true;
    return for_each_piece(
        value,
        [&](size_t count) {
          vocabulary_.reserve(count);
          scores_.reserve(count);
        },
        [&](ondemand::array piece) { return read_piece(piece); });
  }

  // `["text", score]`
  Status read_piece(ondemand::array piece) {
    size_t index = 0;
    for (auto field : piece) {
      ondemand::value part;
      if (const auto error = std::move(field).get(part)) return corrupt_model(place(), error);
      if (index == 0) {
        std::string_view text;
        if (const auto error = part.get_string().get(text)) return corrupt_model(place(), error);
        AMPHORA_TRY(vocabulary_.add(text, scores_.size()));
      } else if (index == 1) {
        AMPHORA_TRY(read_score(part));
      }
      ++index;
    }
    if (index != 2) return corrupt_model(place(), "a piece is not a pair of text and score");
    return {};
  }

  Status read_score(ondemand::value value) {
    std::string_view token = value.raw_json_token();
    double checked = 0;  // simdjson says whether it is a number at all
    if (const auto error = value.get_double().get(checked)) return corrupt_model(place(), error);
    while (!token.empty() && std::string_view(" \t\r\n").find(token.back()) != std::string_view::npos)
      token.remove_suffix(1);
    const auto score = read_serde_number(token);
    if (!score) return corrupt_model(place(), fmt::format("the score {} is out of range", token));
    scores_.push_back(*score);
    return {};
  }

  std::string place() const { return fmt::format("vocab[{}]", scores_.size()); }

  Vocabulary& vocabulary_;
  std::vector<double> scores_;
  std::optional<uint64_t> unk_id_;
  bool byte_fallback_ = false;
  bool has_vocab_ = false;
};

}  // namespace

Result<std::unique_ptr<Model>> read_unigram(ondemand::object model, Vocabulary& vocabulary) {
  return UnigramReader(vocabulary).read(model);
}

}  // namespace amphora::text
