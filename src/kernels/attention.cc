// Causal attention over the key-value cache: blocks of positions, and how they are shared out over the
// threads.
//
// A query meets the positions in blocks that start at multiples of kAttentionBlock. Each block gives its
// maximum score, the sum of exp(score - maximum) and the so weighted sum of values; the blocks are merged in
// their order. A block's result depends on nothing but the query, so any split of tokens, heads and blocks
// over threads gives the same bits.
#include <algorithm>
#include <cassert>
#include <vector>

#include "kernels/activations.h"
#include "kernels/variant.h"

namespace amphora::kernels {

static_assert(kRingStep % kAttentionBlock == 0, "a block of positions does not wrap around in a ring");

namespace {

/// Positions whose keys or values are converted at once: they stay in the first cache while all queries meet
/// them.
constexpr size_t kConverted = 16;
/// Tokens that share the converted keys and values.
constexpr size_t kTokensTogether = 8;

struct Range {
  size_t first, last;
};

/// What is known about a query after some blocks; the weighted values lie elsewhere.
struct Softmax {
  float maximum = 0, sum = 0;
  bool empty = true;
};

class Attention {
 public:
  Attention(const Executor& executor, const AttentionArguments& arguments)
      : lanes_(*executor.variant->lanes), a_(arguments), group_(arguments.heads / arguments.kv.kv_heads) {}

  size_t group() const { return group_; }

  /// Positions that a token sees.
  Range seen(size_t token) const {
    const size_t end = a_.first_position + token + 1;
    return {a_.window != 0 && end > a_.window ? end - a_.window : 0, end};
  }
  /// Blocks that tokens [first, last) see.
  Range blocks_seen(size_t first, size_t last) const {
    return {seen(first).first / kAttentionBlock,
            (seen(last - 1).last + kAttentionBlock - 1) / kAttentionBlock};
  }
  /// Floats that run_block needs as `converted`.
  size_t converted_room() const { return kConverted * std::max(a_.kv.head_dim, a_.kv.value_dim); }

  /// One block for tokens [first, last) of one kv head: per token and head of the group its softmax and, in
  /// `out` [token][head][value_dim], its weighted values; a head that is not live has an empty softmax.
  /// `scores` is room for [token][head][kAttentionBlock].
  void run_block(size_t kv_head, size_t block, size_t first, size_t last, float* scores, float* converted,
                 float* out, Softmax* softmax) const {
    std::fill_n(softmax, (last - first) * group_, Softmax());
    if (live_run(kv_head, 0).first == group_) return;
    const size_t start = block * kAttentionBlock, end = start + kAttentionBlock;
    const Range positions = {std::max(start, seen(first).first), std::min(end, seen(last - 1).last)};
    run_scores(kv_head, start, positions, first, last, scores, converted);
    for (size_t token = first; token < last; ++token) {
      const Range range = within(token, start, end);
      if (range.first >= range.last) continue;
      for (size_t head = 0; head < group_; ++head) {
        const size_t i = (token - first) * group_ + head;
        if (!live(kv_head, head)) continue;
        softmax[i].empty = false;
        lanes_.attention_weights(scores + i * kAttentionBlock, range.first - start, range.last - start,
                                 &softmax[i].maximum, &softmax[i].sum);
      }
    }
    run_values(kv_head, start, positions, first, last, scores, converted, out);
  }

  /// Adds a block's result for one query to what the blocks before it gave.
  void merge(Softmax& total, float* out, const Softmax& block, const float* block_out) const {
    const size_t dim = a_.kv.value_dim;
    if (block.empty) return;
    if (total.empty) {
      total = block;
      std::copy_n(block_out, dim, out);
      return;
    }
    const float maximum = std::max(total.maximum, block.maximum);
    const float old_factor = lanes_.exponential(total.maximum - maximum);
    const float new_factor = lanes_.exponential(block.maximum - maximum);
    lanes_.attention_merge(out, old_factor, block_out, new_factor, dim);
    total.sum = total.sum * old_factor + block.sum * new_factor;
    total.maximum = maximum;
  }

  /// A query sees itself, so only a head that is not live has met no block.
  void finish(const Softmax& total, float* out) const {
    if (total.empty)
      std::fill_n(out, a_.kv.value_dim, 0.0f);
    else
      lanes_.scale(out, 1.0f / total.sum, a_.kv.value_dim);
  }

  float* out(size_t token, size_t kv_head) const {
    return a_.out + (token * a_.heads + kv_head * group_) * a_.kv.value_dim;
  }

