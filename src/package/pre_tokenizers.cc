// The table of pre-tokenizers.
#include "package/pre_tokenizers.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "amphora/json.h"

namespace amphora::package {
namespace {

constexpr std::string_view kQwen2Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3Split =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// tiktoken's o200k_base.
constexpr std::string_view kGpt4oSplit =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
// Kimi's, which is published with intersections of classes ([…&&[^\p{Han}]]): a look-ahead says the same.
constexpr std::string_view kKimiSplit =
    R"(\p{Han}+|[^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])*(?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?(?:(?!\p{Han})[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])+)"
    R"((?:(?!\p{Han})[\p{Ll}\p{Lm}\p{Lo}\p{M}])*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::array kPreTokenizers = {
    PreTokenizer{"qwen2", kQwen2Split, false, false, true, false},
    PreTokenizer{"llama-bpe", kLlama3Split, false, true, false, true},
    PreTokenizer{"llama3", kLlama3Split, false, true, false, true},
    PreTokenizer{"llama-v3", kLlama3Split, false, true, false, true},
    PreTokenizer{"smollm", R"(\p{N})", true, false, false, false},
    PreTokenizer{"gpt-2", "", true, false, false, false},
    PreTokenizer{"default", "", true, false, false, false},
    PreTokenizer{"gpt-4o", kGpt4oSplit, false, true, false, false},
    PreTokenizer{"kimi-k2", kKimiSplit, false, true, false, false},
};

}  // namespace

const PreTokenizer* find_pre_tokenizer(std::string_view name) {
  const auto found = std::ranges::find(kPreTokenizers, name, &PreTokenizer::name);
  return found == kPreTokenizers.end() ? nullptr : &*found;
}

Result<const PreTokenizer*> choose_pre_tokenizer(std::string_view name) {
  if (const PreTokenizer* found = find_pre_tokenizer(name)) return found;
  return fail(Fault::kUsage, fmt::format("--assume-pretokenizer: the name '{}' is unknown (known: {})",
                                         name.substr(0, 40), known_pre_tokenizers()));
}

std::string known_pre_tokenizers() {
  std::string names;
  for (const PreTokenizer& pre : kPreTokenizers)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", pre.name);
  return names;
}

std::string offer_to_assume() {
  return fmt::format("if you know which one it is, convert with --assume-pretokenizer NAME (known: {})",
                     known_pre_tokenizers());
}

std::string note_of_assumption(const PreTokenizer& assumed) {
  return fmt::format(
      "ASSUMED: the pre-tokenizer is {} because --assume-pretokenizer says so; if that is wrong, every text "
      "is "
      "cut wrongly and nothing will tell",
      assumed.name);
}

std::string pre_tokenizer_json(const PreTokenizer& pre_tokenizer) {
  const std::string byte_level =
      fmt::format(R"({{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":false,"use_regex":{}}})",
                  pre_tokenizer.gpt2_split);
  if (pre_tokenizer.split.empty()) return byte_level;
  return fmt::format(
      R"({{"type":"Sequence","pretokenizers":[{{"type":"Split","pattern":{{"Regex":{}}},"behavior":"Isolated",)"
      R"("invert":false}},{}]}})",
      json::dump(json::Value::string(std::string(pre_tokenizer.split))), byte_level);
}

}  // namespace amphora::package
