// A model that can run: see amphora/model.h.
#include "amphora/model.h"

#include <string>

#include "kernels/kernels.h"
#include "model/plan.h"

namespace amphora {
namespace {

/// Calls a function for every matrix and every decoded vector of a plan; a tied head is not a matrix of its
/// own.
template <class OnMatrix, class OnVector>
void for_each_weight(const model::Plan& plan, OnMatrix on_matrix, OnVector on_vector) {
  on_matrix(plan.embedding);
  if (plan.head.payload.data() != plan.embedding.payload.data()) on_matrix(plan.head);
  on_vector(plan.final_norm);
  for (const model::LayerPlan& layer : plan.layers) {
    for (const model::Linear* linear :
         {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      on_matrix(linear->weights);
      on_vector(linear->bias);
    }
    for (const std::vector<float>* norm :
         {&layer.attention_norm, &layer.q_norm, &layer.k_norm, &layer.attention_output_norm, &layer.ffn_norm,
          &layer.ffn_output_norm})
      on_vector(*norm);
  }
}

}  // namespace

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

uint64_t Model::mapped_bytes() const {
  uint64_t bytes = 0;
  for_each_weight(
      *plan_, [&](const kernels::Matrix& matrix) { bytes += matrix.payload.size(); }, [](const auto&) {});
  return bytes;
}

uint64_t Model::decoded_bytes() const {
  uint64_t bytes = 0;
  for_each_weight(
      *plan_, [](const auto&) {}, [&](const auto& vector) { bytes += vector.size() * sizeof(float); });
  return bytes;
}

uint64_t Model::bytes_per_token() const {
  uint64_t bytes = mapped_bytes() + decoded_bytes();
  const uint64_t embedding = plan_->embedding.payload.size();
  // An untied embedding gives one row; a tied one is read whole, as the head, besides.
  if (plan_->head.payload.data() != plan_->embedding.payload.data()) bytes -= embedding;
  return bytes + embedding / plan_->vocabulary;
}

uint64_t Model::kv_bytes_per_position_f16() const {
  return 2 * plan_->layers.size() * plan_->kv_heads * plan_->head_dim * sizeof(uint16_t);
}

}  // namespace amphora