 private:
  bool live(size_t kv_head, size_t head) const {
    return !a_.live_heads || a_.live_heads[kv_head * group_ + head] != 0;
  }
  /// The next neighbouring live heads of a group, which the kernels take together; none: from the group's
  /// end.
  Range live_run(size_t kv_head, size_t from) const {
    Range run = {from, from};
    while (run.first < group_ && !live(kv_head, run.first)) ++run.first;
    run.last = run.first;
    while (run.last < group_ && live(kv_head, run.last)) ++run.last;
    return run;
  }

  void run_scores(size_t kv_head, size_t start, Range positions, size_t first, size_t last, float* scores,
                  float* converted) const {
    const size_t dim = a_.kv.head_dim;
    for (size_t at = positions.first; at < positions.last; at += kConverted) {
      const size_t count = std::min(kConverted, positions.last - at);
      convert(a_.kv.keys, dim, kv_head, at, count, converted);
      for (size_t token = first; token < last; ++token) {
        const Range range = within(token, at, at + count);
        if (range.first >= range.last) continue;
        const float* const keys = converted + (range.first - at) * dim;
        float* const to = scores + (token - first) * group_ * kAttentionBlock + (range.first - start);
        for (Range run = live_run(kv_head, 0); run.first < group_; run = live_run(kv_head, run.last))
          lanes_.attention_scores(query(token, kv_head) + run.first * dim, run.last - run.first, keys,
                                  range.last - range.first, dim, a_.scale, a_.softcap,
                                  to + run.first * kAttentionBlock);
      }
    }
  }

  void run_values(size_t kv_head, size_t start, Range positions, size_t first, size_t last,
                  const float* weights, float* converted, float* out) const {
    const size_t dim = a_.kv.value_dim;
    std::fill_n(out, (last - first) * group_ * dim, 0.0f);
    for (size_t at = positions.first; at < positions.last; at += kConverted) {
      const size_t count = std::min(kConverted, positions.last - at);
      convert(a_.kv.values, dim, kv_head, at, count, converted);
      for (size_t token = first; token < last; ++token) {
        const Range range = within(token, at, at + count);
        if (range.first >= range.last) continue;
        const float* const values = converted + (range.first - at) * dim;
        const float* const from =
            weights + (token - first) * group_ * kAttentionBlock + (range.first - start);
        for (Range run = live_run(kv_head, 0); run.first < group_; run = live_run(kv_head, run.last))
          lanes_.attention_values(from + run.first * kAttentionBlock, run.last - run.first, values,
                                  range.last - range.first, dim,
                                  out + ((token - first) * group_ + run.first) * dim);
      }
    }
  }

  const float* query(size_t token, size_t kv_head) const {
    return a_.queries + (token * a_.heads + kv_head * group_) * a_.kv.head_dim;
  }
  Range within(size_t token, size_t first, size_t last) const {
    const Range range = seen(token);
    return {std::max(range.first, first), std::min(range.last, last)};
  }
  /// Positions of one block, which lie side by side in a ring too.
  void convert(const std::byte* cache, size_t dim, size_t kv_head, size_t at, size_t count,
               float* out) const {
    const size_t slot = kv_head * a_.kv.capacity + at % a_.kv.capacity;
    lanes_.load_kv(a_.kv.type, cache + slot * kv_bytes_per_position(a_.kv.type, dim), count, dim, out);
  }

