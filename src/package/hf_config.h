// config.json and generation_config.json of a Hugging Face directory to a ModelSpec.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/json.h"
#include "amphora/package.h"
#include "amphora/result.h"
#include "package/hf_families.h"
#include "package/hf_fp8.h"

namespace amphora::package {

struct HfConfig {
  ModelSpec spec;                ///< tie_word_embeddings as it takes effect, defaults of the family included
  bool says_tied = false;        ///< whether the file itself sets tie_word_embeddings
  bool has_other_parts = false;  ///< the language model of a larger one: its towers are left out
  TokenizerConfig token_ids;     ///< only the ids
  json::Value root;              ///< the whole file

  // How the checkpoint stores what `spec` describes.
  PredictorPlace predictor = PredictorPlace::kNone;
  bool rope_interleaved = false;   ///< rotated pairs of latent attention are neighbours
  double residual_multiplier = 1;  ///< of what each branch adds
  std::optional<Fp8Blocks> fp8;    ///< set if matrices are 8-bit numbers with a scale for each block
};

/// Reads config.json. Both the newer style (rope_parameters, dtype, layer_types) and the older one
/// (rope_theta, rope_scaling, sliding_window_pattern) give the same result. An architecture that is not
/// supported and a checkpoint that is already quantised, but in fp8 with scaled blocks, are refused by name.
Result<HfConfig> decode_hf_config(std::string_view text);

/// The token ids of generation_config.json (or of config.json, where they used to be).
Result<TokenizerConfig> decode_token_ids(const json::Value& object, const std::string& path);

}  // namespace amphora::package
