// Decodes and checks the header of a .safetensors file: 8 bytes of length, JSON, then the tensors' bytes.
#include "formats/safetensors/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "amphora/json.h"
#include "base/byte_reader.h"
#include "base/checked.h"

namespace amphora::safetensors {
namespace {

constexpr uint64_t kLengthBytes = 8;
constexpr std::string_view kMetadataKey = "__metadata__";

/// The header's text with the means to say where something in it stands.
struct Header {
  std::string_view text;

  /// Where a tensor's key is written: the JSON values do not know their places, so this looks for the first
  /// `"key":`. Keys written with escapes are not found; the header's start has to do for them.
  uint64_t offset_of(std::string_view key) const {
    const std::string quoted = '"' + std::string(key) + '"';
    for (size_t at = text.find(quoted); at != std::string_view::npos; at = text.find(quoted, at + 1)) {
      const size_t next = text.find_first_not_of(" \t\r\n", at + quoted.size());
      if (next != std::string_view::npos && text[next] == ':') return kLengthBytes + at;
    }
    return kLengthBytes;
  }

  std::unexpected<Error> bad_entry(std::string code, const std::string& tensor, std::string message) const {
    return fail_at(Fault::kCorrupt, std::move(code), tensor, offset_of(tensor), std::move(message));
  }
};

Result<Header> decode_header(Bytes file) {
  ByteReader in(file);
  const auto header_bytes = in.read<uint64_t>();
  if (!in.ok())
    return fail_at(
        Fault::kTruncated, "HeaderTooSmall", "header", 0,
        fmt::format("a safetensors file starts with 8 bytes of header length, this one has {} bytes",
                    file.size()));
  if (header_bytes > kMaxHeaderBytes)
    return fail_at(Fault::kRefused, "HeaderTooLarge", "header", 0,
                   fmt::format("header too large: {} bytes, the limit of the format is {}", header_bytes,
                               kMaxHeaderBytes));
  if (header_bytes > in.left())
    return fail_at(
        Fault::kTruncated, "HeaderTruncated", "header", 0,
        fmt::format("the header has {} bytes, only {} are left in the file", header_bytes, in.left()));
  const Header header{as_text(in.take(header_bytes))};
  if (!header.text.starts_with('{'))
    return fail_at(Fault::kCorrupt, "HeaderStart", "header", kLengthBytes,
                   "the header does not start with '{'");
  return header;
}

Status decode_metadata(const Header& header, const json::Value& value, Directory& directory) {
  const std::string place(kMetadataKey);
  if (!value.is_object())
    return header.bad_entry(
        "Metadata", place,
        fmt::format("__metadata__ is {}, wanted an object", json::kind_name(value.kind())));
  for (const json::Member& member : value.members()) {
    if (!member.value.is_string())
      return header.bad_entry("Metadata", place,
                              fmt::format("__metadata__ entry \"{}\" is {}, wanted a string", member.key,
                                          json::kind_name(member.value.kind())));
    directory.metadata.emplace_back(member.key, member.value.text());
  }
  return {};
}

Result<std::vector<uint64_t>> decode_shape(const Header& header, const std::string& name,
                                           const json::Value& value) {
  if (!value.is_array()) return header.bad_entry("TensorEntry", name, "shape is not an array");
  if (value.items().size() > kMaxRank)
    return header.bad_entry(
        "TensorEntry", name,
        fmt::format("shape has {} dimensions, at most {} are accepted", value.items().size(), kMaxRank));
  std::vector<uint64_t> shape;
  for (const json::Value& item : value.items()) {
    const auto dimension = item.is_number() ? item.as_unsigned() : std::nullopt;
    if (!dimension)
      return header.bad_entry(
          "TensorEntry", name,
          "shape holds " + json::dump(item).substr(0, 40) + ", wanted non-negative integers");
    shape.push_back(*dimension);
  }
  return shape;
}

struct Range {
  uint64_t begin, end;
};

Result<Range> decode_offsets(const Header& header, const std::string& name, const json::Value& value) {
  if (!value.is_array() || value.items().size() != 2)
    return header.bad_entry("TensorEntry", name, "data_offsets is not an array of two offsets");
  uint64_t offsets[2];
  for (size_t i = 0; i < 2; ++i) {
    const json::Value& item = value.items()[i];
    const auto offset = item.is_number() ? item.as_unsigned() : std::nullopt;
    if (!offset)
      return header.bad_entry(
          "TensorEntry", name,
          "data_offsets holds " + json::dump(item).substr(0, 40) + ", wanted non-negative integers");
    offsets[i] = *offset;
  }
  if (offsets[0] > offsets[1])
    return header.bad_entry("TensorEntry", name,
                            fmt::format("data_offsets are reversed: [{}, {}]", offsets[0], offsets[1]));
  return Range{offsets[0], offsets[1]};
}

/// Bytes that a type and shape need, or an error that says why there is no such number.
Result<uint64_t> wanted_bytes(const Header& header, const Tensor& tensor) {
  const ElementInfo& type = info(tensor.type);
  const auto elements = checked_product(tensor.shape);
  const auto bits = elements ? checked_mul(*elements, type.bits) : std::nullopt;
  if (!bits)
    return header.bad_entry("SizeOverflow", tensor.name,
                            "size overflow: shape × element size exceeds 64 bits");
  if (*bits % 8 != 0)
    return header.bad_entry(
        "SizeMismatch", tensor.name,
        fmt::format("{} elements of {} bits do not fill whole bytes", *elements, type.bits));
  return *bits / 8;
}

Result<Tensor> decode_entry(const Header& header, const json::Member& member, Bytes data) {
  Tensor tensor;
  tensor.name = member.key;
  if (!member.value.is_object())
    return header.bad_entry(
        "TensorEntry", tensor.name,
        fmt::format("the entry is {}, wanted an object", json::kind_name(member.value.kind())));
  for (const json::Member& field : member.value.members())
    if (field.key != "dtype" && field.key != "shape" && field.key != "data_offsets")
      return header.bad_entry("TensorEntry", tensor.name,
                              "unknown field \"" + field.key.substr(0, 40) + "\"");

  const json::Value* type = member.value.find("dtype");
  const json::Value* shape = member.value.find("shape");
  const json::Value* offsets = member.value.find("data_offsets");
  if (type == nullptr || shape == nullptr || offsets == nullptr)
    return header.bad_entry("TensorEntry", tensor.name, "dtype, shape or data_offsets is missing");

  if (!type->is_string()) return header.bad_entry("TensorEntry", tensor.name, "dtype is not a string");
  const ElementInfo* known = find_element_type(type->text());
  if (known == nullptr)
    return header.bad_entry("UnknownType", tensor.name,
                            "unknown dtype \"" + type->text().substr(0, 40) + "\"");
  tensor.type = known->type;
  AMPHORA_ASSIGN(tensor.shape, decode_shape(header, tensor.name, *shape));
  AMPHORA_ASSIGN(const Range range, decode_offsets(header, tensor.name, *offsets));
  AMPHORA_ASSIGN(const uint64_t wanted, wanted_bytes(header, tensor));
  if (range.end > data.size())
    return fail_at(Fault::kTruncated, "OutOfRange", tensor.name, header.offset_of(tensor.name),
                   fmt::format("data_offsets [{}, {}] end past the {} bytes of data", range.begin, range.end,
                               data.size()));
  if (range.end - range.begin != wanted)
    return header.bad_entry(
        "SizeMismatch", tensor.name,
        fmt::format("data_offsets give {} bytes, type and shape need {}", range.end - range.begin, wanted));
  tensor.elements = *checked_product(tensor.shape);
  tensor.offset = kLengthBytes + header.text.size() + range.begin;
  tensor.data = data.subspan(range.begin, wanted);
  return tensor;
}

/// The tensors, sorted by place, must lie one behind the other from the first byte of the data to the last.
Status check_coverage(const Directory& directory, uint64_t data_offset, uint64_t file_bytes) {
  std::vector<const Tensor*> by_place;
  for (const Tensor& tensor : directory.tensors) by_place.push_back(&tensor);
  std::ranges::sort(by_place, {},
                    [](const Tensor* tensor) { return std::pair(tensor->offset, tensor->data.size()); });
  uint64_t covered = data_offset;
  for (const Tensor* tensor : by_place) {
    if (tensor->offset < covered)
      return fail_at(
          Fault::kCorrupt, "Overlap", tensor->name, tensor->offset,
          fmt::format("the tensor overlaps the one before it by {} bytes", covered - tensor->offset));
    if (tensor->offset > covered)
      return fail_at(Fault::kCorrupt, "Hole", tensor->name, covered,
                     fmt::format("a hole of {} bytes lies before the tensor", tensor->offset - covered));
    covered += tensor->data.size();
  }
  if (covered != file_bytes)
    return fail_at(Fault::kCorrupt, "TrailingBytes", "data", covered,
                   fmt::format("{} bytes behind the last tensor belong to none", file_bytes - covered));
  return {};
}

}  // namespace

Result<Directory> decode_directory(Bytes file) {
  AMPHORA_ASSIGN(const Header header, decode_header(file));
  auto root = json::parse(header.text);
  if (!root) {
    Error error = std::move(root).error();
    if (error.offset) *error.offset += kLengthBytes;
    return std::unexpected(std::move(error));
  }
  const uint64_t data_offset = kLengthBytes + header.text.size();
  const Bytes data = file.subspan(data_offset);
  Directory directory;
  for (const json::Member& member : root->members()) {
    if (member.key == kMetadataKey) {
      AMPHORA_TRY(decode_metadata(header, member.value, directory));
      continue;
    }
    AMPHORA_ASSIGN(Tensor tensor, decode_entry(header, member, data));
    directory.tensors.push_back(std::move(tensor));
  }
  AMPHORA_TRY(check_coverage(directory, data_offset, file.size()));
  return directory;
}

}  // namespace amphora::safetensors
