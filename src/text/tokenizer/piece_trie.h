// The pieces that begin at a place of a text.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "text/tokenizer.h"

namespace amphora::text {

/// Immutable; the children of a node stand side by side in the order of their bytes. Made for a quarter of a
/// million pieces that are all known beforehand (TextTrie can grow, but walks along lists).
class PieceTrie {
 public:
  struct Entry {
    std::string_view text;
    TokenId id;
  };
  PieceTrie() = default;
  /// The texts must differ; an empty one is never found.
  explicit PieceTrie(std::vector<Entry> entries);

  /// Calls `visit(id, bytes)` for each piece that `text` begins with, shortest first.
  template <class Visit>
  void visit_prefixes(std::string_view text, const Visit& visit) const {
    uint32_t node = text.empty() ? kNone : roots_[static_cast<uint8_t>(text[0])];
    for (size_t bytes = 1; node != kNone; ++bytes) {
      if (nodes_[node].id != kNone) visit(nodes_[node].id, bytes);
      node = bytes < text.size() ? find_child(nodes_[node], static_cast<uint8_t>(text[bytes])) : kNone;
    }
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;
  struct Node {
    TokenId id = kNone;
    uint32_t first_child = 0;
    uint16_t children = 0;
    uint8_t byte = 0;
  };
  struct Range {
    uint32_t node;
    size_t first, last, depth;  // entries [first, last) share `depth` bytes
  };
  uint32_t find_child(const Node& node, uint8_t byte) const;
  void add_children(const std::vector<Entry>& entries, const Range& parent, std::vector<Range>& open);

  std::vector<Node> nodes_;
  std::array<uint32_t, 256> roots_ = [] {
    std::array<uint32_t, 256> none{};
    none.fill(kNone);
    return none;
  }();
};

}  // namespace amphora::text
