// The tokenizers of tests/data/tokenizers/components.jsonl, which between them have every component there is.
#pragma once

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "amphora/json.h"
#include "base/testing/test_data.h"
#include "text/tokenizer.h"

namespace amphora::testing {

/// The tokenizer.json of a case, whose model is its own or one of the shared `models`.
inline json::Value component_tokenizer_json(const json::Value& models, const json::Value& test_case) {
  json::Value whole = *test_case.find("parts");
  const json::Value& model = *test_case.find("model");
  whole.set("model", model.is_string() ? *models.find(model.text()) : model);
  whole.set("version", json::Value::string("1.0"));
  return whole;
}

inline std::vector<std::shared_ptr<const text::Tokenizer>> component_tokenizers() {
  std::ifstream in(test_data("tokenizers/components.jsonl"));
  std::string line;
  std::getline(in, line);
  const json::Value first = json::parse(line).value();
  std::vector<std::shared_ptr<const text::Tokenizer>> tokenizers;
  while (std::getline(in, line)) {
    const json::Value whole = component_tokenizer_json(*first.find("models"), json::parse(line).value());
    tokenizers.push_back(text::Tokenizer::from_json(json::dump(whole)).value());
  }
  return tokenizers;
}

}  // namespace amphora::testing
