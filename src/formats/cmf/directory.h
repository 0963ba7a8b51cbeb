// The tensor directory: records, names, and where every payload lies (docs/formats/cmf.md §3).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/dtype.h"
#include "formats/cmf/envelope.h"
#include "formats/cmf/finding.h"

namespace amphora::cmf {

inline constexpr uint64_t kDirectoryHeadBytes = 16;
inline constexpr uint64_t kRecordBytes = 56;
inline constexpr uint64_t kMaxRank = 6;
inline constexpr uint64_t kTensorAlignment = 64;
/// Offsets of a record's fields.
inline constexpr uint64_t kNameLengthField = 4, kDTypeField = 6, kRankField = 7, kShapeField = 8,
                          kPlaceField = 32, kBytesField = 40, kHashField = 48;

/// One record of the directory.
struct TensorRecord {
  std::string_view name;  ///< points into the file's bytes
  DType dtype = DType::kF32;
  std::vector<uint64_t> shape;  ///< outermost first, at most 6; empty for a scalar
  uint64_t offset = 0;          ///< of the payload, from the file's start
  uint64_t bytes = 0;
  uint64_t hash = 0;           ///< hash64 of the payload as recorded
  uint64_t record_offset = 0;  ///< of the 56-byte record, from the file's start

  uint64_t end() const { return offset + bytes; }  ///< the payload lies in the file: cannot wrap
  /// Below 2^63.
  uint64_t elements() const {
    uint64_t product = 1;
    for (const uint64_t dimension : shape) product *= dimension;
    return product;
  }
};

/// Reads the directory and checks every record by itself, then that no two owners share a byte, then the
/// internal tables of payloads whose size depends on their content. The envelope has been checked against the
/// file.
Checked<std::vector<TensorRecord>> decode_directory(Bytes file, const Envelope& envelope);

/// The directory's bytes: records in order, names in record order behind them. Record offsets are ignored,
/// payload offsets count from `data_offset`.
ByteVector encode_directory(std::span<const TensorRecord> tensors, uint64_t data_offset);

}  // namespace amphora::cmf
