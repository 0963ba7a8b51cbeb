// Products, norms and rooms: see workspace.h.
#include "model/workspace.h"

namespace amphora::model {

float* Workspace::room(Room which, size_t floats) {
  std::vector<float>& room = rooms_[static_cast<size_t>(which)];
  if (room.size() < floats) room.resize(floats);
  return room.data();
}

uint64_t Workspace::bytes() const {
  uint64_t floats = 0;
  for (const std::vector<float>& room : rooms_) floats += room.capacity();
  return floats * sizeof(float);
}

void Workspace::run(std::span<const kernels::Product> products, const float* input, size_t tokens) {
  if (observer_ != nullptr)
    for (const kernels::Product& product : products) observer_->observe(*product.weights, input, tokens);
  activations_.assign(executor_, input, tokens, products.front().weights->columns);
  kernels::matmul(executor_, products, activations_);
}

void Workspace::multiply(std::span<const Target> targets, const float* input, size_t tokens) {
  products_.clear();
  for (const Target& target : targets)
    products_.push_back({&target.linear->weights, target.out,
                         target.stride == 0 ? target.linear->rows() : target.stride, target.rows});
  run(products_, input, tokens);
  for (const Target& target : targets) {
    const std::vector<float>& bias = target.linear->bias;
    if (bias.empty()) continue;
    if (target.stride == 0 || target.stride == bias.size()) {
      kernels::add_bias(executor_, target.out, bias.data(), tokens, bias.size());
    } else {
      for (size_t token = 0; token < tokens; ++token)
        kernels::add_bias(executor_, target.out + token * target.stride, bias.data(), 1, bias.size());
    }
  }
}

void Workspace::multiply(const Linear& linear, const float* input, size_t tokens, float* out) {
  const Target target{&linear, out};
  multiply({&target, 1}, input, tokens);
}

void Workspace::multiply(const kernels::Matrix& matrix, const float* input, size_t tokens, float* out) {
  const kernels::Product product{&matrix, out, matrix.rows};
  run({&product, 1}, input, tokens);
}

void Workspace::project(const Projection& projection, const float* input, size_t tokens, float* out) {
  if (!projection.second) return multiply(projection.first, input, tokens, out);
  float* const middle = room(Room::kProjected, tokens * projection.first.rows());
  multiply(projection.first, input, tokens, middle);
  multiply(*projection.second, middle, tokens, out);
}

void Workspace::normalise(const float* input, const std::vector<float>& weights, size_t rows, float* out) {
  kernels::rms_norm(executor_, input, weights.data(), rows, weights.size(), plan_.norm_eps,
                    plan_.norm_one_plus, out);
}

}  // namespace amphora::model
