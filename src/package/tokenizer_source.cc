// The sources of a tokenizer in their order of preference.
#include "package/tokenizer_source.h"

#include <fmt/format.h>

#include <array>

#include "base/file.h"
#include "package/limits.h"

namespace amphora::package {
namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// The file as it is: a copy of a large one would cost its size again.
Result<std::optional<TokenizerText>> read_tokenizer_json(const TokenizerDirectory& directory) {
  const fs::path path = directory.path / "tokenizer.json";
  if (!is_there(path)) return std::nullopt;
  AMPHORA_ASSIGN(const auto mapping, MappedFile::open(path));
  if (mapping->bytes().size() > kMaxTokenizerBytes)
    return fail(Fault::kRefused, fmt::format("{}: {} bytes are more than the limit kMaxTokenizerBytes = {}",
                                             path.string(), mapping->bytes().size(), kMaxTokenizerBytes));
  return TokenizerText{as_text(mapping->bytes()), mapping, {}};
}

/// A source gives nothing if its files are not there. The first that gives something is taken, in the order
/// in which transformers looks for them.
using Source = Result<std::optional<TokenizerText>> (*)(const TokenizerDirectory& directory);

constexpr std::array<Source, 1> kSources = {read_tokenizer_json};

}  // namespace

Result<std::optional<TokenizerText>> find_tokenizer(const TokenizerDirectory& directory) {
  for (const Source source : kSources) {
    AMPHORA_ASSIGN(std::optional<TokenizerText> text, source(directory));
    if (text) return text;
  }
  return std::nullopt;
}

TokenizerText owned_tokenizer(std::string json, std::vector<std::string> notes) {
  auto owner = std::make_shared<const std::string>(std::move(json));
  const std::string_view text = *owner;
  return {text, std::move(owner), std::move(notes)};
}

}  // namespace amphora::package
