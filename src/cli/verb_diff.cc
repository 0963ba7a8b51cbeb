// `diff`: what differs between two CMF files in content; where things lie is no difference.
#include <algorithm>

#include "cli/print.h"
#include "cli/verb.h"
#include "formats/cmf/cmf_file.h"
#include "quant/codec.h"

namespace amphora::cli {
namespace {

struct DiffArguments {
  std::string before, after;
  bool bytes = false;
};

/// One difference: where, and the two values, of which one is absent if something was added or removed.
struct Change {
  std::string place;
  std::optional<json::Value> from, to;
};

struct Difference {
  std::vector<const cmf::TensorRecord*> added, removed;
  struct ChangedTensor {
    std::string_view name;
    std::vector<Change> fields;
  };
  std::vector<ChangedTensor> changed;
  std::vector<Change> header;    ///< by JSON path
  std::vector<Change> sections;  ///< by name; the values are sizes
  std::optional<Change> features;

  bool empty() const {
    return added.empty() && removed.empty() && changed.empty() && header.empty() && sections.empty() &&
           !features;
  }
};

std::vector<Change> compare_tensors(const cmf::CmfFile& before, const cmf::TensorRecord& from,
                                    const cmf::CmfFile& after, const cmf::TensorRecord& to, bool bytes) {
  std::vector<Change> fields;
  if (from.dtype != to.dtype)
    fields.push_back({"dtype", text_value(quant::name_of(from.dtype)), text_value(quant::name_of(to.dtype))});
  if (from.shape != to.shape) fields.push_back({"shape", shape_value(from.shape), shape_value(to.shape)});
  if (from.hash != to.hash)
    fields.push_back({"hash", text_value(hex64(from.hash)), text_value(hex64(to.hash))});
  const Bytes a = before.payload(from), b = after.payload(to);
  if (fields.empty() && (a.size() != b.size() || (bytes && !std::ranges::equal(a, b))))
    fields.push_back({"bytes", count_value(a.size()), count_value(b.size())});
  return fields;
}

void compare_headers(const std::string& path, const json::Value& from, const json::Value& to,
                     std::vector<Change>& changes) {
  if (from == to) return;
  if (from.is_object() && to.is_object()) {
    for (const json::Member& member : from.members()) {
      const std::string place = path + json::path_step(member.key);
      if (place == "$.section_hashes") continue;  // of sections, which are compared themselves
      if (const json::Value* other = to.find(member.key)) {
        compare_headers(place, member.value, *other, changes);
      } else {
        changes.push_back({place, member.value, std::nullopt});
      }
    }
    for (const json::Member& member : to.members()) {
      const std::string place = path + json::path_step(member.key);
      if (place != "$.section_hashes" && from.find(member.key) == nullptr)
        changes.push_back({place, std::nullopt, member.value});
    }
  } else if (from.is_array() && to.is_array() && from.items().size() == to.items().size()) {
    for (size_t i = 0; i < from.items().size(); ++i)
      compare_headers(path + "[" + std::to_string(i) + "]", from.items()[i], to.items()[i], changes);
  } else {
    changes.push_back({path, from, to});
  }
}

Difference compare(const cmf::CmfFile& before, const cmf::CmfFile& after, bool bytes) {
  Difference difference;
  for (const cmf::TensorRecord& tensor : before.tensors()) {
    const cmf::TensorRecord* other = after.find(tensor.name);
    if (other == nullptr) {
      difference.removed.push_back(&tensor);
    } else if (auto fields = compare_tensors(before, tensor, after, *other, bytes); !fields.empty()) {
      difference.changed.push_back({tensor.name, std::move(fields)});
    }
  }
  for (const cmf::TensorRecord& tensor : after.tensors())
    if (before.find(tensor.name) == nullptr) difference.added.push_back(&tensor);
  compare_headers("$", before.header(), after.header(), difference.header);
  const auto size_or_nothing = [](Bytes section) {
    return section.empty() ? std::nullopt : std::optional(count_value(section.size()));
  };
  for (const cmf::Section section : {cmf::Section::kMasks, cmf::Section::kVocabulary, cmf::Section::kIndex}) {
    const Bytes a = before.section(section), b = after.section(section);
    if (!std::ranges::equal(a, b))
      difference.sections.push_back(
          {std::string(cmf::name_of(section)), size_or_nothing(a), size_or_nothing(b)});
  }
  const uint32_t from = before.envelope().features, to = after.envelope().features;
  if (from != to) difference.features = Change{"required_features", count_value(from), count_value(to)};
  return difference;
}

json::Value change_value(std::string_view key, const Change& change) {
  json::Value value = json::Value::object({{std::string(key), text_value(change.place)}});
  if (change.from) value.set("from", *change.from);
  if (change.to) value.set("to", *change.to);
  return value;
}

json::Value changes_value(std::string_view key, const std::vector<Change>& changes) {
  std::vector<json::Value> list;
  for (const Change& change : changes) list.push_back(change_value(key, change));
  return json::Value::array(std::move(list));
}

json::Value names_value(const std::vector<const cmf::TensorRecord*>& tensors) {
  std::vector<json::Value> names;
  for (const cmf::TensorRecord* tensor : tensors) names.push_back(text_value(tensor->name));
  return json::Value::array(std::move(names));
}

json::Value difference_value(const DiffArguments& arguments, const Difference& difference) {
  std::vector<json::Value> changed;
  for (const Difference::ChangedTensor& tensor : difference.changed) {
    json::Value value = json::Value::object({{"name", text_value(tensor.name)}});
    for (const Change& field : tensor.fields)
      value.set(field.place, json::Value::object({{"from", *field.from}, {"to", *field.to}}));
    changed.push_back(std::move(value));
  }
  return json::Value::object(
      {{"a", text_value(arguments.before)},
       {"b", text_value(arguments.after)},
       {"equal", json::Value::boolean(difference.empty())},
       {"tensors", json::Value::object({{"added", names_value(difference.added)},
                                        {"removed", names_value(difference.removed)},
                                        {"changed", json::Value::array(std::move(changed))}})},
       {"header", changes_value("path", difference.header)},
       {"sections", changes_value("section", difference.sections)},
       {"features", difference.features ? change_value("field", *difference.features) : json::Value()}});
}

// A value on one line, cut where it gets long: the header holds whole chat templates.
std::string short_text(const json::Value& value) {
  constexpr size_t kMostCharacters = 60;
  const std::string text = printable(json::dump(value));
  if (text.size() <= kMostCharacters) return text;
  size_t end = kMostCharacters;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0u) == 0x80u) --end;
  return text.substr(0, end) + "…";
}

