// The header JSON: known keys, their types, what is required (docs/formats/cmf.md §2).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "amphora/json.h"
#include "formats/cmf/envelope.h"
#include "formats/cmf/finding.h"
#include "formats/cmf/schema.h"

namespace amphora::cmf {

inline constexpr uint64_t kMaxHeaderBytes = uint64_t{64} << 20;

inline constexpr uint32_t kMaxShards = 99999;

/// The place of a file in a set of shards.
struct ShardPlace {
  uint32_t no = 1, count = 1;
};

/// Keys and types of the header.
const Record& header_schema();

/// Reads and checks the header section's bytes; `offset` is where they begin in the file.
Checked<json::Value> decode_header(Bytes bytes, uint64_t offset);

/// The shard block of a checked header.
std::optional<ShardPlace> shard_of(const json::Value& header);

/// Sections that only shard 1 may have.
Checked<void> check_shard_sections(const json::Value& header, const Envelope& envelope);

/// The dimensions that masks, index and skills are checked against.
struct ArchDimensions {
  uint32_t hidden_size = 0, intermediate_size = 0, num_layers = 0, num_attention_heads = 0, num_loops = 1;
  std::vector<uint32_t> heads_per_layer;  ///< empty or one per layer
  std::optional<uint32_t> num_experts;    ///< of arch.moe

  uint32_t heads_of(uint32_t layer) const {
    return heads_per_layer.empty() ? num_attention_heads : heads_per_layer[layer];
  }
};
ArchDimensions dimensions_of(const json::Value& header);

/// The recorded hash of masks, vocab or index, or empty.
std::optional<uint64_t> section_hash_of(const json::Value& header, Section section);

}  // namespace amphora::cmf
