// A tensor in memory whose element i is i: what a part of it holds shows where it came from.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "amphora/package.h"

namespace amphora::testing {

inline constexpr uint64_t kCountedOffset = 1000;  ///< the tensor's place in its file

/// Elements are first, first + 1, …
inline PackageTensor counted(std::string name, std::vector<uint64_t> shape, float first = 0) {
  PackageTensor tensor;
  tensor.name = std::move(name);
  tensor.shape = std::move(shape);
  const auto values = std::make_shared<std::vector<float>>(tensor.elements());
  std::iota(values->begin(), values->end(), first);
  tensor.stored_type = "F32";
  tensor.dtype = DType::kF32;
  tensor.mapped = tensor.stored = std::as_bytes(std::span(*values));
  tensor.stored_bytes = tensor.mapped.size();
  tensor.stored_offset = kCountedOffset;
  tensor.read = [values](uint64_t from, std::span<float> out) -> Status {
    EXPECT_LE(from + out.size(), values->size());
    std::ranges::copy_n(values->begin() + static_cast<std::ptrdiff_t>(from), std::ssize(out), out.begin());
    return {};
  };
  return tensor;
}

}  // namespace amphora::testing
