// Feed-forward parts, dense and of experts: see operators.h.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "model/operators.h"

namespace amphora::model {
namespace {

void activate(const Workspace& work, float* gate, const float* up, size_t count) {
  switch (work.plan().activation) {
    case Activation::kSilu: return kernels::silu_multiply(work.executor(), gate, up, count);
    case Activation::kGeluTanh: return kernels::gelu_tanh_multiply(work.executor(), gate, up, count);
  }
}

/// Sets what lies between the ranges to 0 (a dead neuron has a bias all the same).
void clear_dead(float* rows, size_t tokens, size_t columns, std::span<const kernels::RowRange> live) {
  for (size_t token = 0; token < tokens; ++token) {
    float* const row = rows + token * columns;
    uint64_t at = 0;
    for (const kernels::RowRange& range : live) {
      std::fill(row + at, row + range.first, 0.0f);
      at = range.last;
    }
    std::fill(row + at, row + columns, 0.0f);
  }
}

struct FfnRooms {
  Room gate, up;
};

void run_dense(Workspace& work, const FeedForwardPlan& plan, size_t tokens,
               const std::optional<std::vector<kernels::RowRange>>* neurons, FfnRooms rooms,
               const float* input, float* out) {
  const size_t width = plan.gate.rows();
  const bool restricted = neurons != nullptr && neurons->has_value();
  if (restricted && (*neurons)->empty()) {
    std::fill_n(out, tokens * plan.down.rows(), 0.0f);
    return;
  }
  std::span<const kernels::RowRange> live;
  if (restricted) live = **neurons;
  float* const gate = work.room(rooms.gate, tokens * width);
  float* const up = work.room(rooms.up, tokens * width);
  const std::array targets{Target{&plan.gate, gate, 0, live}, Target{&plan.up, up, 0, live}};
  work.multiply(targets, input, tokens);
  activate(work, gate, up, tokens * width);
  if (restricted && !plan.up.bias.empty()) clear_dead(gate, tokens, width, live);
  work.multiply(plan.down, gate, tokens, out);
}

/// An expert that a token chose, and the weight of its output.
struct Choice {
  uint32_t expert;
  float weight;
};

/// Routing of one token: from the router's probabilities to the chosen experts.
class Router {
 public:
  Router(const ExpertsPlan& plan, const VisitMask* mask)
      : plan_(plan), mask_(mask), scores_(plan.experts.size()), order_(plan.experts.size()) {}

  bool allowed(size_t expert) const {
    return mask_ == nullptr || mask_->experts.empty() || mask_->experts[expert] != 0;
  }

  /// At most top_k experts, the best first; of equals the lower index.
  void choose(const float* probabilities, std::vector<Choice>& choices) {
    const size_t experts = plan_.experts.size();
    constexpr float kForbidden = -std::numeric_limits<float>::infinity();
    for (size_t expert = 0; expert < experts; ++expert) {
      const float bias = plan_.choice_bias.empty() ? 0.0f : plan_.choice_bias[expert];
      scores_[expert] = allowed(expert) ? probabilities[expert] + bias : kForbidden;
      // A NaN would leave the order undefined; it is the worst choice and still lives on in the weights.
      if (std::isnan(scores_[expert])) scores_[expert] = std::numeric_limits<float>::lowest();
    }
    if (plan_.groups > plan_.chosen_groups) keep_best_groups(kForbidden);
    std::iota(order_.begin(), order_.end(), 0u);
    const size_t wanted = std::min(plan_.top_k, experts);
    const auto better = [&](uint32_t a, uint32_t b) {
      return scores_[a] != scores_[b] ? scores_[a] > scores_[b] : a < b;
    };
    std::partial_sort(order_.begin(), order_.begin() + static_cast<ptrdiff_t>(wanted), order_.end(), better);

    choices.clear();
    float sum = 0;
    for (size_t i = 0; i < wanted && scores_[order_[i]] != kForbidden; ++i) {
      choices.push_back({order_[i], probabilities[order_[i]]});
      sum += choices.back().weight;
    }
    for (Choice& choice : choices) {
      if (plan_.normalised && sum > 0) choice.weight /= sum;
      choice.weight *= plan_.scaling;
    }
  }

 private:
  /// A group is as good as its two best experts together (DeepSeek-V3, arXiv 2412.19437 §2.1.2).
  void keep_best_groups(float forbidden) {
    const size_t size = plan_.experts.size() / plan_.groups;
    std::vector<std::pair<float, size_t>> groups;
    for (size_t group = 0; group < plan_.groups; ++group) {
      std::array<float, 2> best = {forbidden, forbidden};
      for (size_t i = 0; i < size; ++i) {
        const float score = scores_[group * size + i];
        if (score > best[0])
          best = {score, best[0]};
        else
          best[1] = std::max(best[1], score);
      }
      groups.emplace_back(best[0] + best[1], group);
    }
    std::ranges::stable_sort(groups, std::greater<>(), &std::pair<float, size_t>::first);
    for (size_t i = plan_.chosen_groups; i < groups.size(); ++i)
      std::fill_n(scores_.begin() + static_cast<ptrdiff_t>(groups[i].second * size), size, forbidden);
  }

