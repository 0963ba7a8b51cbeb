// The third step: a word to token ids.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "text/tokenizer.h"

namespace amphora::text {

class Model {
 public:
  /// What one call of Tokenizer::encode keeps from word to word.
  struct Scratch {
    virtual ~Scratch() = default;
  };
  virtual ~Model() = default;
  virtual std::unique_ptr<Scratch> make_scratch() const = 0;
  /// Appends the ids of a word (well-formed UTF-8, not empty).
  virtual Status tokenize(std::string_view word, Scratch& scratch, std::vector<TokenId>& ids) const = 0;
};

}  // namespace amphora::text
