// What the readers of the models in tokenizer.json share.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <simdjson.h>

#include "amphora/json.h"
#include "amphora/result.h"
#include "text/tokenizer/vocabulary.h"

namespace amphora::text {

/// `place` is the path below `$.model`.
inline std::unexpected<Error> corrupt_model(std::string_view place, std::string_view what) {
  return fail_at(Fault::kCorrupt, {}, fmt::format("$.model.{}", place), std::nullopt,
                 fmt::format("tokenizer: {}", what));
}
inline std::unexpected<Error> corrupt_model(std::string_view place, simdjson::error_code error) {
  return corrupt_model(place, std::string_view(simdjson::error_message(error)));
}
inline std::unexpected<Error> unsupported_field(std::string_view model, std::string_view key) {
  return fail_at(Fault::kUnsupported, {}, "$.model" + json::path_step(key), std::nullopt,
                 fmt::format("tokenizer: model '{}': field '{}' is not supported", model, key));
}

/// Calls `read(key, value)` for each field, in order; a key that comes twice is refused.
template <class Read>
Status for_each_field(simdjson::ondemand::object& model, const Read& read) {
  std::vector<std::string> seen;
  for (auto entry : model) {
    simdjson::ondemand::field field;
    std::string_view unescaped;
    if (const auto error = std::move(entry).get(field)) return corrupt_model("", error);
    if (const auto error = field.unescaped_key().get(unescaped)) return corrupt_model("", error);
    const std::string key(unescaped);
    if (std::ranges::find(seen, key) != seen.end())
      return corrupt_model(key, fmt::format("field '{}' comes twice", key));
    seen.push_back(key);
    AMPHORA_TRY(read(key, field.value()));
  }
  return {};
}

/// `"vocab": [[…], …]`: calls `reserve(count)` once and `read(piece)` for each.
template <class Reserve, class Read>
Status for_each_piece(simdjson::ondemand::value value, const Reserve& reserve, const Read& read) {
  simdjson::ondemand::array list;
  size_t count = 0, index = 0;
  if (const auto error = value.get_array().get(list)) return corrupt_model("vocab", error);
  if (const auto error = list.count_elements().get(count)) return corrupt_model("vocab", error);
  reserve(count);
  for (auto entry : list) {
    simdjson::ondemand::array piece;
    if (const auto error = std::move(entry).get_array().get(piece))
      return corrupt_model(fmt::format("vocab[{}]", index), error);
    AMPHORA_TRY(read(piece));
    ++index;
  }
  return {};
}

Result<std::string> read_model_string(std::string_view key, simdjson::ondemand::value value);
Result<bool> read_model_flag(std::string_view key, simdjson::ondemand::value value);
Result<bool> is_null_field(std::string_view key, simdjson::ondemand::value value);
/// `"vocab": {"piece": id, …}`
Status read_vocabulary(simdjson::ondemand::value value, Vocabulary& vocabulary);

}  // namespace amphora::text
