// Models of whole words and their parts out of tokenizer.json.
#include "text/tokenizer/word_json.h"

#include "text/tokenizer/model_json.h"
#include "text/tokenizer/word_piece.h"

namespace amphora::text {

namespace ondemand = simdjson::ondemand;

Result<std::unique_ptr<Model>> read_word_piece(ondemand::object model, Vocabulary& vocabulary) {
  WordPieceOptions options;
  bool has_vocab = false;
  const auto read = [&](const std::string& key, ondemand::value value) -> Status {
    if (key == "vocab") {
      has_vocab = true;
      return read_vocabulary(value, vocabulary);
    }
    if (key == "max_input_chars_per_word") {
      if (value.get_uint64().get(options.max_characters) != simdjson::SUCCESS)
        return corrupt_model(key, "'max_input_chars_per_word' is not a count");
      return {};
    }
    if (key != "type" && key != "unk_token" && key != "continuing_subword_prefix")
      return unsupported_field("WordPiece", key);
    AMPHORA_ASSIGN(std::string text, read_model_string(key, value));
    if (key == "unk_token") options.unk_token = std::move(text);
    if (key == "continuing_subword_prefix") options.continuing_subword_prefix = std::move(text);
    return {};
  };
  AMPHORA_TRY(for_each_field(model, read));
  if (!has_vocab) return corrupt_model("vocab", "model 'WordPiece' has no vocabulary");
  return std::make_unique<WordPiece>(vocabulary, std::move(options));
}

Result<std::unique_ptr<Model>> read_word_level(ondemand::object model, Vocabulary& vocabulary) {
  std::optional<std::string> unk_token;
  bool has_vocab = false;
  const auto read = [&](const std::string& key, ondemand::value value) -> Status {
    if (key == "vocab") {
      has_vocab = true;
      return read_vocabulary(value, vocabulary);
    }
    if (key != "type" && key != "unk_token") return unsupported_field("WordLevel", key);
    AMPHORA_ASSIGN(std::string text, read_model_string(key, value));
    if (key == "unk_token") unk_token = std::move(text);
    return {};
  };
  AMPHORA_TRY(for_each_field(model, read));
  if (!has_vocab) return corrupt_model("vocab", "model 'WordLevel' has no vocabulary");
  if (!unk_token) return corrupt_model("unk_token", "model 'WordLevel' has no unknown token");
  return std::make_unique<WordLevel>(vocabulary, *std::move(unk_token));
}

}  // namespace amphora::text
