// Reads a Hugging Face directory: which files count, what their tensors are called, whether the head is tied.
#include "package/hf_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/file.h"
#include "formats/safetensors/directory.h"
#include "formats/safetensors/shard_index.h"
#include "package/directory_files.h"
#include "package/file_error.h"
#include "package/fused_tensors.h"
#include "package/hf_config.h"
#include "package/hf_names.h"
#include "package/hf_tokenizer.h"
#include "package/limits.h"
#include "package/tokenizer_source.h"

namespace amphora {
namespace {

namespace fs = std::filesystem;
using package::canonical_name;
using package::files_ending_in;
using package::HfConfig;
using package::in_file;
using package::is_there;

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";
constexpr std::string_view kEmbedding = "model.embed_tokens.weight";
constexpr std::string_view kHead = "lm_head.weight";

std::string join(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ", ")); }

/// `of` in "model-00002-of-00003.safetensors"; empty if the name has no such part.
std::string_view shard_count_of(std::string_view name) {
  constexpr std::string_view kOf = "-of-";
  const size_t at = name.rfind(kOf);
  if (at == std::string_view::npos) return {};
  return name.substr(at + kOf.size(), name.rfind('.') - at - kOf.size());
}

/// Which safetensors files make the model, and which of them holds which tensor.
struct Weights {
  std::vector<std::string> files;
  std::unordered_map<std::string, std::string> file_of;  ///< by tensor name as stored; empty without an index
};

Status check_shards(const fs::path& directory, const safetensors::ShardIndex& index) {
  std::vector<std::string> missing;
  for (const std::string& shard : index.shards)
    if (!is_there(directory / shard)) missing.push_back(shard);
  if (!missing.empty())
    return fail_at(
        Fault::kNotFound, "MissingShard", std::string(kIndexName), std::nullopt,
        fmt::format("{}: {} of {} weight files named by the index are missing: {} (incomplete download?)",
                    directory.string(), missing.size(), index.shards.size(), join(missing)));
  const std::string_view count = shard_count_of(index.shards.front());
  for (const std::string& shard : index.shards)
    if (shard_count_of(shard) != count)
      return fail_at(Fault::kCorrupt, "ShardName", std::string(kIndexName), std::nullopt,
                     fmt::format("the index names {} beside {}: parts of two different models",
                                 index.shards.front(), shard));
  return {};
}

Result<Weights> find_weights(const fs::path& directory, std::vector<std::string>& notes) {
  AMPHORA_ASSIGN(std::vector<std::string> present, files_ending_in(directory, ".safetensors"));
  Weights weights;
  if (is_there(directory / kIndexName)) {
    AMPHORA_ASSIGN(const std::string text, read_small_file(directory / kIndexName, package::kMaxIndexBytes));
    const auto index = safetensors::decode_shard_index(text);
    if (!index) return in_file(kIndexName, index.error());
    AMPHORA_TRY(check_shards(directory, *index));
    weights.files = index->shards;
    weights.file_of.insert(index->weight_map.begin(), index->weight_map.end());
  } else if (is_there(directory / kSingleName)) {
    weights.files = {std::string(kSingleName)};
  } else if (!present.empty()) {
    return fail(Fault::kNotFound,
                fmt::format("{}: there is neither {} nor {}, only {} (incomplete download?)",
                            directory.string(), kSingleName, kIndexName, join(present)));
  } else {
    AMPHORA_ASSIGN(const std::vector<std::string> pickles, files_ending_in(directory, ".bin"));
    if (!pickles.empty())
      return fail(Fault::kUnsupported,
                  fmt::format("{}: the weights are pickle files ({}), which can carry code: get "
                              "them as safetensors",
                              directory.string(), join(pickles)));
    return fail(Fault::kNotFound, fmt::format("{}: no {}", directory.string(), kSingleName));
  }
  std::erase_if(present, [&](const std::string& name) {
    return std::ranges::find(weights.files, name) != weights.files.end();
  });
  if (!present.empty())
    notes.push_back(fmt::format("files that do not belong to the model: {}", join(present)));
  return weights;
}

std::optional<DType> dtype_of(safetensors::ElementType type) {
  switch (type) {
    case safetensors::ElementType::kF32: return DType::kF32;
    case safetensors::ElementType::kF16: return DType::kF16;
    case safetensors::ElementType::kBF16: return DType::kBF16;
    default: return std::nullopt;
  }
}

/// Gathers tensors under canonical names, and what there is to say about those left out or renamed.
class Collector {
 public:
  Collector(Package& package, bool has_other_parts) : package_(package), has_other_parts_(has_other_parts) {}

