// A SentencePiece model as a tokenizer.json.
#pragma once

#include <string>
#include <vector>

#include "amphora/result.h"
#include "formats/sentencepiece/model.h"
#include "package/tokenizer_json.h"

namespace amphora::package {

enum class DummyPrefix : uint8_t { kNever, kFirst, kAlways };

/// What stands beside the model.
struct SpmSettings {
  std::optional<NamedToken> bos, eos;    ///< put before and behind a text
  std::vector<AddedToken> added_tokens;  ///< besides the control pieces, which are added anyway
  /// Which stretches of ordinary text begin with a space of their own, if those of the model do at all.
  DummyPrefix dummy_prefix = DummyPrefix::kAlways;
};

struct SpmTokenizer {
  std::string json;
  /// The components are Hugging Face's: other programs can read the file. Otherwise they are of the type
  /// "SentencePiece" (docs/formats/tokenizer.md), and other programs refuse it.
  bool is_standard = false;
};

/// Ids of ordinary text are those of SentencePiece. Refuses a denormalizer (kUnsupported).
Result<SpmTokenizer> write_spm_tokenizer(const sentencepiece::Model& model, const SpmSettings& settings);

/// The name of a model's type: "unigram", "bpe", "word" or "char".
std::string_view algorithm_name(sentencepiece::ModelType type);

/// A model by itself, as SentencePiece encodes without further options: nothing is put before or behind a
/// text.
Result<SpmTokenizer> write_bare_spm_tokenizer(Bytes file);

}  // namespace amphora::package
