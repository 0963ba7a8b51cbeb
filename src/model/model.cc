// A model that can run: see amphora/model.h.
#include "amphora/model.h"

#include <algorithm>
#include <functional>
#include <string>

#include "base/memory.h"
#include "base/page_advice.h"
#include "kernels/kernels.h"
#include "kernels/weight_copies.h"
#include "model/plan.h"

namespace amphora {
namespace {

/// Calls `visit` for every matrix and every decoded vector of a part of a plan.
template <class Visit>
class Walk {
 public:
  explicit Walk(Visit visit) : visit_(visit) {}

  void operator()(const std::vector<float>& vector) { visit_(vector); }
  void operator()(const kernels::Matrix& matrix) { visit_(matrix); }
  void operator()(const model::Linear& linear) {
    visit_(linear.weights);
    visit_(linear.bias);
  }
  template <class Part>
  void operator()(const std::optional<Part>& part) {
    if (part) (*this)(*part);
  }
  template <class Part>
  void operator()(const std::vector<Part>& parts) {
    for (const Part& part : parts) (*this)(part);
  }
  template <class... Parts>
  void operator()(const std::variant<Parts...>& variant) {
    std::visit(*this, variant);
  }
  void operator()(const model::Projection& projection) { all(projection.first, projection.second); }
  void operator()(const model::AttentionPlan& plan) {
    all(plan.q, plan.k, plan.v, plan.o, plan.q_norm, plan.k_norm, plan.gate);
  }
  void operator()(const model::LatentAttentionPlan& plan) {
    all(plan.q_a, plan.q_a_norm, plan.q, plan.kv_a, plan.kv_a_norm, plan.kv_b, plan.o);
  }
  void operator()(const model::DeltaPlan& plan) {
    all(plan.qkv, plan.convolution, plan.decay, plan.rates, plan.decay_bias, plan.beta, plan.gate, plan.norm,
        plan.out);
  }
  void operator()(const model::ShortConvolutionPlan& plan) { all(plan.in, plan.convolution, plan.out); }
  void operator()(const model::FeedForwardPlan& plan) { all(plan.gate, plan.up, plan.down); }
  void operator()(const model::ExpertsPlan& plan) {
    all(plan.router, plan.choice_bias, plan.experts, plan.shared, plan.shared_gate);
  }
  void operator()(const model::LayerPlan& plan) {
    all(plan.mixer_norm, plan.mixer, plan.mixer_output_norm, plan.ffn_norm, plan.ffn, plan.ffn_output_norm);
  }
  void operator()(const model::MtpPlan& plan) {
    all(plan.embedding_norm, plan.hidden_norm, plan.join, plan.layer, plan.norm);
  }

 private:
  template <class... Parts>
  void all(const Parts&... parts) {
    ((*this)(parts), ...);
  }

  Visit visit_;
};

/// Weights used in place and those decoded into memory of our own.
struct Sizes {
  uint64_t mapped = 0, decoded = 0;

