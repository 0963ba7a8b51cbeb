// A GGUF file's tensors, taken one by one by whoever knows what they are.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/package.h"
#include "amphora/result.h"
#include "formats/gguf/directory.h"
#include "package/gguf_rows.h"

namespace amphora::package {

/// What is done to every value after decoding.
struct ValueChange {
  enum class Kind : uint8_t {
    kNone,
    kSubtractOne,   ///< a norm with the 1 of 1 + w baked in
    kLogOfNegated,  ///< ssm_a, which is −exp of the model's A_log; a value that is not below 0 is kCorrupt
    kScale,
  };
  Kind kind = Kind::kNone;
  float factor = 1;  ///< of kScale
};

/// A tensor of the package, made of rows of a stored one.
struct StoredPart {
  std::string name;  ///< canonical
  std::vector<uint64_t> shape;
  RowOrder rows = RowOrder::from(0);
  uint64_t columns = 1;  ///< elements of a row as `rows` counts them
};

/// Hands out each stored tensor once and remembers what was wrong: whoever reads a model asks for its tensors
/// from first to last and looks at finish(). The directory and its bytes must outlive the result.
class TensorClaims {
 public:
  TensorClaims(const gguf::Directory& directory, std::filesystem::path file);

  bool has(std::string_view name) const { return directory_.find_tensor(name) != nullptr; }

  /// Claims a tensor that must be there, have this shape and a type that can be decoded; else null, and the
  /// fault is remembered. Dimensions of 1 do not count in the comparison: converters drop them.
  const gguf::Tensor* claim(std::string_view name, const std::vector<uint64_t>& shape);
  /// Claims a tensor that has been read already, or is left out on purpose, if there is one.
  void drop(std::string_view name);
  /// The same for all whose names begin like this; gives their number.
  size_t drop_all(std::string_view prefix);

  /// Claims a tensor and adds its parts. Tensors come out in the order of the file, parts of one stored
  /// tensor in their own; with `beside` they take the place of that stored tensor, if it is there.
  void take(std::string_view name, const std::vector<uint64_t>& shape, std::vector<StoredPart> parts,
            ValueChange change = {}, std::string_view beside = {});
  /// Adds a tensor that is read in a way of its own, in the place of `stored`.
  void add(const gguf::Tensor& stored, PackageTensor tensor);

  /// All tensors, or the first fault: of a claimed tensor ("Shape", "TensorType"), a tensor that nobody has
  /// claimed ("UnknownTensor"), one that is missing ("Missing").
  Result<std::vector<PackageTensor>> finish(std::string_view architecture);

 private:
  struct Added {
    size_t place;  ///< index of the stored tensor
    PackageTensor tensor;
  };

  size_t index_of(const gguf::Tensor& tensor) const;
  Status check(const gguf::Tensor& tensor, const std::vector<uint64_t>& shape) const;

  const gguf::Directory& directory_;
  std::filesystem::path file_;
  std::vector<bool> claimed_;
  std::vector<Added> added_;
  std::optional<Error> fault_;
  std::optional<std::string> missing_;
};

}  // namespace amphora::package
