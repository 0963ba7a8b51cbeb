// Reads JSON lines, each a SentencePiece model's path (a string), a text to encode with the last one (an
// array of one string) or ids to decode (an array of numbers); writes for each model whether its components
// are the standard ones, for each text a line [ids, decoded], for ids the text. For
// differential_sentencepiece.py.
#include <fstream>
#include <iostream>
#include <sstream>

#include "answers.h"
#include "package/spm_tokenizer.h"

namespace {

using namespace amphora;

Result<std::shared_ptr<const text::Tokenizer>> load(const std::string& path, bool& is_standard) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  const std::string file = bytes.str();
  AMPHORA_ASSIGN(const auto tokenizer, package::write_bare_spm_tokenizer(as_bytes(file)));
  is_standard = tokenizer.is_standard;
  return text::Tokenizer::from_json(tokenizer.json);
}

Result<json::Value> answer_line(const text::Tokenizer& tokenizer, const std::vector<json::Value>& request) {
  if (request.size() == 1 && request[0].is_string())
    return encoded_line(tokenizer, request[0].text(), {.add_special = false, .parse_special = false},
                        /*skip_special=*/true);
  std::vector<text::TokenId> ids;
  for (const json::Value& id : request)
    ids.push_back(static_cast<text::TokenId>(id.as_unsigned().value_or(0)));
  AMPHORA_ASSIGN(const std::string decoded, tokenizer.decode(ids, /*skip_special=*/true));
  return json::Value::string(decoded);
}

}  // namespace

int main() {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = json::parse(line);
    if (!request) return 2;
    if (request->is_string()) {
      bool is_standard = false;
      auto loaded = load(request->text(), is_standard);
      tokenizer = loaded ? *loaded : nullptr;
      std::cout << (loaded ? json::dump(json::Value::boolean(is_standard))
                           : json::dump(error_line(loaded.error())))
                << std::endl;
      continue;
    }
    if (tokenizer == nullptr || !request->is_array()) return 2;
    const auto answer = answer_line(*tokenizer, request->items());
    std::cout << json::dump(answer ? *answer : error_line(answer.error())) << '\n';
  }
}
