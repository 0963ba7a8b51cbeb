// What can be done with each element type of CMF v2 (docs/formats/cmf.md §3): size rule, scalar decode,
// encode.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "amphora/bytes.h"
#include "amphora/dtype.h"
#include "amphora/result.h"

namespace amphora::quant {

/// Dimensions, outermost first; a matrix is [rows, columns].
using Shape = std::span<const uint64_t>;

/// Product of the dimensions, 1 for a scalar; empty on overflow. Exact also if a dimension is 0, whatever the
/// others are.
std::optional<uint64_t> element_count(Shape shape);

enum class Encoder : uint8_t {
  kPlain,   ///< scales from the largest magnitude (docs/formats/cmf.md §3 "Encoders")
  kSearch,  ///< the scale of each group that gives the least squared error, where the type has such a search
};

/// How a tensor is to be encoded; a type ignores what does not concern it. The spans must outlive the call.
struct EncodeOptions {
  Encoder encoder = Encoder::kPlain;
  /// What a squared error in each column counts in a search, finite and not negative; empty: all columns
  /// alike. [columns]
  std::span<const float> importance = {};
  /// The share of all weights, 0 … 1, that an overlay keeps as f16 (q1s, q1t); absent: the type's default.
  std::optional<double> overlay_share = {};
  /// Bits per weight of every row (vbit, vbit_ro): see quant/vbit_budget.h. [rows]
  std::span<const uint8_t> row_widths = {};
};

using RowParts = std::array<uint64_t, 3>;

/// One element type. Function members are null where this version cannot do the work (see can_decode,
/// can_encode).
struct Codec {
  DType dtype = DType::kF32;
  std::string_view name = {};      ///< as in the specification: "q8_row"
  std::string_view cli_name = {};  ///< as `--quant` takes it: "q8"; empty if only the name works
  /// Whether the type may carry a tensor of this name and shape (the "where" of the specification); otherwise
  /// why not. Every other function wants a shape that has passed.
  Status (*check_place)(std::string_view tensor_name, Shape shape) = nullptr;
  /// Exact payload bytes for a shape; empty on overflow. Null for types whose size depends on their content.
  std::optional<uint64_t> (*payload_bytes)(Shape shape) = nullptr;
  /// For types without payload_bytes: checks the internal tables and that the payload is as long as they say
  /// (open). The fault's code is "Bounds" for sizes and "Parse" for values, its offset counts from the
  /// payload's start.
  Status (*check_tables)(Bytes payload, Shape shape) = nullptr;
  /// Checks that need the whole payload: finite scales and the like (verify). The first fault's offset is
  /// from the payload's start; the size and the tables have been checked. Null if anything is valid.
  Status (*check_payload)(Bytes payload, Shape shape) = nullptr;
  /// Decodes elements [first, first + out.size()) in row-major order. `payload` has been checked against
  /// payload_bytes.
  void (*decode)(Bytes payload, Shape shape, uint64_t first, std::span<float> out) = nullptr;
  /// For types without payload_bytes: the payload that encode() makes of a shape with these options; empty on
  /// overflow or if an option that it needs is missing.
  std::optional<uint64_t> (*encoded_bytes)(Shape shape, const EncodeOptions& options) = nullptr;
  /// Encodes a whole tensor into `out`, which is as long as quant::encoded_bytes says. Refuses NaN,
  /// infinities and what the type cannot hold, naming the flat index. `values` holds every element,
  /// row-major.
  Status (*encode)(std::span<const float> values, Shape shape, const EncodeOptions& options,
                   MutableBytes out) = nullptr;
  /// Of matrices whose rows are encoded independently of each other: the bytes of a row in each part of the
  /// payload, the parts in their order, 0 for no part. So rows [a, b) encoded as a matrix of their own are,
  /// part by part, what the whole holds. Null, or empty for a number of columns: rows depend on each other.
  std::optional<RowParts> (*row_parts)(uint64_t columns) = nullptr;
  bool has_search = false;  ///< whether Encoder::kSearch differs from Encoder::kPlain

  bool can_decode() const { return decode != nullptr; }
  bool can_encode() const { return encode != nullptr; }
};

/// Exact bytes of the payload that encode() makes, for every type; empty on overflow.
std::optional<uint64_t> encoded_bytes(const Codec& codec, Shape shape, const EncodeOptions& options);

/// All known types, in id order.
std::span<const Codec> codecs();
/// By id, or null.
const Codec* find_codec(uint8_t id);
inline const Codec* find_codec(DType dtype) { return find_codec(static_cast<uint8_t>(dtype)); }
/// By specification name or command-line name ("q8_row", "q8"), or null.
const Codec* find_codec(std::string_view name);
std::string_view name_of(DType dtype);

}  // namespace amphora::quant
