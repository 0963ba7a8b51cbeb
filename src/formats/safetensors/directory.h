// The directory of a .safetensors file: which tensors it holds, of what type and shape, and where their bytes
// are.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/result.h"
#include "formats/safetensors/element_type.h"

namespace amphora::safetensors {

/// The format's own limit on its JSON header.
inline constexpr uint64_t kMaxHeaderBytes = 100'000'000;
/// More dimensions than any tensor library has.
inline constexpr size_t kMaxRank = 16;

struct Tensor {
  std::string name;
  ElementType type = ElementType::kF32;
  std::vector<uint64_t> shape;  ///< outermost first; empty for a scalar
  uint64_t elements = 0;        ///< product of the shape
  uint64_t offset = 0;          ///< of its first byte in the file
  Bytes data;                   ///< the bytes themselves, inside those that decode_directory was given
};

struct Directory {
  std::vector<Tensor> tensors;                                ///< in the order of the header
  std::vector<std::pair<std::string, std::string>> metadata;  ///< `__metadata__`, in the order of the header
};

/// Reads and checks the directory of a whole file. After success each tensor's bytes fit its type and shape,
/// and the tensors cover the data exactly: no holes, no overlap, nothing behind the last one. Touches only
/// the header.
///
/// Error codes: HeaderTooSmall, HeaderTooLarge, HeaderTruncated, HeaderStart, Parse (with a JSON path),
/// Metadata, TensorEntry, UnknownType, SizeOverflow, SizeMismatch, OutOfRange, Overlap, Hole, TrailingBytes.
/// The place is the tensor's name.
Result<Directory> decode_directory(Bytes file);

}  // namespace amphora::safetensors
