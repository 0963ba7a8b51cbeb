// Decodes tags and values: https://protobuf.dev/programming-guides/encoding/
#include "formats/sentencepiece/wire.h"

#include <fmt/format.h>

#include <string>
#include <vector>

namespace amphora::sentencepiece {
namespace {

constexpr size_t kMaxVarintBytes = 10;
constexpr uint64_t kMaxFieldNumber = (1u << 29) - 1;
constexpr size_t kMaxGroupDepth = 64;

}  // namespace

std::string_view wire_type_name(WireType type) {
  switch (type) {
    case WireType::kVarint: return "varint";
    case WireType::kFixed64: return "64 bits";
    case WireType::kBytes: return "length-delimited";
    case WireType::kStartGroup: return "start of a group";
    case WireType::kEndGroup: return "end of a group";
    case WireType::kFixed32: return "32 bits";
  }
  return "unknown";
}

std::unexpected<Error> WireReader::fault(Fault fault, std::string_view code, uint64_t offset,
                                         std::string message) const {
  return fail_at(fault, std::string(code), std::string(place_), offset, std::move(message));
}

Bytes WireReader::take(size_t count) {
  const Bytes taken = rest_.first(count);
  rest_ = rest_.subspan(count);
  offset_ += count;
  return taken;
}

Result<uint64_t> WireReader::read_varint(std::string_view what) {
  const uint64_t start = offset_;
  uint64_t value = 0;
  for (size_t i = 0; i < kMaxVarintBytes; ++i) {
    if (rest_.empty())
      return fault(Fault::kTruncated, "Truncated", start, fmt::format("{} ends inside {}", place_, what));
    const auto byte = std::to_integer<uint64_t>(take(1)[0]);
    if (i + 1 == kMaxVarintBytes && byte > 1) break;
    value |= (byte & 0x7F) << (7 * i);
    if (byte < 0x80) return value;
  }
  return fault(Fault::kCorrupt, "Varint", start, fmt::format("{} has more than 64 bits", what));
}

Result<uint64_t> WireReader::read_fixed(size_t bytes) {
  if (bytes > rest_.size())
    return fault(Fault::kTruncated, "Truncated", offset_, fmt::format("{} ends inside a value", place_));
  uint64_t value = 0;
  const Bytes taken = take(bytes);
  for (size_t i = 0; i < bytes; ++i) value |= std::to_integer<uint64_t>(taken[i]) << (8 * i);
  return value;
}

Status WireReader::read_tag(Field& field) {
  field.offset = offset_;
  AMPHORA_ASSIGN(const uint64_t tag, read_varint("a tag"));
  const uint64_t number = tag >> 3, type = tag & 7;
  if (number == 0 || number > kMaxFieldNumber)
    return fault(Fault::kCorrupt, "Tag", field.offset, fmt::format("{} is no field number", number));
  if (type > static_cast<uint64_t>(WireType::kFixed32))
    return fault(Fault::kCorrupt, "Tag", field.offset,
                 fmt::format("field {} has the wire type {}, which does not exist", number, type));
  field.number = static_cast<uint32_t>(number);
  field.type = static_cast<WireType>(type);
  return {};
}

Status WireReader::read_value(Field& field) {
  if (field.type == WireType::kVarint) {
    AMPHORA_ASSIGN(field.value, read_varint("a value"));
  } else if (field.type == WireType::kBytes) {
    AMPHORA_ASSIGN(const uint64_t length, read_varint("a length"));
    if (length > rest_.size())
      return fault(Fault::kTruncated, "Truncated", field.offset,
                   fmt::format("field {} has {} bytes, but only {} are left in {}", field.number, length,
                               rest_.size(), place_));
    field.bytes_offset = offset_;
    field.bytes = take(static_cast<size_t>(length));
  } else if (field.type == WireType::kFixed32 || field.type == WireType::kFixed64) {
    AMPHORA_ASSIGN(field.value, read_fixed(field.type == WireType::kFixed32 ? 4 : 8));
  }
  return {};
}

Status WireReader::skip_group(const Field& start) {
  std::vector<uint32_t> open = {start.number};
  while (!open.empty()) {
    if (rest_.empty())
      return fault(Fault::kTruncated, "Truncated", start.offset,
                   fmt::format("{} ends inside a group", place_));
    Field field;
    AMPHORA_TRY(read_tag(field));
    AMPHORA_TRY(read_value(field));
    if (field.type == WireType::kStartGroup) {
      if (open.size() == kMaxGroupDepth)
        return fault(Fault::kRefused, "Group", field.offset,
                     fmt::format("groups have more than {} levels", kMaxGroupDepth));
      open.push_back(field.number);
    } else if (field.type == WireType::kEndGroup) {
      if (field.number != open.back())
        return fault(Fault::kCorrupt, "Group", field.offset,
                     fmt::format("group {} is ended as group {}", open.back(), field.number));
      open.pop_back();
    }
  }
  return {};
}

Result<std::optional<Field>> WireReader::next() {
  while (!rest_.empty()) {
    Field field;
    AMPHORA_TRY(read_tag(field));
    AMPHORA_TRY(read_value(field));
    if (field.type == WireType::kEndGroup)
      return fault(Fault::kCorrupt, "Group", field.offset, "a group ends that has not begun");
    if (field.type != WireType::kStartGroup) return field;
    AMPHORA_TRY(skip_group(field));
  }
  return std::nullopt;
}

}  // namespace amphora::sentencepiece
