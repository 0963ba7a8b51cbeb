// The table of classes, as transformers 5.24 builds them.
#include "package/bpe_classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace amphora::package {
namespace {

constexpr std::string_view kNfc = R"({"type":"NFC"})";
constexpr std::string_view kQwen2Split =
    R"({"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false})";
constexpr std::string_view kQwen35Split =
    R"({"type":"Split","pattern":{"Regex":"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?[\\p{L}\\p{M}]+|\\p{N}| ?[^\\s\\p{L}\\p{M}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false})";
constexpr std::string_view kClipNormalizer =
    R"({"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},{"type":"Lowercase"}]})";
constexpr std::string_view kClipSplit =
    R"({"type":"Split","pattern":{"Regex":"<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+"},"behavior":"Removed","invert":true})";
constexpr std::string_view kDigits = R"({"type":"Digits","individual_digits":true})";
constexpr std::string_view kBertWords = R"({"type":"BertPreTokenizer"})";

constexpr std::string_view kEnd = "<|endoftext|>";
constexpr DefaultTokens kRobertaTokens = {"<s>", "</s>", "<unk>", "</s>", "<pad>", "<s>", "<mask>"};

constexpr std::array kBpeClasses = {
    BpeClass{.name = "GPT2Tokenizer", .tokens = {kEnd, kEnd, kEnd}},
    BpeClass{.name = "Qwen2Tokenizer",
             .tokens = {"", kEnd, kEnd, "", kEnd},
             .normalizer = kNfc,
             .before_byte_level = kQwen2Split,
             .byte_level_words = false,
             .plain_specials = true},
    BpeClass{.name = "Qwen3_5Tokenizer",
             .tokens = {"", kEnd, kEnd, "", kEnd},
             .normalizer = kNfc,
             .before_byte_level = kQwen35Split,
             .byte_level_words = false,
             .plain_specials = true},
    BpeClass{.name = "RobertaTokenizer", .tokens = kRobertaTokens, .framing = Framing::kRoberta},
    BpeClass{.name = "BartTokenizer", .tokens = kRobertaTokens, .framing = Framing::kRoberta},
    BpeClass{.name = "LEDTokenizer", .tokens = kRobertaTokens, .framing = Framing::kRoberta},
    BpeClass{.name = "LongformerTokenizer", .tokens = kRobertaTokens, .framing = Framing::kRoberta},
    BpeClass{.name = "MvpTokenizer", .tokens = kRobertaTokens, .framing = Framing::kRoberta},
    BpeClass{.name = "CodeGenTokenizer", .tokens = {kEnd, kEnd, kEnd}, .framing = Framing::kBosEosIfSaid},
    BpeClass{.name = "GPTNeoXTokenizer", .tokens = {kEnd, kEnd, kEnd, "", "<|padding|>"}, .normalizer = kNfc},
    BpeClass{.name = "CLIPTokenizer",
             .tokens = {"<|startoftext|>", kEnd, kEnd, "", kEnd},
             .normalizer = kClipNormalizer,
             .before_byte_level = kClipSplit,
             .word_end = "</w>",
             .has_unknown = true,
             .framing = Framing::kClip},
    BpeClass{.name = "DebertaTokenizer",
             .tokens = {"[CLS]", "[SEP]", "[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"},
             .framing = Framing::kClassSeparator},
    BpeClass{.name = "CohereTokenizer",
             .tokens = {"<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>", "<SEP>", "<PAD>", "<CLS>",
                        "<MASK_TOKEN>"},
             .normalizer = kNfc,
             .before_byte_level = kDigits},
    BpeClass{
        .name = "OpenAIGPTTokenizer",
        .tokens = {"", "", "<unk>"},
        .normalizer =
            R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true})",
        .pre_tokenizer = kBertWords,
        .word_end = "</w>",
        .has_unknown = true},
    BpeClass{
        .name = "HerbertTokenizer",
        .tokens = {"", "", "<unk>", "</s>", "<pad>", "<s>", "<mask>"},
        .normalizer =
            R"({"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":false,"lowercase":false})",
        .pre_tokenizer = kBertWords,
        .word_end = "</w>",
        .has_unknown = true,
        .framing = Framing::kHerbert},
};

/// What transformers takes where no class is named, and `decides` where it does not believe a named one.
struct ModelClass {
  std::string_view model_type, tokenizer_class;
  bool decides = false;
};
constexpr std::array kModelClasses = {
    ModelClass{"qwen2", "Qwen2Tokenizer", true},
    ModelClass{"qwen2_moe", "Qwen2Tokenizer"},
    ModelClass{"qwen3", "Qwen2Tokenizer"},
    ModelClass{"qwen3_moe", "Qwen2Tokenizer"},
    ModelClass{"gpt2", "GPT2Tokenizer"},
    ModelClass{"gpt_neo", "GPT2Tokenizer"},
    ModelClass{"gptj", "GPT2Tokenizer"},
    ModelClass{"opt", "GPT2Tokenizer"},
    ModelClass{"phi", "GPT2Tokenizer"},
    ModelClass{"starcoder2", "GPT2Tokenizer"},
    ModelClass{"gpt_neox", "GPTNeoXTokenizer"},
    ModelClass{"olmo", "GPTNeoXTokenizer"},
    ModelClass{"qwen3_5", "Qwen3_5Tokenizer", true},
    ModelClass{"qwen3_5_text", "Qwen3_5Tokenizer", true},
    ModelClass{"cohere", "CohereTokenizer"},
    ModelClass{"cohere2", "CohereTokenizer"},
};

const std::string* text_member(const json::Value& object, std::string_view key) {
  const json::Value* value = object.find_present(key);
  return value != nullptr && value->is_string() ? &value->text() : nullptr;
}

std::string_view without_fast(std::string_view name) {
  if (name.ends_with("Fast")) name.remove_suffix(4);
  return name;
}

}  // namespace

const BpeClass* find_bpe_class(std::string_view name) {
  const auto found = std::ranges::find(kBpeClasses, without_fast(name), &BpeClass::name);
  return found == kBpeClasses.end() ? nullptr : &*found;
}

std::string known_bpe_classes() {
  std::string names;
  for (const BpeClass& known : kBpeClasses)
    names += fmt::format("{}{}", names.empty() ? "" : ", ", known.name);
  return names;
}

ClassName tokenizer_class_of(const TokenizerDirectory& directory) {
  const std::string* model_type = text_member(directory.config, "model_type");
  const auto by_model = std::ranges::find(
      kModelClasses, model_type == nullptr ? std::string_view() : std::string_view(*model_type),
      &ModelClass::model_type);
  const bool has_model = by_model != kModelClasses.end();
  ClassName name;
  for (const json::Value* config : {&directory.tokenizer_config, &directory.config})
    if (const std::string* given = text_member(*config, "tokenizer_class");
        given != nullptr && !name.is_given)
      name = {std::string(without_fast(*given)), true};
  if (has_model && (by_model->decides || !name.is_given)) name.text = by_model->tokenizer_class;
  return name;
}

}  // namespace amphora::package
