// Reads a Hugging Face directory: configuration, weights, whether the head is tied, tokenizer.
#include "package/hf_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/file.h"
#include "formats/safetensors/directory.h"
#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/hf_config.h"
#include "package/hf_tensors.h"
#include "package/hf_tokenizer.h"
#include "package/hf_weights.h"
#include "package/limits.h"
#include "package/tokenizer_source.h"

namespace amphora {
namespace {

namespace fs = std::filesystem;
using package::HfConfig;
using package::in_file;
using package::is_there;

constexpr std::string_view kEmbedding = "model.embed_tokens.weight";
constexpr std::string_view kHead = "lm_head.weight";

Status read_weights(const fs::path& directory, const HfConfig& config, Package& package) {
  AMPHORA_ASSIGN(const package::HfWeights weights, package::find_hf_weights(directory, package.notes));
  package::HfTensors tensors(config, package);
  for (const std::string& name : weights.files) {
    const fs::path file = directory / name;
    AMPHORA_ASSIGN(const auto mapping, MappedFile::open(file));
    const auto contents = safetensors::decode_directory(mapping->bytes());
    if (!contents) return in_file(file, contents.error());
    AMPHORA_TRY(package::check_against_index(weights, name, *contents));
    for (const safetensors::Tensor& tensor : contents->tensors) AMPHORA_TRY(tensors.add(tensor, file));
    package.owners.push_back(mapping);
  }
  return tensors.finish();
}

/// Decides whether the head is the embedding: what is stored counts, not what the configuration claims.
Status settle_head(const HfConfig& config, Package& package) {
  const PackageTensor* embedding = package.find(kEmbedding);
  const auto head = std::ranges::find(package.tensors, kHead, &PackageTensor::name);
  if (embedding == nullptr)
    return fail_at(Fault::kCorrupt, "Missing", std::string(kEmbedding), std::nullopt,
                   fmt::format("there is no tensor {}", kEmbedding));
  if (head == package.tensors.end()) {
    if (package.spec.tie_word_embeddings) return {};
    return fail_at(Fault::kCorrupt, "Missing", std::string(kHead), std::nullopt,
                   fmt::format("there is no tensor {}, and tie_word_embeddings is {}", kHead,
                               config.says_tied ? "false" : "not set"));
  }
  if (!config.says_tied || !package.spec.tie_word_embeddings) {
    package.spec.tie_word_embeddings = false;
    return {};
  }
  if (head->stored_type == embedding->stored_type && head->shape == embedding->shape &&
      std::ranges::equal(head->mapped, embedding->mapped)) {
    package.tensors.erase(head);
    package.notes.push_back("lm_head.weight equals the embedding and is left out: the head is tied");
    return {};
  }
  package.spec.tie_word_embeddings = false;
  package.notes.push_back(
      "the configuration ties the head, but lm_head.weight differs from the embedding: kept, untied");
  return {};
}

Status read_tokenizer(package::TokenizerDirectory directory, const TokenizerConfig& config_ids,
                      Package& package) {
  AMPHORA_ASSIGN(directory.tokenizer_config,
                 package::read_object_if_there(directory.path / "tokenizer_config.json"));
  AMPHORA_ASSIGN(package.tokenizer, package::read_tokenizer_config(directory.path, directory.tokenizer_config,
                                                                   config_ids, package.notes));
  AMPHORA_ASSIGN(auto text, package::find_tokenizer(directory));
  if (!text) {
    AMPHORA_ASSIGN(std::string note, package::note_on_absence(directory.path));
    package.notes.push_back(std::move(note));
    return {};
  }
  package.tokenizer_json = text->json;
  package.owners.push_back(std::move(text->owner));
  std::ranges::move(text->notes, std::back_inserter(package.notes));
  if (text->took_assumed) package::record_assumption(*directory.assumed, package);
  return {};
}

/// Older quantisers leave their settings beside an ordinary config.json.
Status refuse_quantiser_files(const fs::path& directory) {
  for (const std::string_view name : {"quantize_config.json", "quant_config.json"})
    if (is_there(directory / name))
      return fail_at(
          Fault::kUnsupported, "Quantised", std::string(name), std::nullopt,
          fmt::format("{}: the source is already quantised by {} (it has a {}): get the original weights",
                      directory.string(), name == "quant_config.json" ? "AWQ" : "GPTQ", name));
  return {};
}

}  // namespace

Result<std::shared_ptr<const Package>> open_hugging_face_package(const fs::path& directory,
                                                                 const package::OpenOptions& options) {
  const fs::path config_path = directory / "config.json";
  if (!is_there(config_path))
    return fail(Fault::kNotFound,
                fmt::format("{}: no config.json, so not the directory of a model", directory.string()));
  AMPHORA_ASSIGN(const std::string text, read_small_file(config_path, package::kMaxConfigBytes));
  const auto config = package::decode_hf_config(text);
  if (!config) return in_file(config_path, config.error());
  AMPHORA_TRY(refuse_quantiser_files(directory));

  auto package = std::make_shared<Package>();
  package->format = PackageFormat::kHuggingFace;
  package->path = directory;
  package->spec = config->spec;
  AMPHORA_TRY(read_weights(directory, *config, *package));
  AMPHORA_TRY(settle_head(*config, *package));
  AMPHORA_TRY(read_tokenizer({directory, config->root, {}, options.assumed}, config->token_ids, *package));
  return package;
}

}  // namespace amphora
