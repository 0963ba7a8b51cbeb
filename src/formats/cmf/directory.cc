// The tensor directory: fields are checked in the order that the format page gives.
#include "formats/cmf/directory.h"

#include <algorithm>
#include <unordered_set>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/checked.h"
#include "quant/codec.h"
#include "unicode/utf8.h"

namespace amphora::cmf {
namespace {

constexpr uint64_t kMaxElements = (uint64_t{1} << 63) - 1;

/// Reads one record after the other; holds what their checks share.
class DirectoryReader {
 public:
  DirectoryReader(Bytes file, const Envelope& envelope)
      : at_(envelope.place(Section::kDirectory).offset),
        directory_(file.subspan(at_, envelope.place(Section::kDirectory).bytes)),
        data_(envelope.place(Section::kData)) {}

  Checked<std::vector<TensorRecord>> read() {
    if (directory_.size() < kDirectoryHeadBytes) return bad(Code::kParse, 0, {}, "shorter than 16 bytes");
    ByteReader head(directory_);
    const auto count = head.read<uint64_t>();
    const auto pool_offset = head.read<uint64_t>();
    if (count > (directory_.size() - kDirectoryHeadBytes) / kRecordBytes)
      return bad(Code::kParse, 0, {}, std::to_string(count) + " records do not fit");
    if (pool_offset < kDirectoryHeadBytes + kRecordBytes * count || pool_offset > directory_.size())
      return bad(Code::kParse, 8, {},
                 "the name pool at " + std::to_string(pool_offset) + " is outside the directory");
    pool_ = directory_.subspan(pool_offset);
    std::vector<TensorRecord> tensors;
    tensors.reserve(count);
    names_.reserve(count);
    for (uint64_t i = 0; i < count; ++i) {
      AMPHORA_ASSIGN(TensorRecord tensor, read_record(kDirectoryHeadBytes + kRecordBytes * i));
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  /// `field` counts from the section's start.
  std::unexpected<Finding> bad(Code code, uint64_t field, std::string_view tensor,
                               std::string message) const {
    return tensor_fault(code, Section::kDirectory, at_ + field, tensor, std::move(message));
  }

  Checked<std::string_view> read_name(uint64_t at, uint64_t name_offset, uint64_t name_bytes) {
    if (!lies_within(name_offset, name_bytes, pool_.size()))
      return bad(Code::kParse, at, {}, "the name lies outside the name pool");
    if (name_bytes == 0) return bad(Code::kParse, at + kNameLengthField, {}, "the name is empty");
    const std::string_view name = as_text(pool_.subspan(name_offset, name_bytes));
    if (!unicode::is_utf8(name)) return bad(Code::kParse, at, {}, "the name is not UTF-8");
    if (!names_.insert(name).second) return bad(Code::kParse, at, name, "an earlier record has this name");
    return name;
  }

  Checked<TensorRecord> read_record(uint64_t at) {
    ByteReader in(directory_.subspan(at, kRecordBytes));
    const auto name_offset = in.read<uint32_t>();
    const auto name_bytes = in.read<uint16_t>();
    const auto dtype = in.read<uint8_t>();
    const auto rank = in.read<uint8_t>();
    uint64_t dimensions[kMaxRank];
    for (uint64_t& dimension : dimensions) dimension = in.read<uint32_t>();
    const auto offset = in.read<uint64_t>();
    TensorRecord tensor;
    tensor.bytes = in.read<uint64_t>();
    tensor.hash = in.read<uint64_t>();
    tensor.record_offset = at_ + at;

    AMPHORA_ASSIGN(tensor.name, read_name(at, name_offset, name_bytes));
    const quant::Codec* codec = quant::find_codec(dtype);
    if (!codec)
      return bad(Code::kParse, at + kDTypeField, tensor.name, "unknown dtype " + std::to_string(dtype));
    tensor.dtype = codec->dtype;
    if (rank > kMaxRank)
      return bad(Code::kParse, at + kRankField, tensor.name, std::to_string(rank) + " dimensions, at most 6");
    for (uint64_t i = rank; i < kMaxRank; ++i)
      if (dimensions[i] != 0)
        return bad(Code::kParse, at + kShapeField + 4 * i, tensor.name,
                   "the unused part of the shape is not zero");
    tensor.shape.assign(dimensions, dimensions + rank);
    AMPHORA_TRY(check_size(at, tensor, *codec, offset));
    tensor.offset = data_.offset + offset;
    return tensor;
  }

  Checked<void> check_size(uint64_t at, const TensorRecord& tensor, const quant::Codec& codec,
                           uint64_t offset) const {
    const auto elements = quant::element_count(tensor.shape);
    if (!elements || *elements > kMaxElements)
      return bad(Code::kBounds, at + kShapeField, tensor.name, "the element count is not below 2^63");
    if (const Status place = codec.check_place(tensor.name, tensor.shape); !place)
      return bad(Code::kParse, at + kShapeField, tensor.name,
                 std::string(codec.name) + ": " + place.error().message);
    if (offset % kTensorAlignment != 0)
      return bad(Code::kBounds, at + kPlaceField, tensor.name,
                 "offset " + std::to_string(offset) + " is not a multiple of 64");
    if (!lies_within(offset, tensor.bytes, data_.bytes))
      return bad(Code::kBounds, at + kPlaceField, tensor.name,
                 "the payload passes the end of the data section");
    if (!codec.payload_bytes) return {};
    const auto wanted = codec.payload_bytes(tensor.shape);
    if (wanted != tensor.bytes)
      return bad(Code::kBounds, at + kBytesField, tensor.name,
                 std::to_string(tensor.bytes) + " bytes, the shape asks for " +
                     (wanted ? std::to_string(*wanted) : std::string("more than 2^64")));
    return {};
  }

  uint64_t at_;  ///< of the section in the file
  Bytes directory_, pool_;
  Span data_;
  std::unordered_set<std::string_view> names_;
};

/// A run of bytes that belongs to a tensor or to a section other than data.
struct Owner {
  Span span;
  const TensorRecord* tensor;  ///< null for a section
  Section section;

  std::string name() const {
    return tensor ? std::string(tensor->name) : std::string(name_of(section)) + " section";
  }
};

Checked<void> check_disjoint(std::span<const TensorRecord> tensors, const Envelope& envelope) {
  std::vector<Owner> owners;
  owners.reserve(tensors.size() + kPlacedSections.size());
  for (const Section section : kPlacedSections)
    if (section != Section::kData && envelope.place(section).bytes != 0)
      owners.push_back({envelope.place(section), nullptr, section});
  for (const TensorRecord& tensor : tensors)
    if (tensor.bytes != 0) owners.push_back({{tensor.offset, tensor.bytes}, &tensor, Section::kData});
  // Sections before tensors, tensors in record order: of two that begin together, the later record is to
  // blame.
  std::ranges::sort(owners, {}, [](const Owner& owner) {
    return std::pair(owner.span.offset, owner.tensor ? owner.tensor->record_offset : 0);
  });
  const Owner* last = nullptr;  // the owner that reaches farthest so far
  for (const Owner& owner : owners) {
    if (last && owner.span.offset < last->span.end() && (owner.tensor || last->tensor)) {
      const Owner& blamed = owner.tensor ? owner : *last;
      const Owner& other = owner.tensor ? *last : owner;
      return tensor_fault(Code::kBounds, Section::kDirectory, blamed.tensor->record_offset + kPlaceField,
                          blamed.tensor->name, "the payload overlaps the " + other.name());
    }
    if (!last || owner.span.end() > last->span.end()) last = &owner;
  }
  return {};
}

Checked<void> check_tables(Bytes file, std::span<const TensorRecord> tensors) {
  for (const TensorRecord& tensor : tensors) {
    const quant::Codec* codec = quant::find_codec(tensor.dtype);
    if (!codec->check_tables) continue;
    const Status status = codec->check_tables(file.subspan(tensor.offset, tensor.bytes), tensor.shape);
    if (!status)
      return tensor_fault(status.error().code == "Bounds" ? Code::kBounds : Code::kParse, Section::kData,
                          tensor.offset + status.error().offset.value_or(0), tensor.name,
                          status.error().message);
  }
  return {};
}

}  // namespace

Checked<std::vector<TensorRecord>> decode_directory(Bytes file, const Envelope& envelope) {
  AMPHORA_ASSIGN(std::vector<TensorRecord> tensors, DirectoryReader(file, envelope).read());
  AMPHORA_TRY(check_disjoint(tensors, envelope));
  AMPHORA_TRY(check_tables(file, tensors));
  return tensors;
}

ByteVector encode_directory(std::span<const TensorRecord> tensors, uint64_t data_offset) {
  ByteWriter out;
  out.write<uint64_t>(tensors.size());
  out.write<uint64_t>(kDirectoryHeadBytes + kRecordBytes * tensors.size());
  uint32_t name_offset = 0;
  for (const TensorRecord& tensor : tensors) {
    out.write(name_offset);
    out.write(static_cast<uint16_t>(tensor.name.size()));
    out.write(static_cast<uint8_t>(tensor.dtype));
    out.write(static_cast<uint8_t>(tensor.shape.size()));
    for (uint64_t i = 0; i < kMaxRank; ++i)
      out.write(static_cast<uint32_t>(i < tensor.shape.size() ? tensor.shape[i] : 0));
    out.write(tensor.offset - data_offset);
    out.write(tensor.bytes);
    out.write(tensor.hash);
    name_offset += static_cast<uint32_t>(tensor.name.size());
  }
  for (const TensorRecord& tensor : tensors) out.write_bytes(as_bytes(tensor.name));
  return std::move(out).take();
}

}  // namespace amphora::cmf
