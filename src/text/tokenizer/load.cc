// tokenizer.json to a tokenizer's parts.
#include "text/tokenizer/load.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/huge_pages.h"
#include "text/tokenizer/bpe_json.h"
#include "text/tokenizer/sentence_piece_json.h"
#include "text/tokenizer/unigram_json.h"
#include "text/tokenizer/word_json.h"

namespace amphora::text {
namespace {

namespace ondemand = simdjson::ondemand;

std::unexpected<Error> corrupt(std::string_view place, std::string_view what) {
  return fail_at(Fault::kCorrupt, {}, std::string(place), std::nullopt, fmt::format("tokenizer: {}", what));
}

std::unexpected<Error> out_of_memory(std::string_view json) {
  return fail(Fault::kIo, fmt::format("tokenizer: out of memory for {} bytes of JSON", json.size()));
}

// The parts of the file besides the model, as they stand there.
struct Sections {
  json::Value added_tokens, normalizer, pre_tokenizer, post_processor, decoder;
};

struct SectionName {
  std::string_view key;
  json::Value Sections::* value;  // null: read over
};
constexpr SectionName kSections[] = {
    {"added_tokens", &Sections::added_tokens},
    {"normalizer", &Sections::normalizer},
    {"pre_tokenizer", &Sections::pre_tokenizer},
    {"post_processor", &Sections::post_processor},
    {"decoder", &Sections::decoder},
    {"truncation", nullptr},
    {"padding", nullptr},
    {"version", nullptr},
};

Status read_section(std::string_view key, ondemand::value value, Sections& sections) {
  const auto name = std::ranges::find(kSections, key, &SectionName::key);
  if (name == std::end(kSections))
    return fail_at(Fault::kUnsupported, {}, "$" + json::path_step(key), std::nullopt,
                   fmt::format("tokenizer: section '{}' is not supported", key));
  std::string_view raw;
  if (const auto error = simdjson::to_json_string(value).get(raw))
    return corrupt("$" + json::path_step(key), simdjson::error_message(error));
  auto parsed = json::parse(raw);
  if (!parsed) {
    parsed.error().place = "$" + json::path_step(key) + parsed.error().place.substr(1);
    parsed.error().offset.reset();  // it counts from the section's start
    return std::unexpected(parsed.error());
  }
  if (key == "version" && !(parsed->is_string() && parsed->text() == "1.0"))
    return fail_at(Fault::kUnsupported, {}, "$.version", std::nullopt,
                   fmt::format("tokenizer: version {} is not supported", raw));
  if (name->value != nullptr) sections.*(name->value) = *std::move(parsed);
  return {};
}

struct ModelKind {
  std::string_view type;
  Result<std::unique_ptr<Model>> (*read)(ondemand::object model, Vocabulary& vocabulary);
};
constexpr ModelKind kModels[] = {
    {"BPE", read_bpe},
    {"Unigram", read_unigram},
    {"SentencePiece", read_sentence_piece},
    {"WordPiece", read_word_piece},
    {"WordLevel", read_word_level},
};

Result<std::unique_ptr<Model>> read_model(ondemand::object model, Vocabulary& vocabulary) {
  std::string type = "BPE";  // old files have none; only BPE has merges, which are asked for below
  std::string_view found;
  const auto error = model.find_field_unordered("type").get_string().get(found);
  if (error == simdjson::SUCCESS)
    type = found;
  else if (error != simdjson::NO_SUCH_FIELD)
    return corrupt("$.model.type", simdjson::error_message(error));
  if (model.reset().error()) return corrupt("$.model", "cannot be read");
  const auto kind = std::ranges::find(kModels, type, &ModelKind::type);
  if (kind == std::end(kModels))
    return fail_at(Fault::kUnsupported, {}, "$.model", std::nullopt,
                   fmt::format("tokenizer: model '{}' is not supported", type));
  return kind->read(model, vocabulary);
}

template <class Build>
Status with_component(const json::Value& section, std::string_view role, std::string_view key,
                      const Build& build) {
  if (section.is_null()) return {};
  AMPHORA_ASSIGN(Component component, Component::open(section, role, "$" + json::path_step(key)));
  return build(component);
}

Status build_parts(const Sections& sections, Tokenizer::Impl& impl) {
  AMPHORA_TRY(
      with_component(sections.normalizer, "normalizer", "normalizer", [&](Component& component) -> Status {
        AMPHORA_ASSIGN(impl.normalizer, build_normalizer(component));
        return {};
      }));
  AMPHORA_TRY(with_component(sections.pre_tokenizer, "pre-tokenizer", "pre_tokenizer",
                             [&](Component& component) -> Status {
                               AMPHORA_ASSIGN(impl.pre_tokenizer, build_pre_tokenizer(component));
                               return {};
                             }));
  AMPHORA_TRY(with_component(sections.post_processor, "post-processor", "post_processor",
                             [&](Component& component) -> Status {
                               AMPHORA_ASSIGN(impl.post_processor, PostProcessor::build(component));
                               return {};
                             }));
  AMPHORA_TRY(with_component(sections.decoder, "decoder", "decoder", [&](Component& component) -> Status {
    AMPHORA_ASSIGN(impl.decoders, build_decoders(component));
    return {};
  }));
  if (sections.decoder.is_null()) impl.decoders.push_back(build_joining_decoder());
  AMPHORA_ASSIGN(impl.added,
                 AddedTokens::read(sections.added_tokens, impl.vocabulary, impl.normalizer.get()));
  return {};
}

}  // namespace

Result<std::unique_ptr<Tokenizer::Impl>> load_tokenizer(std::string_view json) {
  if (json.starts_with("\xEF\xBB\xBF"))
    return corrupt("$", "a byte-order mark stands before the JSON document");
  constexpr size_t kPadding = simdjson::SIMDJSON_PADDING;
  const HugeBuffer padded(json.size() > SIZE_MAX - kPadding
                              ? nullptr
                              : static_cast<char*>(allocate_huge(json.size() + kPadding)));
  if (padded == nullptr) return out_of_memory(json);
  std::ranges::copy(json, padded.get());
  std::fill_n(padded.get() + json.size(), kPadding, '\0');
  ondemand::parser parser;
  ondemand::document document;
  ondemand::object root;
  if (const auto error = parser.iterate(padded.get(), json.size(), json.size() + kPadding).get(document))
    return error == simdjson::MEMALLOC ? out_of_memory(json) : corrupt("$", simdjson::error_message(error));
  if (const auto error = document.get_object().get(root)) return corrupt("$", simdjson::error_message(error));

  auto impl = std::make_unique<Tokenizer::Impl>();
  Sections sections;
  std::vector<std::string> seen;
  for (auto entry : root) {
    ondemand::field field;
    std::string_view key;
    if (const auto error = std::move(entry).get(field)) return corrupt("$", simdjson::error_message(error));
    if (const auto error = field.unescaped_key().get(key))
      return corrupt("$", simdjson::error_message(error));
    const std::string name(key);
    if (std::ranges::find(seen, name) != seen.end())
      return corrupt("$" + json::path_step(name), fmt::format("section '{}' comes twice", name));
    seen.push_back(name);
    if (name != "model") {
      AMPHORA_TRY(read_section(name, field.value(), sections));
      continue;
    }
    ondemand::object model;
    if (const auto error = field.value().get_object().get(model))
      return corrupt("$.model", simdjson::error_message(error));
    AMPHORA_ASSIGN(impl->model, read_model(model, impl->vocabulary));
  }
  if (!impl->model) return corrupt("$", "there is no model");
  const char* rest = nullptr;
  if (document.current_location().get(rest) != simdjson::OUT_OF_BOUNDS)
    return corrupt("$", "something follows the JSON document");
  AMPHORA_TRY(build_parts(sections, *impl));
  return impl;
}

}  // namespace amphora::text
