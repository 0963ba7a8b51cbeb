// What the readers of the models in tokenizer.json share.
#include "text/tokenizer/model_json.h"

namespace amphora::text {

namespace ondemand = simdjson::ondemand;

Result<std::string> read_model_string(std::string_view key, ondemand::value value) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS)
    return corrupt_model(key, fmt::format("'{}' is not a string", key));
  return std::string(text);
}

Result<bool> read_model_flag(std::string_view key, ondemand::value value) {
  bool flag = false;
  if (value.get_bool().get(flag) != simdjson::SUCCESS)
    return corrupt_model(key, fmt::format("'{}' is not true or false", key));
  return flag;
}

Result<bool> is_null_field(std::string_view key, ondemand::value value) {
  bool is_null = false;
  if (const auto error = value.is_null().get(is_null)) return corrupt_model(key, error);
  return is_null;
}

Status read_vocabulary(ondemand::value value, Vocabulary& vocabulary) {
  ondemand::object pieces;
  size_t count = 0;
  if (const auto error = value.get_object().get(pieces)) return corrupt_model("vocab", error);
  if (const auto error = pieces.count_fields().get(count)) return corrupt_model("vocab", error);
  vocabulary.reserve(count);
  for (auto entry : pieces) {
    ondemand::field field;
    std::string_view piece;
    uint64_t id = 0;
    if (const auto error = std::move(entry).get(field)) return corrupt_model("vocab", error);
    if (const auto error = field.unescaped_key().get(piece)) return corrupt_model("vocab", error);
    if (field.value().get_uint64().get(id) != simdjson::SUCCESS)
      return corrupt_model("vocab", fmt::format("the id of piece '{}' is not a token id", piece));
    AMPHORA_TRY(vocabulary.add(piece, id));
  }
  return {};
}

}  // namespace amphora::text
