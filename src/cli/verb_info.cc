// `info`: what a model file holds, without reading its weights.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>

#include "amphora/model.h"
#include "amphora/package.h"
#include "base/file.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "engine/prompt.h"
#include "formats/cmf/cmf_file.h"

namespace amphora::cli {
namespace {

struct Arguments {
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

Totals total_of(const Package& package) {
  Totals totals;
  for (const PackageTensor& tensor : package.tensors) {
    TypeTotal& type = totals.by_type[tensor.stored_type];
    ++type.tensors;
    ++totals.tensors;
    type.elements += tensor.elements();
    totals.elements += tensor.elements();
    type.bytes += tensor.stored_bytes;
    totals.bytes += tensor.stored_bytes;
  }
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

json::Value sections_value(const cmf::CmfFile& file) {
  json::Value sections = json::Value::object();
  for (const cmf::Section section : cmf::kPlacedSections) {
    const cmf::Span& place = file.envelope().place(section);
    if (place.offset == 0 && place.bytes == 0) continue;
    sections.set(cmf::name_of(section), json::Value::object({{"off", count_value(place.offset)},
                                                             {"len", count_value(place.bytes)}}));
  }
  return sections;
}

json::Value masks_value(const cmf::CmfFile& file) {
  std::vector<json::Value> masks;
  if (file.masks()) {
    for (const cmf::Mask& mask : file.masks()->masks) {
      masks.push_back(json::Value::object({{"task_id", count_value(mask.task_id)},
                                           {"name", text_value(mask.name)},
                                           {"priority", text_value(mask.priority)},
                                           {"sparsity", json::Value::number(mask.sparsity)},
                                           {"measured", json::Value::boolean(mask.measured)}}));
    }
  }
  return json::Value::array(std::move(masks));
}

json::Value skills_value(const cmf::CmfFile& file) {
  std::vector<json::Value> skills;
  for (const cmf::SkillRecord& skill : file.skills()) {
    json::Value value = json::Value::object({{"id", text_value(skill.id)}, {"name", text_value(skill.name)}});
    if (skill.base_dir_hash) value.set("base_dir_hash", text_value(*skill.base_dir_hash));
    skills.push_back(std::move(value));
  }
  return json::Value::array(std::move(skills));
}

void add_cmf_facts(json::Value& document, const cmf::CmfFile& file, const std::string& path) {
  document.set("sections", sections_value(file));
  document.set("default_task", file.masks() ? text_value(file.masks()->default_task) : json::Value());
  document.set("masks", masks_value(file));
  document.set("index_entries", count_value(file.index().size()));
  document.set("skills", skills_value(file));
  document.set("skill_file", json::Value::boolean(file.is_skill_file()));
  document.set("shard", file.shard() ? json::Value::object({{"no", count_value(file.shard()->no)},
                                                            {"count", count_value(file.shard()->count)}})
                                     : json::Value());
  std::error_code ignored;
  const bool is_signed = std::filesystem::exists(path + ".sig", ignored);
  document.set("signature", text_value(is_signed ? "present" : "absent"));
  const json::Value* provenance = file.header().find_present("provenance");
  document.set("provenance", provenance == nullptr ? json::Value() : *provenance);
}

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

// A model runs if its layers can be planned and its tokenizer can be read.
Result<std::shared_ptr<const Model>> can_run(const std::shared_ptr<const Package>& package) {
  AMPHORA_ASSIGN(auto model, Model::load(package));
  AMPHORA_TRY(Vocabulary::load(package));
  return model;
}

Result<int> info(const Arguments& arguments, const Globals& globals) {
  AMPHORA_ASSIGN(const auto package, open_package(arguments.file));
  const Totals totals = total_of(*package);
  json::Value document = json::Value::object(
      {{"file", text_value(arguments.file)}, {"format", text_value(name_of_format(package->format))}});
  if (package->format != PackageFormat::kHuggingFace) {
    AMPHORA_ASSIGN(const File file, File::open(arguments.file));
    document.set("file_bytes", count_value(file.size()));
  }
  document.set("model", model_value(package->spec));
  document.set("tensors", count_value(totals.tensors));
  document.set("weights", count_value(totals.elements));
  document.set("weight_bytes", count_value(totals.bytes));
  document.set("bits_per_weight", json::Value::number(std::round(totals.bits_per_weight() * 1000) / 1000));
  document.set("types", types_value(totals));
  document.set("tokenizer_bytes", count_value(package->tokenizer_json.size()));
  document.set("chat_template", json::Value::boolean(package->tokenizer.chat_template.has_value()));
  std::vector<json::Value> stops;
  for (const uint32_t id : package->tokenizer.eos_token_ids) stops.push_back(count_value(id));
  document.set("eos_token_ids", json::Value::array(std::move(stops)));
  if (package->format == PackageFormat::kCmf) {
    AMPHORA_ASSIGN(const cmf::CmfFile file, cmf::CmfFile::open(arguments.file));
    add_cmf_facts(document, file, arguments.file);
  }
  std::vector<json::Value> notes;
  for (const std::string& note : package->notes) notes.push_back(text_value(note));
  document.set("notes", json::Value::array(std::move(notes)));

  const auto model = can_run(package);
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

Action declare(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("FILE", arguments->file, ".cmf file, GGUF file or Hugging Face directory")->required();
  app.add_flag("--memory", arguments->memory, "what a run needs, by kind");
  app.add_option("--ctx", arguments->context, "with --memory: the context in tokens (default: the model's)");
  return [arguments, &globals] { return info(*arguments, globals); };
}

}  // namespace

const Verb kInfo{"info", "what a model file is and holds", "amphora info model.cmf --memory", declare};

}  // namespace amphora::cli
