// Writes the tokenizer.json that the files of a Hugging Face directory make; a second argument names the
// pre-tokenizer to assume. For make_tokenizer_sources.py.
#include <fstream>
#include <iostream>
#include <sstream>

#include "package/tokenizer_source.h"

namespace {

amphora::json::Value read_json(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  auto value = amphora::json::parse(text.str());
  return value ? *std::move(value) : amphora::json::Value();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace amphora;
  if (argc < 2) return 2;
  package::TokenizerDirectory directory;
  directory.path = argv[1];
  directory.config = read_json(directory.path / "config.json");
  directory.tokenizer_config = read_json(directory.path / "tokenizer_config.json");
  if (argc > 2) directory.assumed = package::find_pre_tokenizer(argv[2]);
  const auto found = package::find_tokenizer(directory);
  if (!found || !*found) {
    std::cerr << (found ? "there is none" : found.error().message) << '\n';
    return 1;
  }
  std::cout << (*found)->json;
}
