// Reads JSON lines, each a tokenizer.json's path (a string) or a text to encode with the last one (an array
// of one string); writes for each text a line [ids, decoded] or {"error": …}. For differential_tokenizers.py.
#include <fstream>
#include <iostream>
#include <sstream>

#include "amphora/json.h"
#include "text/tokenizer.h"

namespace {

using namespace amphora;

json::Value error_line(const Error& error) {
  return json::Value::object({{"error", json::Value::string(error.place + ": " + error.message)}});
}

Result<json::Value> encode_line(const text::Tokenizer& tokenizer, const std::string& text) {
  AMPHORA_ASSIGN(const auto ids, tokenizer.encode(text));
  AMPHORA_ASSIGN(const std::string decoded, tokenizer.decode(ids));
  std::vector<json::Value> numbers;
  for (const text::TokenId id : ids) numbers.push_back(json::Value::unsigned_integer(id));
  return json::Value::array({json::Value::array(std::move(numbers)), json::Value::string(decoded)});
}

}  // namespace

int main() {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = json::parse(line);
    if (!request) return 2;
    if (request->is_string()) {
      std::ifstream in(request->text(), std::ios::binary);
      std::stringstream bytes;
      bytes << in.rdbuf();
      auto loaded = text::Tokenizer::from_json(bytes.str());
      tokenizer = loaded ? *loaded : nullptr;
      std::cout << (loaded ? "true" : json::dump(error_line(loaded.error()))) << std::endl;
      continue;
    }
    if (tokenizer == nullptr || request->items().size() != 1) return 2;
    const auto answer = encode_line(*tokenizer, request->items()[0].text());
    std::cout << json::dump(answer ? *answer : error_line(answer.error())) << '\n';
  }
}
