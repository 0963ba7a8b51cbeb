// The tensors and header of a CMF file in the terms of a Package.
#include "package/cmf_package.h"

#include <fmt/format.h>

#include "formats/cmf/cmf_file.h"
#include "package/arch_json.h"
#include "package/object_reader.h"
#include "quant/codec.h"

namespace amphora {
namespace {

Result<TokenizerConfig> decode_tokenizer_config(const json::Value& header) {
  TokenizerConfig config;
  const json::Value* object = header.find_present("tokenizer_config");
  if (object == nullptr) return config;
  package::ObjectReader in(*object, "$.tokenizer_config");
  if (const std::string* text = in.find_string("chat_template")) config.chat_template = *text;
  config.eos_token_ids = in.find_integers("eos_token_ids");
  config.bos_token_id = in.find_integer("bos_token_id");
  config.pad_token_id = in.find_integer("pad_token_id");
  AMPHORA_TRY(in.status());
  return config;
}

PackageTensor tensor_of(const cmf::CmfFile& file, const cmf::TensorRecord& record,
                        const std::filesystem::path& path) {
  const quant::Codec* codec = quant::find_codec(record.dtype);  // open has checked that the type is known
  PackageTensor tensor;
  tensor.name = record.name;
  tensor.shape = record.shape;
  tensor.stored_type = codec->name;
  tensor.dtype = record.dtype;
  tensor.stored = file.payload(record);
  tensor.mapped = tensor.stored;
  tensor.stored_bytes = record.bytes;
  tensor.stored_offset = record.offset;
  tensor.file = path;
  tensor.read = [codec, payload = tensor.stored, shape = record.shape, name = tensor.name](
                    uint64_t first, std::span<float> out) -> Status {
    if (!codec->can_decode())
      return fail_at(Fault::kUnsupported, "ElementType", name, std::nullopt,
                     fmt::format("tensor {}: this version cannot decode {}", name, codec->name));
    codec->decode(payload, shape, first, out);
    return {};
  };
  return tensor;
}

void describe_extras(const cmf::CmfFile& file, Package& package) {
  if (const auto& masks = file.masks()) {
    std::string names;
    for (const cmf::Mask& mask : masks->masks) names += (names.empty() ? "" : ", ") + mask.name;
    package.notes.push_back(fmt::format("{} task masks: {}", masks->masks.size(), names));
    package.uncarried.push_back("task masks");
  }
  if (!file.index().empty()) package.uncarried.push_back("sparse index");
  if (file.skills().empty()) return;
  std::string ids;
  for (const cmf::SkillRecord& skill : file.skills()) ids += (ids.empty() ? "" : ", ") + skill.id;
  package.notes.push_back(fmt::format("{} skills: {}", file.skills().size(), ids));
  package.uncarried.push_back("skills");
  if (file.is_skill_file())
    package.not_runnable =
        "it is a skill file, which holds only the tensors that differ from its base: apply it with `skill "
        "apply`";
}

}  // namespace

Result<std::shared_ptr<const Package>> open_cmf_package(const std::filesystem::path& path) {
  AMPHORA_ASSIGN(const cmf::CmfFile file, cmf::CmfFile::open(path));
  if (file.shard() && file.shard()->count > 1)
    return fail_at(Fault::kUnsupported, "Shard", "header", std::nullopt,
                   fmt::format("{} is part {} of {}: sharded models cannot be opened by this version",
                               path.string(), file.shard()->no, file.shard()->count));
  auto package = std::make_shared<Package>();
  package->format = PackageFormat::kCmf;
  package->path = path;
  AMPHORA_ASSIGN(package->spec, package::decode_arch(file.arch()));
  AMPHORA_ASSIGN(package->tokenizer, decode_tokenizer_config(file.header()));
  package->tokenizer_json = file.tokenizer_json();
  package->header = file.header();
  if (const json::Value* provenance = file.header().find_present("provenance"))
    package->provenance = *provenance;
  for (const cmf::TensorRecord& record : file.tensors())
    package->tensors.push_back(tensor_of(file, record, path));
  describe_extras(file, *package);
  package->owners.push_back(file.mapping());
  return package;
}

}  // namespace amphora
