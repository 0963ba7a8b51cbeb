// What a source may claim at most: each limit lies far above every published model and far below what would
// hurt.
#pragma once

#include <cstdint>

namespace amphora::package {

inline constexpr uint32_t kMaxLayers = 512;          ///< num_hidden_layers
inline constexpr uint32_t kMaxDimension = 1u << 24;  ///< hidden, intermediate, vocabulary size
inline constexpr uint32_t kMaxHeads = 1u << 14;      ///< attention heads of a layer
inline constexpr uint32_t kMaxHeadDimension = 1u << 14;
inline constexpr uint32_t kMaxExperts = 1u << 16;         ///< of a layer
inline constexpr uint64_t kMaxConfigBytes = 16u << 20;    ///< config.json and its like
inline constexpr uint64_t kMaxIndexBytes = 64u << 20;     ///< model.safetensors.index.json
inline constexpr uint64_t kMaxTemplateBytes = 4u << 20;   ///< chat_template.jinja
inline constexpr uint64_t kMaxTokenizerBytes = 1u << 30;  ///< tokenizer.json
inline constexpr uint64_t kMaxRanksBytes = 64u << 20;     ///< a tiktoken file
inline constexpr uint64_t kMaxAddedTokens = 1u << 16;     ///< ids behind a tiktoken file's ranks

}  // namespace amphora::package