  Status add(const safetensors::Tensor& tensor, const fs::path& file) {
    if (const std::string_view method = package::quantiser_of(tensor.name); !method.empty())
      return fail_at(
          Fault::kUnsupported, "Quantised", tensor.name, std::nullopt,
          fmt::format("the source is already quantised by {} (tensor {}): get the original weights", method,
                      tensor.name));
    if (package::is_rotary_table(tensor.name)) {
      ++rotary_tables_;
      return {};
    }
    if (has_other_parts_ && package::is_other_part(tensor.name)) {
      ++other_parts_;
      return {};
    }
    const auto canonical = canonical_name(tensor.name);
    if (!canonical) {
      ++unmatched_[std::string(package::prefix_of(tensor.name))];
      return {};
    }
    if (!canonical->rule.empty()) ++renamed_[canonical->rule];
    if (safetensors::info(tensor.type).decode == nullptr)
      return fail_at(Fault::kUnsupported, "ElementType", tensor.name, std::nullopt,
                     fmt::format("tensor {} has elements of type {}, which are not numbers that can be read",
                                 tensor.name, safetensors::info(tensor.type).name));
    PackageTensor out;
    out.name = canonical->name;
    out.shape = tensor.shape;
    out.stored_type = safetensors::info(tensor.type).name;
    out.dtype = dtype_of(tensor.type);
    if (out.dtype) out.stored = tensor.data;
    out.mapped = tensor.data;
    out.stored_bytes = tensor.data.size();
    out.stored_offset = tensor.offset;
    out.file = file;
    out.read = [type = tensor.type, data = tensor.data](uint64_t first, std::span<float> values) {
      return safetensors::decode_elements(type, data, first, values);
    };
    AMPHORA_ASSIGN(std::vector<PackageTensor> parts, package::split_fused(out, package_.spec));
    fused_ += parts.empty() ? 0 : 1;
    if (parts.empty()) parts.push_back(std::move(out));
    for (PackageTensor& part : parts) {
      if (!names_.insert(part.name).second)
        return fail_at(Fault::kCorrupt, "Duplicate", tensor.name, std::nullopt,
                       fmt::format("two tensors are called {}, the second as {} in {}", part.name,
                                   tensor.name, file.filename().string()));
      package_.tensors.push_back(std::move(part));
    }
    return {};
  }

  Status finish() {
    if (!unmatched_.empty()) {
      std::vector<std::string> prefixes;
      for (const auto& [prefix, count] : unmatched_)
        prefixes.push_back(fmt::format("{} ({} tensors)", prefix, count));
      return fail_at(Fault::kUnsupported, "Names", "", std::nullopt,
                     fmt::format("tensor names of no known scheme: {}", join(prefixes)));
    }
    for (const auto& [rule, count] : renamed_)
      package_.notes.push_back(fmt::format("{} tensors were {}", count, rule));
    if (fused_ != 0)
      package_.notes.push_back(
          fmt::format("{} fused tensors were split into the matrices they hold", fused_));
    if (rotary_tables_ != 0)
      package_.notes.push_back(
          fmt::format("{} rotary_emb.inv_freq tables ignored: the configuration gives them", rotary_tables_));
    if (other_parts_ != 0)
      package_.notes.push_back(
          fmt::format("{} tensors of other parts than the language model left out", other_parts_));
    return {};
  }

 private:
  Package& package_;
  bool has_other_parts_;
  std::set<std::string> names_;
  std::map<std::string_view, uint64_t> renamed_;
  std::map<std::string, uint64_t> unmatched_;
  uint64_t rotary_tables_ = 0, other_parts_ = 0, fused_ = 0;
};

/// What a shard holds against what the index says of it.
Status check_against_index(const Weights& weights, const std::string& file,
                           const safetensors::Directory& directory) {
  if (weights.file_of.empty()) return {};
  const auto disagree = [&](const std::string& tensor, std::string message) {
    return fail_at(Fault::kCorrupt, "IndexMismatch", tensor, std::nullopt, std::move(message));
  };
  std::set<std::string_view> held;
  for (const safetensors::Tensor& tensor : directory.tensors) {
    held.insert(tensor.name);
    const auto entry = weights.file_of.find(tensor.name);
    if (entry == weights.file_of.end())
      return disagree(tensor.name, fmt::format("{} holds the tensor {}, which the index does not name", file,
                                               tensor.name));
    if (entry->second != file)
      return disagree(tensor.name, fmt::format("{} holds the tensor {}, which the index places in {}", file,
                                               tensor.name, entry->second));
  }
  std::vector<std::string> missing;
  for (const auto& [tensor, place] : weights.file_of)
    if (place == file && !held.contains(tensor)) missing.push_back(tensor);
  if (missing.empty()) return {};
  std::ranges::sort(missing);
  return disagree(missing.front(),
                  fmt::format("{} lacks {} tensors that the index places in it, the first {}", file,
                              missing.size(), missing.front()));
}

Status read_weights(const fs::path& directory, const HfConfig& config, Package& package) {
  AMPHORA_ASSIGN(const Weights weights, find_weights(directory, package.notes));
  Collector collector(package, config.has_other_parts);
  for (const std::string& name : weights.files) {
    const fs::path file = directory / name;
    AMPHORA_ASSIGN(const auto mapping, MappedFile::open(file));
    const auto contents = safetensors::decode_directory(mapping->bytes());
    if (!contents) return in_file(file, contents.error());
    AMPHORA_TRY(check_against_index(weights, name, *contents));
    for (const safetensors::Tensor& tensor : contents->tensors) AMPHORA_TRY(collector.add(tensor, file));
    package.owners.push_back(mapping);
  }
  return collector.finish();
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
