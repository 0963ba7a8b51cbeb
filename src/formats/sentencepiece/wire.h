// The protobuf wire format, as far as a reader needs it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "amphora/bytes.h"
#include "amphora/result.h"

namespace amphora::sentencepiece {

enum class WireType : uint8_t {
  kVarint = 0,
  kFixed64 = 1,
  kBytes = 2,
  kStartGroup = 3,
  kEndGroup = 4,
  kFixed32 = 5
};
std::string_view wire_type_name(WireType type);

/// One field of a message with its value.
struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t offset = 0;        ///< of its tag in the file
  uint64_t value = 0;         ///< of a varint or a fixed-width field
  Bytes bytes;                ///< of a length-delimited field
  uint64_t bytes_offset = 0;  ///< of `bytes` in the file
};

/// Walks over the fields of one message. Groups, which no field of ours is, are passed over with all that is
/// in them.
///
/// Error codes: Truncated, Varint (more than 64 bits), Tag (field number or wire type that does not exist),
/// Group (an end without a start, too many levels). The place is the message's name.
class WireReader {
 public:
  /// `offset` is where `message` lies in the file; `place` names it.
  WireReader(Bytes message, uint64_t offset, std::string_view place)
      : rest_(message), offset_(offset), place_(place) {}

  /// The next field; empty at the end.
  Result<std::optional<Field>> next();

 private:
  std::unexpected<Error> fault(Fault fault, std::string_view code, uint64_t offset,
                               std::string message) const;
  Result<uint64_t> read_varint(std::string_view what);
  Result<uint64_t> read_fixed(size_t bytes);
  Status read_tag(Field& field);
  Status read_value(Field& field);
  Status skip_group(const Field& start);
  Bytes take(size_t count);

  Bytes rest_;
  uint64_t offset_;
  std::string_view place_;
};

}  // namespace amphora::sentencepiece
