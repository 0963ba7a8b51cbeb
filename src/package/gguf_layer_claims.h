// The tensors of one layer of a GGUF file, named without the layer.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "package/gguf_claims.h"
#include "package/gguf_spec.h"

namespace amphora::package {

/// Claims tensors under `blk.N.` for names under `model.layers.N.` (or a predictor's). The model and the
/// claims must outlive it.
class LayerClaims {
 public:
  LayerClaims(const GgufModel& described, TensorClaims& all, std::string stored_prefix,
              std::string canonical_prefix)
      : model(described),
        claims(all),
        stored_prefix_(std::move(stored_prefix)),
        canonical_prefix_(std::move(canonical_prefix)) {}

  const ModelSpec& spec() const { return model.spec; }
  const GgufArchitecture& architecture() const { return *model.architecture; }

  std::string stored(std::string_view suffix) const { return stored_prefix_ + std::string(suffix); }
  std::string canonical(std::string_view suffix) const { return canonical_prefix_ + std::string(suffix); }
  bool has(std::string_view suffix) const { return claims.has(stored(suffix)); }

  /// A matrix, or a vector if `columns` is 0.
  struct Size {
    uint64_t rows, columns = 0;
    std::vector<uint64_t> shape() const {
      return columns == 0 ? std::vector{rows} : std::vector{rows, columns};
    }
  };
  /// A part of a stored tensor with `size` of its own.
  StoredPart part(std::string_view name, Size size, RowOrder rows = RowOrder::from(0)) const {
    return {canonical(name), size.shape(), std::move(rows), size.columns == 0 ? 1 : size.columns};
  }
  void take(std::string_view from, std::string_view name, Size size, RowOrder rows = RowOrder::from(0),
            ValueChange change = {}) {
    claims.take(stored(from), size.shape(), {part(name, size, std::move(rows))}, change);
  }
  /// The weights of a norm, in the model's own style.
  void take_norm(std::string_view from, std::string_view name, uint64_t count) {
    take(from, name, {count}, RowOrder::from(0), norm_change());
  }
  ValueChange norm_change() const {
    return {architecture().one_in_norms ? ValueChange::Kind::kSubtractOne : ValueChange::Kind::kNone};
  }
  /// Of matrices whose product joins the residual: its scale goes into them.
  ValueChange output_change() const {
    if (model.residual_scale == 1) return {};
    return {ValueChange::Kind::kScale, model.residual_scale};
  }

  const GgufModel& model;
  TensorClaims& claims;

 private:
  std::string stored_prefix_, canonical_prefix_;
};

}  // namespace amphora::package