  const LaneKernels& lanes_;
  const AttentionArguments& a_;
  size_t group_;
};

/// One chunk per kv head and tile of tokens, its blocks one after the other.
void run_by_tokens(const Executor& executor, const AttentionArguments& a, const Attention& attention) {
  const size_t dim = a.kv.value_dim, group = attention.group();
  const size_t tiles = (a.tokens + kTokensTogether - 1) / kTokensTogether;
  executor.pool->run(tiles * a.kv.kv_heads, [&](size_t chunk) {
    const size_t kv_head = chunk % a.kv.kv_heads, first = chunk / a.kv.kv_heads * kTokensTogether;
    const size_t last = std::min(a.tokens, first + kTokensTogether), queries = (last - first) * group;
    std::vector<float> room(queries * (kAttentionBlock + dim) + attention.converted_room());
    float* const scores = room.data();
    float* const block_out = scores + queries * kAttentionBlock;
    float* const converted = block_out + queries * dim;
    std::vector<Softmax> totals(queries), softmax(queries);
    const Range blocks = attention.blocks_seen(first, last);
    for (size_t block = blocks.first; block < blocks.last; ++block) {
      attention.run_block(kv_head, block, first, last, scores, converted, block_out, softmax.data());
      for (size_t i = 0; i < queries; ++i)
        attention.merge(totals[i], attention.out(first + i / group, kv_head) + i % group * dim, softmax[i],
                        block_out + i * dim);
    }
    for (size_t i = 0; i < queries; ++i)
      attention.finish(totals[i], attention.out(first + i / group, kv_head) + i % group * dim);
  });
}

/// One chunk per token, kv head and a few blocks; the blocks' results are kept and merged in order at the
/// end.
void run_by_blocks(const Executor& executor, const AttentionArguments& a, const Attention& attention) {
  const size_t dim = a.kv.value_dim, group = attention.group(), heads = a.kv.kv_heads;
  for (size_t token = 0; token < a.tokens; ++token) {
    const Range blocks = attention.blocks_seen(token, token + 1);
    const size_t count = blocks.last - blocks.first;
    const size_t wanted = std::max<size_t>(1, (2 * executor.pool->threads() + heads - 1) / heads);
    const size_t step = std::max<size_t>(1, (count + wanted - 1) / wanted), parts = (count + step - 1) / step;
    std::vector<float> results(heads * count * group * dim);
    std::vector<Softmax> softmax(heads * count * group);
    executor.pool->run(heads * parts, [&](size_t chunk) {
      const size_t kv_head = chunk / parts, first = chunk % parts * step,
                   last = std::min(count, first + step);
      std::vector<float> room(group * kAttentionBlock + attention.converted_room());
      for (size_t i = first; i < last; ++i) {
        const size_t slot = (kv_head * count + i) * group;
        attention.run_block(kv_head, blocks.first + i, token, token + 1, room.data(),
                            room.data() + group * kAttentionBlock, &results[slot * dim], &softmax[slot]);
      }
    });
    for (size_t kv_head = 0; kv_head < heads; ++kv_head)
      for (size_t head = 0; head < group; ++head) {
        Softmax total;
        float* const out = attention.out(token, kv_head) + head * dim;
        for (size_t i = 0; i < count; ++i) {
          const size_t slot = (kv_head * count + i) * group + head;
          attention.merge(total, out, softmax[slot], &results[slot * dim]);
        }
        attention.finish(total, out);
      }
  }
}

}  // namespace

size_t kv_bytes_per_position(KvType type, size_t head_dim) {
  switch (type) {
    case KvType::kF32: return head_dim * sizeof(float);
    case KvType::kF16: return head_dim * sizeof(uint16_t);
    case KvType::kQ8: return head_dim + (head_dim + kGroup - 1) / kGroup * sizeof(float);
  }
  return 0;
}

void kv_store(const Executor& executor, const KvView& kv, size_t first_position, size_t tokens,
              const float* keys, const float* values) {
  assert(tokens <= kv.capacity);
  const size_t key_bytes = kv_bytes_per_position(kv.type, kv.head_dim);
  const size_t value_bytes = kv_bytes_per_position(kv.type, kv.value_dim);
  const LaneKernels& lanes = *executor.variant->lanes;
  for (size_t token = 0; token < tokens; ++token)
    for (size_t head = 0; head < kv.kv_heads; ++head) {
      const size_t from = token * kv.kv_heads + head;
      const size_t slot = head * kv.capacity + (first_position + token) % kv.capacity;
      lanes.store_kv(kv.type, keys + from * kv.head_dim, kv.head_dim, kv.keys + slot * key_bytes);
      lanes.store_kv(kv.type, values + from * kv.value_dim, kv.value_dim, kv.values + slot * value_bytes);
    }
}

void attention(const Executor& executor, const AttentionArguments& arguments) {
  if (arguments.tokens == 0) return;
  assert(arguments.first_position + arguments.tokens <= arguments.kv.capacity ||
         arguments.kv.capacity % kRingStep == 0);
  const Attention attention(executor, arguments);
  const size_t threads = executor.pool->threads();
  const size_t tiles = (arguments.tokens + kTokensTogether - 1) / kTokensTogether;
  const Range blocks = attention.blocks_seen(0, arguments.tokens);
  const bool few_tiles = tiles * arguments.kv.kv_heads < 2 * threads;
  if (threads > 1 && few_tiles && blocks.last - blocks.first > 2)
    run_by_blocks(executor, arguments, attention);
  else
    run_by_tokens(executor, arguments, attention);
}

}  // namespace amphora::kernels