  template <class Part>
  void add(const Part& part) {
    struct Visit {
      Sizes& sizes;
      void operator()(const kernels::Matrix& matrix) const { sizes.mapped += matrix.payload.size(); }
      void operator()(const std::vector<float>& vector) const {
        sizes.decoded += vector.size() * sizeof(float);
      }
    };
    Walk<Visit> walk(Visit{*this});
    walk(part);
  }
};

Sizes sizes_of(const model::Plan& plan) {
  Sizes sizes;
  sizes.add(plan.embedding);
  if (plan.head.payload.data() != plan.embedding.payload.data()) sizes.add(plan.head);
  sizes.add(plan.final_norm);
  sizes.add(plan.layers);
  sizes.add(plan.mtp);
  return sizes;
}

/// Of the experts of a layer, those that no token chooses.
uint64_t idle_expert_bytes(const model::LayerPlan& layer) {
  const auto* mixture = std::get_if<model::ExpertsPlan>(&layer.ffn);
  if (mixture == nullptr) return 0;
  Sizes experts;
  experts.add(mixture->experts);
  const uint64_t count = mixture->experts.size();
  return experts.mapped / count * (count - mixture->top_k);
}

}  // namespace

namespace {

bool lies_within(Bytes part, Bytes whole) {
  const std::less_equal<const std::byte*> not_after;
  return !whole.empty() && not_after(whole.data(), part.data()) &&
         not_after(part.data() + part.size(), whole.data() + whole.size());
}

/// The matrices that every token reads: all but the experts and the table of embeddings, unless it is the
/// head.
std::vector<const kernels::Matrix*> dense_matrices(const model::Plan& plan) {
  struct Visit {
    std::vector<const kernels::Matrix*>& found;
    void operator()(const kernels::Matrix& matrix) const { found.push_back(&matrix); }
    void operator()(const std::vector<float>&) const {}
  };
  std::vector<const kernels::Matrix*> found;
  Walk<Visit> walk(Visit{found});
  const auto add_layer = [&](const model::LayerPlan& layer) {
    walk(layer.mixer);
    const auto* const mixture = std::get_if<model::ExpertsPlan>(&layer.ffn);
    if (mixture == nullptr) return walk(layer.ffn);
    walk(mixture->router);
    walk(mixture->shared);
    walk(mixture->shared_gate);
  };
  for (const model::LayerPlan& layer : plan.layers) add_layer(layer);
  if (plan.mtp) {
    walk(plan.mtp->join);
    add_layer(plan.mtp->layer);
  }
  walk(plan.head);
  return found;
}

}  // namespace

kernels::WeightCopies* Model::weight_copies() const {
  std::call_once(copies_planned_, [&] {
    const std::vector<const kernels::Matrix*> matrices = dense_matrices(*plan_);
    const uint64_t ample = available_memory().value_or(0) / 3 * 2;
    if (ample < mapped_bytes()) return;
    // Of what is copied, the file's pages need not stay with this process too.
    copies_ = kernels::WeightCopies::create(matrices, ample, [package = package_](Bytes payload) {
      for (const PackageTensor& tensor : package->tensors)
        if (lies_within(payload, tensor.mapped)) return release_pages(payload);
    });
  });
  return copies_.get();
}

Result<std::shared_ptr<const Model>> Model::load(std::shared_ptr<const Package> package) {
  if (package->not_runnable)
    return fail_at(Fault::kUnsupported, "", package->path.string(), std::nullopt, *package->not_runnable);
  auto plan = model::plan_model(*package);
  if (!plan) {
    Error error = std::move(plan).error();
    if (error.place.empty()) error.place = package->path.string();
    return std::unexpected(std::move(error));
  }
  return std::make_shared<const Model>(*std::move(plan), std::move(package));
}

Model::Model(std::unique_ptr<const model::Plan> plan, std::shared_ptr<const Package> package)
    : package_(std::move(package)), plan_(std::move(plan)) {}

Model::~Model() = default;

bool Model::has_experts() const {
  return std::ranges::any_of(plan_->layers, [](const model::LayerPlan& layer) {
    return std::holds_alternative<model::ExpertsPlan>(layer.ffn);
  });
}

uint64_t Model::mapped_bytes() const { return sizes_of(*plan_).mapped; }

uint64_t Model::decoded_bytes() const { return sizes_of(*plan_).decoded; }

uint64_t Model::bytes_per_token() const {
  uint64_t bytes = 0;
  for (size_t visit = 0; visit < plan_->visits(); ++visit) {
    Sizes layer;
    layer.add(plan_->visited(visit));
    bytes += layer.mapped + layer.decoded - idle_expert_bytes(plan_->visited(visit));
  }
  const uint64_t embedding = plan_->embedding.payload.size();
  return bytes + plan_->head.payload.size() + plan_->final_norm.size() * sizeof(float) +
         embedding / plan_->vocabulary;
}

uint64_t Model::kv_bytes_per_position_f16() const {
  uint64_t elements = 0;
  for (size_t visit = 0; visit < plan_->visits(); ++visit) {
    const model::MixerPlan& mixer = plan_->visited(visit).mixer;
    if (std::holds_alternative<model::AttentionPlan>(mixer))
      elements += 2 * plan_->kv_heads * plan_->head_dim;
    else if (const auto* latent = std::get_if<model::LatentAttentionPlan>(&mixer))
      elements += latent->heads * (latent->key_dim() + latent->value_dim);
  }
  return elements * sizeof(uint16_t);
}

}  // namespace amphora
