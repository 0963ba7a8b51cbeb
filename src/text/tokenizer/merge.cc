// Merging the symbols of a word.
#include "text/tokenizer/merge.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace amphora::text {

void MergeTable::reserve(size_t count) { grow(std::bit_ceil(count * 2 + 2)); }

void MergeTable::grow(size_t slots) {
  if (slots <= slots_.size()) return;
  decltype(slots_) old(slots, Slot{kEmpty, {}});
  old.swap(slots_);
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
  count_ = 0;
  for (const Slot& slot : old)
    if (slot.key != kEmpty)
      set(static_cast<TokenId>(slot.key >> 32), static_cast<TokenId>(slot.key), slot.merge);
}

void MergeTable::set(TokenId left, TokenId right, Merge merge) {
  if ((count_ + 1) * 2 > slots_.size()) grow(slots_.size() * 2);
  const uint64_t key = key_of(left, right);
  size_t at = slot_of(key);
  while (slots_[at].key != kEmpty && slots_[at].key != key) at = (at + 1) & mask_;
  count_ += slots_[at].key == kEmpty ? 1 : 0;
  slots_[at] = {key, merge};
  rank_limit_ = std::max(rank_limit_, merge.rank + 1);
}

void merge_short_word(const MergeTable& merges, std::vector<TokenId>& symbols) {
  constexpr Merge kNoMerge{UINT32_MAX, 0};
  std::array<Merge, kShortWord> pairs;  // pairs[i] is what symbols i and i + 1 become
  size_t count = symbols.size();
  const auto look_up = [&](size_t left) {
    const Merge* found = left + 1 < count ? merges.find(symbols[left], symbols[left + 1]) : nullptr;
    pairs[left] = found == nullptr ? kNoMerge : *found;
  };
  for (size_t i = 0; i < count; ++i) look_up(i);
  while (count > 1) {
    const auto end = pairs.begin() + static_cast<std::ptrdiff_t>(count);
    const auto lowest = std::ranges::min_element(pairs.begin(), end, {}, &Merge::rank);
    if (lowest->rank == kNoMerge.rank) break;
    const auto left = static_cast<size_t>(lowest - pairs.begin());
    symbols[left] = lowest->id;
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(left) + 1);
    std::copy(lowest + 2, end, lowest + 1);
    --count;
    look_up(left);
    if (left > 0) look_up(left - 1);
  }
}

void LongWordMerger::consider(const MergeTable& merges, uint32_t left) {
  const uint32_t right = nodes_[left].next;
  if (right == kNone) return;
  const Merge* found = merges.find(nodes_[left].symbol, nodes_[right].symbol);
  if (found == nullptr) return;
  uint32_t& slot = bucket_of_rank_[found->rank];
  if (slot == kNone) {
    if (free_buckets_.empty()) {
      free_buckets_.push_back(static_cast<uint32_t>(buckets_.size()));
      buckets_.emplace_back();
    }
    slot = free_buckets_.back();
    free_buckets_.pop_back();
    ranks_.push_back(found->rank);
    std::ranges::push_heap(ranks_, std::greater{});
  }
  Bucket& bucket = buckets_[slot];
  if (!bucket.places.empty() && bucket.places.back() > left) bucket.sorted = false;
  bucket.places.push_back(left);
}

void LongWordMerger::merge(const MergeTable& merges, std::vector<TokenId>& symbols) {
  const auto count = static_cast<uint32_t>(symbols.size());
  bucket_of_rank_.resize(merges.rank_limit(), kNone);
  nodes_.resize(count);
  for (uint32_t i = 0; i < count; ++i)
    nodes_[i] = {symbols[i], i == 0 ? kNone : i - 1, i + 1 == count ? kNone : i + 1};
  for (uint32_t i = 0; i < count; ++i) consider(merges, i);

  while (!ranks_.empty()) {
    const uint32_t rank = ranks_.front();
    const uint32_t slot = bucket_of_rank_[rank];
    Bucket& bucket = buckets_[slot];
    if (bucket.next == bucket.places.size()) {
      std::ranges::pop_heap(ranks_, std::greater{});
      ranks_.pop_back();
      bucket_of_rank_[rank] = kNone;
      bucket.places.clear();
      bucket.next = 0;
      bucket.sorted = true;
      free_buckets_.push_back(slot);
      continue;
    }
    if (!bucket.sorted) std::sort(bucket.places.begin(), bucket.places.end());
    bucket.sorted = true;
    const uint32_t left = bucket.places[bucket.next++];
    merge_at(merges, left, rank);  // `bucket` may dangle behind this
  }

  symbols.clear();
  for (uint32_t i = 0; i != kNone; i = nodes_[i].next) symbols.push_back(nodes_[i].symbol);
}

// Merges the pair at `left` if it still is the one that was noted under `rank`.
void LongWordMerger::merge_at(const MergeTable& merges, uint32_t left, uint32_t rank) {
  Node& node = nodes_[left];
  if (node.symbol == kNone || node.next == kNone) return;
  Node& right = nodes_[node.next];
  const Merge* found = merges.find(node.symbol, right.symbol);
  if (found == nullptr || found->rank != rank) return;
  node.symbol = found->id;
  node.next = right.next;
  right.symbol = kNone;
  if (node.next != kNone) nodes_[node.next].previous = left;
  if (node.previous != kNone) consider(merges, node.previous);
  consider(merges, left);
}

}  // namespace amphora::text
