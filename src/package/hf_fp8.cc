// One f32 product for each element: see hf_fp8.h.
#include "package/hf_fp8.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "package/limits.h"

namespace amphora::package {
namespace {

constexpr std::string_view kScaleSuffix = "_scale_inv";
constexpr std::string_view kStoredType = "F8_E4M3";

uint64_t divide_up(uint64_t value, uint64_t by) { return value / by + (value % by == 0 ? 0 : 1); }

/// The name of the method, as far as the block tells it.
std::string method_of(const json::Value& block) {
  if (!block.is_object()) return "an unnamed method";
  const json::Value* named = block.find_present("quant_method");
  if (named != nullptr && named->is_string()) return named->text();
  if (block.find_present("load_in_4bit") != nullptr || block.find_present("load_in_8bit") != nullptr)
    return "bitsandbytes";
  return "an unnamed method";
}

/// Absent means blocks of the usual size; null means one scale for each matrix.
std::optional<Fp8Blocks> read_blocks(ObjectReader& in) {
  constexpr std::string_view kKey = "weight_block_size";
  if (in.object().find(kKey) == nullptr) return Fp8Blocks{};
  const std::vector<uint32_t> size = in.find_integers(kKey);
  if (size.empty()) return std::nullopt;
  if (size.size() != 2 || size[0] == 0 || size[1] == 0 || size[0] > kMaxDimension ||
      size[1] > kMaxDimension) {
    in.reject(kKey, "wanted two numbers above 0");
    return std::nullopt;
  }
  return Fp8Blocks{size[0], size[1]};
}

/// A matrix, or several behind one another, times its scales.
class Dequantised {
 public:
  Dequantised(const PackageTensor& matrix, const PackageTensor& scales, const Fp8Blocks& blocks)
      : matrix_(matrix.read),
        scales_(scales.read),
        blocks_(blocks),
        rows_(matrix.shape[matrix.shape.size() - 2]),
        columns_(matrix.shape.back()),
        scale_rows_(divide_up(rows_, blocks.rows)),
        scale_columns_(divide_up(columns_, blocks.columns)) {}

  Status operator()(uint64_t first, std::span<float> out) const {
    AMPHORA_TRY(matrix_(first, out));
    std::vector<float> scales(scale_columns_);
    uint64_t read_scales = ~uint64_t{0};  // the row of scales that lies there
    while (!out.empty()) {
      const uint64_t row = first / columns_, column = first % columns_;
      const uint64_t scale_row = row / rows_ * scale_rows_ + row % rows_ / blocks_.rows;
      if (scale_row != read_scales) AMPHORA_TRY(scales_(scale_row * scale_columns_, scales));
      read_scales = scale_row;
      const size_t count = std::min<uint64_t>(columns_ - column, out.size());
      for (size_t i = 0; i < count; ++i) out[i] *= scales[(column + i) / blocks_.columns];
      first += count;
      out = out.subspan(count);
    }
    return {};
  }

 private:
  std::function<Status(uint64_t, std::span<float>)> matrix_, scales_;
  Fp8Blocks blocks_;
  uint64_t rows_, columns_, scale_rows_, scale_columns_;
};

Status check_scales(const PackageTensor& matrix, const PackageTensor& scales, const Fp8Blocks& blocks) {
  std::vector<uint64_t> wanted = matrix.shape;
  if (wanted.size() >= 2) {
    wanted[wanted.size() - 2] = divide_up(wanted[wanted.size() - 2], blocks.rows);
    wanted.back() = divide_up(wanted.back(), blocks.columns);
    if (scales.shape == wanted) return {};
  }
  return fail_at(
      Fault::kCorrupt, "Shape", scales.name, std::nullopt,
      fmt::format("tensor {} has the shape [{}], but {} has the shape [{}] and blocks are {} by {}",
                  scales.name, fmt::join(scales.shape, ", "), matrix.name, fmt::join(matrix.shape, ", "),
                  blocks.rows, blocks.columns));
}

}  // namespace

Result<std::optional<Fp8Blocks>> read_quantisation(ObjectReader& config) {
  constexpr std::string_view kKey = "quantization_config";
  const json::Value* block = config.object().find_present(kKey);
  if (block == nullptr) return std::nullopt;
  const std::string method = method_of(*block);
  if (method == "fp8") {
    ObjectReader in(*block, config.place(kKey));
    const std::optional<Fp8Blocks> blocks = read_blocks(in);
    const std::string* activations = in.find_string("activation_scheme");
    AMPHORA_TRY(in.status());
    if (blocks && (activations == nullptr || *activations == "dynamic")) return blocks;
  }
  return fail_at(Fault::kUnsupported, "Quantised", config.place(kKey), std::nullopt,
                 fmt::format("the source is already quantised by {}{}: get the original weights", method,
                             method == "fp8" ? " without scales for blocks of its matrices" : ""));
}

bool is_fp8_scale(std::string_view name) { return name.ends_with(kScaleSuffix); }

Status dequantise_fp8(const Fp8Blocks& blocks, Package& package) {
  std::unordered_map<std::string, const PackageTensor*> scales;  // by the name of their matrix
  for (const PackageTensor& tensor : package.tensors)
    if (is_fp8_scale(tensor.name))
      scales.emplace(tensor.name.substr(0, tensor.name.size() - kScaleSuffix.size()), &tensor);
  const bool any = !scales.empty();

  std::vector<PackageTensor> tensors;
  tensors.reserve(package.tensors.size() - scales.size());
  for (const PackageTensor& tensor : package.tensors) {
    if (is_fp8_scale(tensor.name)) continue;
    tensors.push_back(tensor);
    const auto found = scales.find(tensor.name);
    if (found != scales.end()) {
      AMPHORA_TRY(check_scales(tensor, *found->second, blocks));
      tensors.back().read = Dequantised(tensor, *found->second, blocks);
      tensors.back().dtype.reset();
      tensors.back().stored = {};
      scales.erase(found);
    } else if (tensor.stored_type == kStoredType) {
      return fail_at(
          Fault::kCorrupt, "Missing", tensor.name, std::nullopt,
          fmt::format("tensor {} is fp8, but there is no {}{}", tensor.name, tensor.name, kScaleSuffix));
    }
  }
  if (!scales.empty())
    return fail_at(Fault::kCorrupt, "Missing", scales.begin()->second->name, std::nullopt,
                   fmt::format("tensor {} scales a tensor that is not there", scales.begin()->second->name));
  package.tensors = std::move(tensors);
  if (!any) return {};
  if (!package.provenance.is_object()) package.provenance = json::Value::object();
  package.provenance.set("origin", json::Value::string("fp8"));
  return {};
}

}  // namespace amphora::package
