// Faults of tensors and their values.
#include "package/tensor_values.h"

#include <fmt/format.h>

#include <cmath>

namespace amphora::package {

std::unexpected<Error> in_tensor(const PackageTensor& tensor, Error error) {
  error.place = tensor.name;
  error.message = fmt::format("tensor {}: {}", tensor.name, error.message);
  return std::unexpected(std::move(error));
}

Status check_finite(const PackageTensor& tensor, std::span<const float> values, uint64_t first) {
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return {};
  return in_tensor(tensor, Error{Fault::kRefused, "", "", std::nullopt,
                                 fmt::format("{} at flat index {}", std::isnan(*bad) ? "NaN" : "infinity",
                                             first + static_cast<uint64_t>(bad - values.begin()))});
}

}  // namespace amphora::package
