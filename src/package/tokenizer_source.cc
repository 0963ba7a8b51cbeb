// The sources of a tokenizer in their order of preference.
#include "package/tokenizer_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/file.h"
#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/limits.h"
#include "package/open_options.h"
#include "package/settings_check.h"
#include "package/spm_source.h"
#include "package/tiktoken_source.h"
#include "package/tokenizer_check.h"
#include "package/vocab_merges.h"

namespace amphora::package {
namespace {

namespace fs = std::filesystem;

/// The file as it is: a copy of a large one would cost its size again.
Result<std::optional<TokenizerText>> read_tokenizer_json(const TokenizerDirectory& directory) {
  const fs::path path = directory.path / "tokenizer.json";
  if (!is_there(path)) return std::nullopt;
  AMPHORA_ASSIGN(const auto mapping, MappedFile::open(path));
  if (mapping->bytes().empty())
    return in_file(path, Error{Fault::kCorrupt, "Parse", "tokenizer.json", 0, "the file is empty"});
  if (mapping->bytes().size() > kMaxTokenizerBytes)
    return fail(Fault::kRefused, fmt::format("{}: {} bytes are more than the limit of {} bytes",
                                             path.string(), mapping->bytes().size(), kMaxTokenizerBytes));
  TokenizerText text{as_text(mapping->bytes()), mapping, {}};
  if (directory.assumed != nullptr && find_unknown_pre_tokenizer(text.json)) {
    text = owned_tokenizer(with_pre_tokenizer(text.json, *directory.assumed), {});
    text.took_assumed = true;
  }
  text.notes = notes_on_blocks(text.json);
  AMPHORA_ASSIGN(auto contradictions, notes_on_settings(text.json, directory));
  std::ranges::move(contradictions, std::back_inserter(text.notes));
  return text;
}

/// A source gives nothing if its files are not there. The first that gives something is taken, in the order
/// in which transformers looks for them.
using Source = Result<std::optional<TokenizerText>> (*)(const TokenizerDirectory& directory);

constexpr std::array<Source, 4> kSources = {read_tokenizer_json, read_spm_tokenizer, read_vocab_and_merges,
                                            read_tiktoken};

}  // namespace

Result<std::optional<TokenizerText>> find_tokenizer(const TokenizerDirectory& directory) {
  for (const Source source : kSources) {
    AMPHORA_ASSIGN(std::optional<TokenizerText> text, source(directory));
    if (!text) continue;
    if (directory.assumed != nullptr && !text->took_assumed)
      return idle_assumption("how text is cut follows from the files");
    return text;
  }
  if (directory.assumed != nullptr) return idle_assumption("there is no tokenizer");
  return std::nullopt;
}

Result<std::string> note_on_absence(const fs::path& directory) {
  std::vector<std::string> found;
  if (is_there(directory / "vocab.json")) found.emplace_back("vocab.json without merges.txt");
  if (is_there(directory / "merges.txt")) found.emplace_back("merges.txt without vocab.json");
  if (is_there(directory / "vocab.txt")) found.emplace_back("vocab.txt (WordPiece), which is not supported");
  AMPHORA_ASSIGN(const std::vector<std::string> models, files_ending_in(directory, ".model"));
  for (const std::string& name : models)
    found.push_back(name == "tokenizer.model"
                        ? name + ", which is neither a SentencePiece model nor a tiktoken file"
                        : name +
                              ", which is no name that is looked for (a SentencePiece model is called "
                              "tokenizer.model)");
  return fmt::format(
      "there is no tokenizer.json: no text can be encoded{}{}",
      found.empty() ? "" : "; what is there does not make a tokenizer: ", fmt::join(found, "; "));
}

TokenizerText owned_tokenizer(std::string json, std::vector<std::string> notes) {
  auto owner = std::make_shared<const std::string>(std::move(json));
  const std::string_view text = *owner;
  return {text, std::move(owner), std::move(notes)};
}

}  // namespace amphora::package