  const ExpertsPlan& plan_;
  const VisitMask* mask_;
  std::vector<float> scores_;
  std::vector<uint32_t> order_;
};

/// The router's probabilities [tokens, experts] in place of its logits; a forbidden expert has none.
void to_probabilities(const Workspace& work, const ExpertsPlan& plan, const Router& router, size_t tokens,
                      float* logits) {
  const size_t experts = plan.experts.size();
  if (plan.sigmoid) return kernels::sigmoid(work.executor(), logits, tokens * experts);
  for (size_t expert = 0; expert < experts; ++expert) {
    if (router.allowed(expert)) continue;
    for (size_t token = 0; token < tokens; ++token)
      logits[token * experts + expert] = -std::numeric_limits<float>::infinity();
  }
  kernels::softmax(work.executor(), logits, tokens, experts);
}

/// Where the output of a chosen expert lies and what it weighs, for every token in the order of choice.
struct Routed {
  std::vector<std::vector<Choice>> of_token;
  std::vector<std::vector<uint32_t>> of_expert;  ///< token · top_k + rank, ascending
};

Routed route(Workspace& work, const ExpertsPlan& plan, size_t tokens, const VisitMask* mask, uint64_t* counts,
             const float* input) {
  const size_t experts = plan.experts.size();
  float* const probabilities = work.room(Room::kRouter, tokens * experts);
  work.multiply(plan.router, input, tokens, probabilities);
  Router router(plan, mask);
  to_probabilities(work, plan, router, tokens, probabilities);
  Routed routed;
  routed.of_token.resize(tokens);
  routed.of_expert.resize(experts);
  for (size_t token = 0; token < tokens; ++token) {
    std::vector<Choice>& choices = routed.of_token[token];
    router.choose(probabilities + token * experts, choices);
    for (size_t rank = 0; rank < choices.size(); ++rank) {
      routed.of_expert[choices[rank].expert].push_back(static_cast<uint32_t>(token * plan.top_k + rank));
      if (counts != nullptr) ++counts[choices[rank].expert];
    }
  }
  return routed;
}

constexpr FfnRooms kExpertRooms = {Room::kExpertGate, Room::kExpertUp};

/// Every chosen expert over the tokens that chose it; the outputs lie at [token · top_k + rank].
void run_chosen(Workspace& work, const ExpertsPlan& plan, const Routed& routed, const float* input,
                float* outputs) {
  const size_t hidden = work.plan().hidden;
  for (size_t expert = 0; expert < plan.experts.size(); ++expert) {
    const std::vector<uint32_t>& slots = routed.of_expert[expert];
    if (slots.empty()) continue;
    float* const gathered = work.room(Room::kGathered, slots.size() * hidden);
    for (size_t i = 0; i < slots.size(); ++i)
      std::copy_n(input + slots[i] / plan.top_k * hidden, hidden, gathered + i * hidden);
    float* const out = work.room(Room::kShared, slots.size() * hidden);
    run_dense(work, plan.experts[expert], slots.size(), nullptr, kExpertRooms, gathered, out);
    for (size_t i = 0; i < slots.size(); ++i)
      std::copy_n(out + i * hidden, hidden, outputs + slots[i] * hidden);
  }
}

}  // namespace

void run_feed_forward(Workspace& work, const FeedForwardPlan& plan, size_t tokens, const VisitMask* mask,
                      const float* input, float* out) {
  run_dense(work, plan, tokens, mask == nullptr ? nullptr : &mask->neurons, {Room::kGate, Room::kUp}, input,
            out);
}

void run_experts(Workspace& work, const ExpertsPlan& plan, size_t tokens, const VisitMask* mask,
                 uint64_t* counts, const float* input, float* out) {
  const kernels::Executor& executor = work.executor();
  const size_t hidden = work.plan().hidden;
  const Routed routed = route(work, plan, tokens, mask, counts, input);
  float* const outputs = work.room(Room::kExpertOut, tokens * plan.top_k * hidden);
  run_chosen(work, plan, routed, input, outputs);
  // In the order of choice, whatever else is in the block.
  std::fill_n(out, tokens * hidden, 0.0f);
  for (size_t token = 0; token < tokens; ++token)
    for (size_t rank = 0; rank < routed.of_token[token].size(); ++rank)
      kernels::add_scaled(executor, out + token * hidden, outputs + (token * plan.top_k + rank) * hidden,
                          routed.of_token[token][rank].weight, hidden);
  if (!plan.shared) return;
  float* const shared = work.room(Room::kShared, tokens * hidden);
  run_dense(work, *plan.shared, tokens, nullptr, kExpertRooms, input, shared);
  if (plan.shared_gate) {
    float* const factors = work.room(Room::kFactors, tokens);
    work.multiply(*plan.shared_gate, input, tokens, factors);
    kernels::sigmoid(executor, factors, tokens);
    kernels::scale_rows(executor, shared, factors, tokens, hidden);
  }
  kernels::add(executor, out, shared, tokens * hidden);
}

}  // namespace amphora::model
