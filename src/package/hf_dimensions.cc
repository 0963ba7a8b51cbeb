// One rule for every dimension: see hf_dimensions.h.
#include "package/hf_dimensions.h"

#include <fmt/format.h>

namespace amphora::package {

uint32_t read_dimension(ObjectReader& in, std::string_view key, uint32_t otherwise, uint32_t limit) {
  const uint32_t value = otherwise == 0 ? in.read_integer(key) : in.find_integer(key).value_or(otherwise);
  if (!in.ok()) return value;
  if (value == 0) in.reject(key, "0 is not possible");
  if (value > limit)
    in.reject(key, fmt::format("{} is more than the limit of {}", value, limit), Fault::kRefused);
  return value;
}

}  // namespace amphora::package
