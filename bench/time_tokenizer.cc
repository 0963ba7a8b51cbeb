// Processor time of loading a tokenizer.json and of encoding texts, without the process's start. For
// bench/tokenizer.py, which takes turns with the peer.
//
// Reads JSON lines: ["load", PATH] or ["encode", PATH], where the file at the second PATH is a JSON array of
// texts. Answers each with [seconds, count of tokens].
#include <ctime>
#include <iostream>

#include "amphora/json.h"
#include "base/file.h"
#include "text/tokenizer.h"

namespace {

using namespace amphora;

double processor_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

struct Answer {
  double seconds;
  size_t tokens;
};

Result<Answer> load(const std::string& path, std::shared_ptr<const text::Tokenizer>& tokenizer) {
  const double start = processor_seconds();
  AMPHORA_ASSIGN(const auto file, MappedFile::open(path));
  AMPHORA_ASSIGN(auto loaded, text::Tokenizer::from_json(as_text(file->bytes())));
  const double seconds = processor_seconds() - start;
  tokenizer = std::move(loaded);
  return Answer{seconds, tokenizer->id_limit()};
}

Result<Answer> encode(const std::string& path, const text::Tokenizer& tokenizer) {
  AMPHORA_ASSIGN(const auto file, MappedFile::open(path));
  AMPHORA_ASSIGN(const json::Value texts, json::parse(as_text(file->bytes())));
  size_t tokens = 0;
  const double start = processor_seconds();
  for (const json::Value& text : texts.items()) {
    AMPHORA_ASSIGN(const auto ids, tokenizer.encode(text.text(), {.add_special = false}));
    tokens += ids.size();
  }
  return Answer{processor_seconds() - start, tokens};
}

}  // namespace

int main() {
  std::shared_ptr<const text::Tokenizer> tokenizer;
  for (std::string line; std::getline(std::cin, line);) {
    const auto request = json::parse(line);
    if (!request || !request->is_array() || request->items().size() != 2) return 2;
    const std::string& path = request->items()[1].text();
    const bool loads = request->items()[0].text() == "load";
    if (!loads && tokenizer == nullptr) return 2;
    const auto answer = loads ? load(path, tokenizer) : encode(path, *tokenizer);
    if (!answer) {
      std::cerr << answer.error().place << ": " << answer.error().message << '\n';
      return 1;
    }
    std::cout << '[' << answer->seconds << ", " << answer->tokens << ']' << std::endl;
  }
}
