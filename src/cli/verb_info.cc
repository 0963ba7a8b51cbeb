// `info`: what a model file holds, without reading its weights.
#include <algorithm>
#include <array>
#include <map>

#include "amphora/model.h"
#include "amphora/package.h"
#include "base/file.h"
#include "cli/cmf_facts.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "engine/prompt.h"
#include "formats/cmf/cmf_file.h"
#include "quant/codec.h"

namespace amphora::cli {
namespace {

struct InfoArguments {
  std::string file;
  bool memory = false;
  uint32_t context = 0;
};

struct TypeTotal {
  uint64_t tensors = 0, elements = 0, bytes = 0;
};

struct Totals {
  std::map<std::string, TypeTotal> by_type;
  uint64_t tensors = 0, elements = 0, bytes = 0;
  double bits_per_weight() const {
    return elements == 0 ? 0 : static_cast<double>(bytes) * 8 / static_cast<double>(elements);
  }
};

void count(Totals& totals, std::string_view type_name, uint64_t elements, uint64_t bytes) {
  TypeTotal& type = totals.by_type[std::string(type_name)];
  ++type.tensors;
  ++totals.tensors;
  type.elements += elements;
  totals.elements += elements;
  type.bytes += bytes;
  totals.bytes += bytes;
}

Totals total_of(const Package& package) {
  Totals totals;
  for (const PackageTensor& tensor : package.tensors)
    count(totals, tensor.stored_type, tensor.elements(), tensor.stored_bytes);
  return totals;
}

Totals total_of(const cmf::CmfFile& file) {
  Totals totals;
  for (const cmf::TensorRecord& tensor : file.tensors())
    count(totals, quant::name_of(tensor.dtype), tensor.elements(), tensor.bytes);
  return totals;
}

std::string_view name_of_format(PackageFormat format) {
  switch (format) {
    case PackageFormat::kHuggingFace: return "huggingface";
    case PackageFormat::kGguf: return "gguf";
    case PackageFormat::kCmf: return "cmf";
  }
  return "unknown";
}

// Keys of `model` as CMF names them in `arch`.
constexpr std::array<std::string_view, 9> kDimensions = {
    "arch_name",    "num_layers", "hidden_size", "intermediate_size",      "num_attention_heads",
    "num_kv_heads", "head_dim",   "vocab_size",  "max_position_embeddings"};

json::Value model_value(const ModelSpec& spec) {
  return json::Value::object({{"arch_name", text_value(spec.arch_name)},
                              {"num_layers", count_value(spec.num_layers)},
                              {"hidden_size", count_value(spec.hidden_size)},
                              {"intermediate_size", count_value(spec.intermediate_size)},
                              {"num_attention_heads", count_value(spec.num_attention_heads)},
                              {"num_kv_heads", count_value(spec.num_kv_heads)},
                              {"head_dim", count_value(spec.head_dim)},
                              {"vocab_size", count_value(spec.vocab_size)},
                              {"max_position_embeddings", count_value(spec.max_position_embeddings)}});
}

json::Value types_value(const Totals& totals) {
  json::Value types = json::Value::object();
  for (const auto& [name, total] : totals.by_type) {
    types.set(name, json::Value::object({{"tensors", count_value(total.tensors)},
                                         {"elements", count_value(total.elements)},
                                         {"bytes", count_value(total.bytes)}}));
  }
  return types;
}

json::Value memory_value(const Model& model, uint32_t context) {
  const uint64_t positions = context > 0 ? context : model.spec().max_position_embeddings;
  return json::Value::object({{"weights_mapped", count_value(model.mapped_bytes())},
                              {"weights_private", count_value(model.decoded_bytes())},
                              {"context", count_value(positions)},
                              {"kv_f16", count_value(model.kv_bytes_per_position_f16() * positions)},
                              {"streamed_per_token", count_value(model.bytes_per_token())}});
}

// Whether a number under this key counts bytes and deserves a unit.
bool counts_bytes(std::string_view key) {
  constexpr std::array kKeys = {"bytes", "weights_mapped", "weights_private", "kv_f16", "streamed_per_token"};
  return key.ends_with("_bytes") || std::ranges::find(kKeys, key) != kKeys.end();
}

// A value in words: members and items side by side.
std::string words_of(std::string_view key, const json::Value& value) {
  if (value.is_string()) return value.text();
  if (value.is_null()) return key == "quality" ? "unmeasured" : "none";
  if (const json::Value* active = value.find("active"); value.members().size() == 2 && active)
    return fmt::format("{} of {}", active->text(), value.members()[1].value.text());
  if (value.is_number() && counts_bytes(key))
    return fmt::format("{} ({})", value.text(), human_bytes(value.as_unsigned().value_or(0)));
  std::vector<std::string> parts;
  for (const json::Member& member : value.members())
    parts.push_back(fmt::format("{} {}", member.key, words_of(member.key, member.value)));
  for (const json::Value& item : value.items()) parts.push_back(words_of(key, item));
  if (value.is_object() || value.is_array()) return fmt::format("{}", fmt::join(parts, ", "));
  return json::dump(value);
}

void print_document(const json::Value& document) {
  for (const json::Member& member : document.members()) {
    const json::Value& value = member.value;
    const bool is_list = value.is_array() && !value.items().empty() && !value.items().front().is_number();
    if (value.is_null() || (value.is_array() && value.items().empty())) continue;
    if (value.is_object()) {
      print(fmt::format("{}\n", member.key));
      for (const json::Member& inner : value.members())
        print(
            fmt::format("  {:<26} {}\n", printable(inner.key), printable(words_of(inner.key, inner.value))));
    } else if (is_list) {
      print(fmt::format("{}\n", member.key));
      for (const json::Value& item : value.items())
        print(fmt::format("  {}\n", printable(words_of(member.key, item))));
    } else {
      print(fmt::format("{:<28} {}\n", member.key, printable(words_of(member.key, value))));
    }
  }
}

// The facts that every container has.
void add_totals(json::Value& document, const Totals& totals) {
  document.set("tensors", count_value(totals.tensors));
  document.set("weights", count_value(totals.elements));
  document.set("weight_bytes", count_value(totals.bytes));
  document.set("bits_per_weight", json::Value::number(std::round(totals.bits_per_weight() * 1000) / 1000));
  document.set("types", types_value(totals));
}

void add_tokenizer(json::Value& document, std::string_view tokenizer_json, bool chat_template,
                   std::vector<json::Value> eos_token_ids) {
  document.set("tokenizer_bytes", count_value(tokenizer_json.size()));
  document.set("chat_template", json::Value::boolean(chat_template));
  document.set("eos_token_ids", json::Value::array(std::move(eos_token_ids)));
}

void add_package(json::Value& document, const Package& package) {
  document.set("model", model_value(package.spec));
  add_totals(document, total_of(package));
  std::vector<json::Value> stops;
  for (const uint32_t id : package.tokenizer.eos_token_ids) stops.push_back(count_value(id));
  add_tokenizer(document, package.tokenizer_json, package.tokenizer.chat_template.has_value(),
                std::move(stops));
}

// What the file named holds, also where no model could be made of it: a shard, a skill file, a pipeline.
void add_cmf_file(json::Value& document, const cmf::CmfFile& file, const std::string& path) {
  json::Value model = json::Value::object();
  for (const std::string_view key : kDimensions) model.set(key, *file.arch().find(key));
  document.set("model", std::move(model));
  add_totals(document, total_of(file));
  const json::Value* config = file.header().find_present("tokenizer_config");
  const json::Value* stops = config ? config->find_present("eos_token_ids") : nullptr;
  add_tokenizer(document, file.tokenizer_json(), config && config->find_present("chat_template"),
                stops ? stops->items() : std::vector<json::Value>());
  add_cmf_facts(document, file, path);
}

// A model runs if its layers can be planned and its tokenizer can be read.
Result<std::shared_ptr<const Model>> can_run(const std::shared_ptr<const Package>& package) {
  AMPHORA_ASSIGN(auto model, Model::load(package));
  AMPHORA_TRY(Vocabulary::load(package));
  return model;
}

Result<int> info(const InfoArguments& arguments, const Globals& globals) {
  const auto file = open_if_cmf(arguments.file);
  if (!file) return std::unexpected(file.error());
  const auto package = open_package(arguments.file);
  if (!package && !*file) return std::unexpected(package.error());

  const PackageFormat format = *file ? PackageFormat::kCmf : (*package)->format;
  json::Value document = json::Value::object(
      {{"file", text_value(arguments.file)}, {"format", text_value(name_of_format(format))}});
  if (format != PackageFormat::kHuggingFace) {
    AMPHORA_ASSIGN(const File bytes, File::open(arguments.file));
    document.set("file_bytes", count_value(bytes.size()));
  }
  *file ? add_cmf_file(document, **file, arguments.file) : add_package(document, **package);

  std::vector<json::Value> notes = *file ? notes_on(**file) : std::vector<json::Value>();
  if (package)
    for (const std::string& note : (*package)->notes) notes.push_back(text_value(note));
  document.set("notes", json::Value::array(std::move(notes)));

  const auto model = package ? can_run(*package) : std::unexpected(package.error());
  document.set("runs_here", json::Value::boolean(model.has_value()));
  document.set("why_not", model ? json::Value() : text_value(describe(model.error())));
  if (arguments.memory) {
    if (!model) return std::unexpected(model.error());
    document.set("memory", memory_value(**model, arguments.context));
  }
  if (globals.json) {
    print_json_line(document);
  } else {
    print_document(document);
  }
  return 0;
}

Action declare_info(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<InfoArguments>();
  app.add_option("FILE", arguments->file, ".cmf file, GGUF file or Hugging Face directory")->required();
  app.add_flag("--memory", arguments->memory, "what a run needs, by kind");
  app.add_option("--ctx", arguments->context, "with --memory: the context in tokens (default: the model's)");
  return [arguments, &globals] { return info(*arguments, globals); };
}

}  // namespace

const Verb kInfo{"info", "what a model file is and holds", "amphora info model.cmf --memory", declare_info};

}  // namespace amphora::cli
