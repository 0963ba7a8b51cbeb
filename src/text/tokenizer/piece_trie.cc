// The pieces that begin at a place of a text.
#include "text/tokenizer/piece_trie.h"

#include <algorithm>

namespace amphora::text {

PieceTrie::PieceTrie(std::vector<Entry> entries) {
  std::erase_if(entries, [](const Entry& entry) { return entry.text.empty(); });
  std::ranges::sort(entries, {}, &Entry::text);  // std::char_traits compares bytes as unsigned
  std::vector<Range> open;
  add_children(entries, {kNone, 0, entries.size(), 0}, open);
  for (const Range& range : open) roots_[nodes_[range.node].byte] = range.node;
  while (!open.empty()) {
    const Range range = open.back();
    open.pop_back();
    add_children(entries, range, open);
  }
}

void PieceTrie::add_children(const std::vector<Entry>& entries, const Range& parent,
                             std::vector<Range>& open) {
  size_t first = parent.first;
  if (first < parent.last && entries[first].text.size() == parent.depth)  // the shortest stands first
    nodes_[parent.node].id = entries[first++].id;
  const auto first_child = static_cast<uint32_t>(nodes_.size());
  while (first < parent.last) {
    const char byte = entries[first].text[parent.depth];
    size_t last = first;
    while (last < parent.last && entries[last].text[parent.depth] == byte) ++last;
    open.push_back({static_cast<uint32_t>(nodes_.size()), first, last, parent.depth + 1});
    nodes_.push_back({.byte = static_cast<uint8_t>(byte)});
    first = last;
  }
  if (parent.node == kNone) return;
  nodes_[parent.node].first_child = first_child;
  nodes_[parent.node].children = static_cast<uint16_t>(nodes_.size() - first_child);
}

uint32_t PieceTrie::find_child(const Node& node, uint8_t byte) const {
  const auto first = nodes_.begin() + node.first_child;
  const auto last = first + node.children;
  const auto at = std::lower_bound(first, last, byte,
                                   [](const Node& child, uint8_t wanted) { return child.byte < wanted; });
  return at == last || at->byte != byte ? kNone : static_cast<uint32_t>(at - nodes_.begin());
}

}  // namespace amphora::text
