// What a new file says of itself.
#include "package/conversion_header.h"

#include <filesystem>

#include "formats/cmf/writer.h"
#include "package/arch_json.h"
#include "unicode/utf8.h"

namespace amphora::package {
namespace {

namespace fs = std::filesystem;

std::string_view name_of(PackageFormat format) {
  switch (format) {
    case PackageFormat::kHuggingFace: return "huggingface";
    case PackageFormat::kGguf: return "gguf";
    case PackageFormat::kCmf: return "cmf";
  }
  return {};
}

/// The last part of the source's path: where it lay on this machine is nobody's business. A file name may be
/// any bytes, a header only UTF-8.
std::string base_name(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored).lexically_normal();
  return unicode::replace_ill_formed(
      (whole.has_filename() ? whole : whole.parent_path()).filename().string());
}

json::Value provenance_of(const Package& package, std::string_view tool) {
  json::Value provenance = package.provenance.is_object() ? package.provenance : json::Value::object();
  provenance.set("tool", json::Value::string(std::string(tool)));
  provenance.set("source_format", json::Value::string(std::string(name_of(package.format))));
  provenance.set("source_file", json::Value::string(base_name(package.path)));
  cmf::promise_canonical_layout(provenance);
  return provenance;
}

json::Value encode_tokenizer_config(const TokenizerConfig& config) {
  json::Value out = json::Value::object();
  if (config.chat_template) out.set("chat_template", json::Value::string(*config.chat_template));
  std::vector<json::Value> eos;
  for (const uint32_t id : config.eos_token_ids) eos.push_back(json::Value::unsigned_integer(id));
  out.set("eos_token_ids", json::Value::array(std::move(eos)));
  if (config.bos_token_id) out.set("bos_token_id", json::Value::unsigned_integer(*config.bos_token_id));
  if (config.pad_token_id) out.set("pad_token_id", json::Value::unsigned_integer(*config.pad_token_id));
  return out;
}

}  // namespace

json::Value conversion_header(const Package& package, std::string_view tool, std::string_view quant_type) {
  json::Value header = json::Value::object();
  if (package.header.is_object()) {
    header = package.header;  // arch and tokenizer_config stay as they are written, unknown keys included
    header.erase("shard");
  } else {
    header.set("format", json::Value::string("cmf"));
    header.set("version", json::Value::unsigned_integer(2));
    header.set("arch", encode_arch(package.spec));
  }
  header.set("quant_type", json::Value::string(std::string(quant_type)));
  header.set("provenance", provenance_of(package, tool));
  const TokenizerConfig& tokenizer = package.tokenizer;
  if (!package.header.is_object() && (tokenizer.chat_template || !tokenizer.eos_token_ids.empty() ||
                                      tokenizer.bos_token_id || tokenizer.pad_token_id))
    header.set("tokenizer_config", encode_tokenizer_config(tokenizer));
  return header;
}

}  // namespace amphora::package
