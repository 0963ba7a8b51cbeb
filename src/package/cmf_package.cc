// The tensors and header of a CMF file in the terms of a Package.
#include "package/cmf_package.h"

#include <fmt/format.h>

#include "base/byte_writer.h"
#include "crypto/hash64.h"
#include "formats/cmf/cmf_set.h"
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

/// See Package::directory_hash.
std::optional<uint64_t> directory_hash_of(const std::vector<cmf::CmfFile>& files) {
  ByteWriter hashes;
  for (const cmf::CmfFile& file : files) {
    if (file.envelope().directory_hash == 0) return std::nullopt;
    hashes.write(file.envelope().directory_hash);
  }
  return files.size() == 1 ? files.front().envelope().directory_hash : crypto::hash64(hashes.bytes());
}

void describe_extras(const cmf::CmfFile& first, Package& package) {
  if (const auto& masks = first.masks()) {
    std::string names;
    for (const cmf::Mask& mask : masks->masks) names += (names.empty() ? "" : ", ") + mask.name;
    package.notes.push_back(fmt::format("{} task masks: {}", masks->masks.size(), names));
  }
  if (first.is_skill_file()) {
    package.not_runnable =
        "it is a skill file, which holds only the tensors that differ from its base: apply it with `skill "
        "apply`";
  } else if (!first.skills().empty()) {
    std::string ids;
    for (const cmf::SkillRecord& skill : first.skills()) ids += (ids.empty() ? "" : ", ") + skill.id;
    package.notes.push_back(fmt::format("{} skills: {}", first.skills().size(), ids));
  }
}

}  // namespace

Result<std::shared_ptr<const Package>> open_cmf_package(const std::filesystem::path& path) {
  AMPHORA_ASSIGN(const cmf::CmfSet set, cmf::CmfSet::open(path));
  const cmf::CmfFile& first = set.first();
  auto package = std::make_shared<Package>();
  package->format = PackageFormat::kCmf;
  package->path = path;
  package->header = set.header();
  AMPHORA_ASSIGN(package->spec, package::decode_arch(first.arch()));
  AMPHORA_ASSIGN(package->tokenizer, decode_tokenizer_config(package->header));
  if (const json::Value* provenance = package->header.find_present("provenance"))
    package->provenance = *provenance;
  package->directory_hash = directory_hash_of(set.files());
  package->tokenizer_json = first.tokenizer_json();
  package->masks = first.section(cmf::Section::kMasks);
  package->index = first.section(cmf::Section::kIndex);
  package->loop_masks = (first.envelope().features & cmf::kLoopMasks) != 0;
  for (const cmf::SetTensor& tensor : set.tensors())
    package->tensors.push_back(tensor_of(*tensor.file, *tensor.record, set.path_of(*tensor.file)));
  for (const cmf::CmfFile& file : set.files()) package->owners.push_back(file.mapping());
  describe_extras(first, *package);
  return package;
}

}  // namespace amphora