std::string words_of(const Change& change) {
  if (!change.from) return "+ " + short_text(*change.to);
  if (!change.to) return "- " + short_text(*change.from);
  return short_text(*change.from) + " -> " + short_text(*change.to);
}

void print_tensor(char sign, const cmf::TensorRecord& tensor) {
  print(fmt::format("tensor {} {} {} [{}] {}\n", sign, printable(tensor.name), quant::name_of(tensor.dtype),
                    fmt::join(tensor.shape, ", "), human_bytes(tensor.bytes)));
}

void print_difference(const Difference& difference) {
  for (const cmf::TensorRecord* tensor : difference.removed) print_tensor('-', *tensor);
  for (const cmf::TensorRecord* tensor : difference.added) print_tensor('+', *tensor);
  for (const Difference::ChangedTensor& tensor : difference.changed) {
    std::vector<std::string> fields;
    for (const Change& field : tensor.fields) fields.push_back(field.place + " " + words_of(field));
    print(fmt::format("tensor ~ {}: {}\n", printable(tensor.name), fmt::join(fields, ", ")));
  }
  for (const Change& change : difference.header)
    print(fmt::format("header {}: {}\n", printable(change.place), words_of(change)));
  for (const Change& change : difference.sections)
    print(fmt::format("section {}: {} bytes\n", change.place, words_of(change)));
  if (difference.features)
    print(fmt::format("{}: {}\n", difference.features->place, words_of(*difference.features)));
}

Result<int> diff(const DiffArguments& arguments, const Globals& globals) {
  AMPHORA_ASSIGN(const cmf::CmfFile before, cmf::CmfFile::open(std::filesystem::path(arguments.before)));
  AMPHORA_ASSIGN(const cmf::CmfFile after, cmf::CmfFile::open(std::filesystem::path(arguments.after)));
  const Difference difference = compare(before, after, arguments.bytes);
  if (globals.json) {
    print_json_line(difference_value(arguments, difference));
  } else if (!difference.empty()) {
    print_difference(difference);
  } else if (!globals.quiet) {
    print("no differences\n");
  }
  return difference.empty() ? 0 : 1;
}

Action declare_diff(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<DiffArguments>();
  app.add_option("A", arguments->before, "a .cmf file")->required();
  app.add_option("B", arguments->after, "another")->required();
  app.add_flag("--bytes", arguments->bytes, "compare the payloads too, not only their recorded hashes");
  return [arguments, &globals] { return diff(*arguments, globals); };
}

}  // namespace

const Verb kDiff{"diff", "what differs between two files (status 1 if anything does)",
                 "amphora diff model.cmf tuned.cmf", declare_diff};

}  // namespace amphora::cli
