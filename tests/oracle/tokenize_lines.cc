// Reads JSON lines, each a tokenizer.json's path (a string) or a text to encode with the last one (an array
// of one string); writes for each text a line [ids, decoded] or {"error": …}. For differential_tokenizers.py.
#include <fstream>
#include <iostream>
#include <sstream>

#include "answers.h"

using namespace amphora;

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
    const auto answer = encoded_line(*tokenizer, request->items()[0].text(), {}, /*skip_special=*/false);
    std::cout << json::dump(answer ? *answer : error_line(answer.error())) << '\n';
  }
}
