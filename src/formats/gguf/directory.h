// The directory of a GGUF file (versions 2 and 3): its metadata, and which tensors it holds where.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/result.h"
#include "formats/gguf/value.h"
#include "quant/ggml/type.h"

namespace amphora::gguf {

inline constexpr uint32_t kMaxRank = 4;
inline constexpr uint64_t kMaxTensors = 1u << 20;
inline constexpr uint64_t kMaxKeys = 1u << 16;
inline constexpr uint64_t kMaxKeyBytes = 65535;
inline constexpr uint64_t kMaxTensorNameBytes = 64;
inline constexpr uint32_t kDefaultAlignment = 32;
inline constexpr uint32_t kMaxAlignment = 1u << 20;
/// Arrays within arrays: nothing in use has more than one level.
inline constexpr uint32_t kMaxArrayDepth = 4;

struct KeyValue {
  std::string_view key;
  uint64_t offset = 0;  ///< of the record in the file
  Value value;
};

struct Tensor {
  std::string_view name;
  const quant::ggml::Type* type = nullptr;
  std::vector<uint64_t> shape;  ///< outermost first: the reverse of the file's order
  uint64_t elements = 0;
  uint64_t record_offset = 0;  ///< of its record in the file
  uint64_t offset = 0;         ///< of its first byte in the file
  Bytes data;                  ///< the bytes themselves, inside those that decode_directory was given
};

/// All views point into the bytes that decode_directory was given.
struct Directory {
  uint32_t version = 0;
  uint32_t alignment = kDefaultAlignment;
  std::vector<KeyValue> metadata;  ///< in the file's order
  std::vector<Tensor> tensors;     ///< in the file's order

  /// Absence is normal: null.
  const Value* find(std::string_view key) const;
  const Tensor* find_tensor(std::string_view name) const;

  std::vector<uint32_t> metadata_by_key;  ///< indices into `metadata`, sorted by key
  std::vector<uint32_t> tensors_by_name;  ///< indices into `tensors`, sorted by name
};

/// Reads and checks the directory of a whole file; touches only the part before the data. After success keys
/// and names are unique printable ASCII, every tensor's bytes fit its type and shape, and the tensors follow
/// one another with nothing but alignment between them and after the last.
///
/// Error codes: Magic, Version, Counts, Key, ValueType, Value, ArrayDepth, Alignment, DuplicateKey,
/// TensorName, DuplicateTensor, Rank, Dimension, TensorType, SizeOverflow, TensorOffset, Overlap, Hole,
/// OutOfRange, TrailingBytes, Truncated. The place is the key or the tensor's name.
Result<Directory> decode_directory(Bytes file);

}  // namespace amphora::gguf
