// Chat template and token ids, with the precedence that transformers gives their files.
#include "package/hf_tokenizer.h"

#include <fmt/format.h>

#include <optional>

#include "base/file.h"
#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/hf_config.h"
#include "package/limits.h"
#include "package/object_reader.h"

namespace amphora::package {
namespace {

/// `chat_template`: a template, or a list of named ones of which "default" counts.
Result<std::optional<std::string>> decode_chat_template(const json::Value& config,
                                                        std::vector<std::string>& notes) {
  const json::Value* value = config.find_present("chat_template");
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->text();
  const std::string path = "$.chat_template";
  if (!value->is_array())
    return fail_at(Fault::kCorrupt, "Parse", path, std::nullopt,
                   fmt::format("chat_template is of type {}, wanted a string or a list of named templates",
                               json::kind_name(value->kind())));
  std::optional<std::string> chosen;
  std::string others;
  for (size_t i = 0; i < value->items().size(); ++i) {
    const json::Value& item = value->items()[i];
    if (!item.is_object())
      return fail_at(Fault::kCorrupt, "Parse", fmt::format("{}[{}]", path, i), std::nullopt,
                     "a named chat template is not an object");
    ObjectReader in(item, fmt::format("{}[{}]", path, i));
    const std::string name = in.read_string("name");
    std::string text = in.read_string("template");
    AMPHORA_TRY(in.status());
    if (name == "default")
      chosen = std::move(text);
    else
      others += (others.empty() ? "" : ", ") + name;
  }
  if (!others.empty()) notes.push_back(fmt::format("chat templates left aside: {}", others));
  return chosen;
}

/// Further templates stand in a folder of their own, each under its name.
Status note_further_templates(const std::filesystem::path& directory, std::vector<std::string>& notes) {
  constexpr std::string_view kFolder = "additional_chat_templates";
  if (!is_there(directory / kFolder)) return {};
  AMPHORA_ASSIGN(const std::vector<std::string> names, files_ending_in(directory / kFolder, ".jinja"));
  if (!names.empty())
    notes.push_back(fmt::format("chat templates left aside: {0}/{1}", kFolder,
                                fmt::join(names, fmt::format(", {}/", kFolder))));
  return {};
}

}  // namespace

Result<TokenizerConfig> read_tokenizer_config(const std::filesystem::path& directory,
                                              const json::Value& config, const TokenizerConfig& config_ids,
                                              std::vector<std::string>& notes) {
  TokenizerConfig result = config_ids;
  const auto generation_path = directory / "generation_config.json";
  AMPHORA_ASSIGN(const json::Value generation, read_object_if_there(generation_path));
  if (generation.is_object()) {
    const auto ids = decode_token_ids(generation, "$");
    if (!ids) return in_file(generation_path, ids.error());
    if (!ids->eos_token_ids.empty()) result.eos_token_ids = ids->eos_token_ids;
    if (ids->bos_token_id) result.bos_token_id = ids->bos_token_id;
    if (ids->pad_token_id) result.pad_token_id = ids->pad_token_id;
  }

  if (config.is_object()) {
    auto chat_template = decode_chat_template(config, notes);
    if (!chat_template) return in_file("tokenizer_config.json", chat_template.error());
    result.chat_template = *std::move(chat_template);
  }
  if (const auto path = directory / "chat_template.jinja"; is_there(path)) {
    AMPHORA_ASSIGN(std::string file_template, read_small_file(path, kMaxTemplateBytes));
    if (result.chat_template && *result.chat_template != file_template)
      notes.push_back("chat_template.jinja replaces the template in tokenizer_config.json");
    result.chat_template = std::move(file_template);
  }
  AMPHORA_TRY(note_further_templates(directory, notes));
  return result;
}

}  // namespace amphora::package
