// Opens a GGUF file as a Package.
#include "package/gguf_package.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/file.h"
#include "formats/gguf/directory.h"
#include "package/gguf_claims.h"
#include "package/gguf_layers.h"
#include "package/gguf_spec.h"
#include "package/gguf_tokenizer.h"

namespace amphora {
namespace {

std::unexpected<Error> in_file(const std::filesystem::path& path, Error error) {
  error.message = fmt::format("{}: {}", path.filename().string(), error.message);
  return std::unexpected(std::move(error));
}

/// A split model is several files, each a valid GGUF; one of them alone is not a model.
Status refuse_split(const gguf::Directory& directory) {
  const gguf::Value* count = directory.find("split.count");
  if (count == nullptr || count->as_unsigned().value_or(0) <= 1) return {};
  return fail_at(Fault::kUnsupported, "Split", "split.count", count->offset,
                 fmt::format("the model is split over {} files: merge them first (llama-gguf-split --merge)",
                             *count->as_unsigned()));
}

Status fill(const gguf::Directory& directory, const package::OpenOptions& options, Package& package) {
  AMPHORA_TRY(refuse_split(directory));
  AMPHORA_ASSIGN(package::GgufModel model, package::decode_gguf_spec(directory));
  package::TensorClaims claims(directory, package.path);
  package::claim_model(model, claims);
  AMPHORA_ASSIGN(package.tensors, claims.finish(model.architecture->name));
  AMPHORA_ASSIGN(package::GgufTokenizer tokenizer, package::rebuild_tokenizer(directory, options.assumed));
  package.spec = std::move(model.spec);
  package.notes = std::move(model.notes);
  std::ranges::move(tokenizer.notes, std::back_inserter(package.notes));
  package.tokenizer = std::move(tokenizer.config);
  if (tokenizer.took_assumed_pre_tokenizer)
    package::record_assumption(*options.assumed, package);
  else if (options.assumed != nullptr)
    return package::idle_assumption(tokenizer.tokenizer_json.empty() ? "the file has no vocabulary"
                                                                     : "the file's own is known");
  if (tokenizer.tokenizer_json.empty()) {
    package.notes.push_back("the file has no vocabulary: no text can be encoded");
    return {};
  }
  const auto json = std::make_shared<const std::string>(std::move(tokenizer.tokenizer_json));
  package.tokenizer_json = *json;
  package.owners.push_back(json);
  return {};
}

}  // namespace

Result<std::shared_ptr<const Package>> open_gguf_package(const std::filesystem::path& path,
                                                         const package::OpenOptions& options) {
  AMPHORA_ASSIGN(const auto mapping, MappedFile::open(path));
  const auto directory = gguf::decode_directory(mapping->bytes());
  if (!directory) return in_file(path, directory.error());
  auto package = std::make_shared<Package>();
  package->format = PackageFormat::kGguf;
  package->path = path;
  package->owners.push_back(mapping);
  if (const Status status = fill(*directory, options, *package); !status)
    return in_file(path, status.error());
  return package;
}

}  // namespace amphora
