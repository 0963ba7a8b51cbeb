// Builds GGUF files in memory, for tests: valid ones, and ones with a single thing wrong.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "amphora/bytes.h"
#include "base/byte_writer.h"
#include "formats/gguf/value.h"

namespace amphora::gguf::testing {

inline void write_string(ByteWriter& out, std::string_view text) {
  out.write(uint64_t{text.size()});
  out.write_bytes(as_bytes(text));
}

struct TensorRecord {
  std::string name;
  std::vector<uint64_t> dimensions;  ///< in the file's order: innermost first
  uint32_t type = 0;
  uint64_t offset = 0;
};

/// Collects metadata and tensors; file() lays them out. Everything can be overridden by assigning the
/// members.
class GgufBuilder {
 public:
  uint32_t version = 3;
  uint32_t alignment = 32;
  std::vector<TensorRecord> tensors;

  GgufBuilder& add_raw(std::string_view key, ValueType type, Bytes payload) {
    metadata_.push_back({std::string(key), type, ByteVector(payload.begin(), payload.end())});
    return *this;
  }
  GgufBuilder& erase(std::string_view key) {
    std::erase_if(metadata_, [&](const KeyRecord& record) { return record.key == key; });
    return *this;
  }
  GgufBuilder& add_u32(std::string_view key, uint32_t value) {
    return add_number(key, ValueType::kUint32, value);
  }
  GgufBuilder& add_bool(std::string_view key, bool value) {
    return add_number(key, ValueType::kBool, static_cast<uint8_t>(value));
  }
  GgufBuilder& add_f32(std::string_view key, float value) {
    return add_number(key, ValueType::kFloat32, std::bit_cast<uint32_t>(value));
  }
  GgufBuilder& add_string(std::string_view key, std::string_view value) {
    ByteWriter payload;
    write_string(payload, value);
    return add_raw(key, ValueType::kString, payload.bytes());
  }
  GgufBuilder& add_strings(std::string_view key, const std::vector<std::string>& values) {
    ByteWriter payload = array_head(ValueType::kString, values.size());
    for (const std::string& value : values) write_string(payload, value);
    return add_raw(key, ValueType::kArray, payload.bytes());
  }
  GgufBuilder& add_i32s(std::string_view key, const std::vector<int32_t>& values) {
    ByteWriter payload = array_head(ValueType::kInt32, values.size());
    for (const int32_t value : values) payload.write(std::bit_cast<uint32_t>(value));
    return add_raw(key, ValueType::kArray, payload.bytes());
  }
  GgufBuilder& add_f32s(std::string_view key, const std::vector<float>& values) {
    ByteWriter payload = array_head(ValueType::kFloat32, values.size());
    for (const float value : values) payload.write(std::bit_cast<uint32_t>(value));
    return add_raw(key, ValueType::kArray, payload.bytes());
  }

  /// A tensor of f32 (type 0) behind those before it.
  GgufBuilder& add_f32_tensor(std::string_view name, std::vector<uint64_t> dimensions,
                              const std::vector<float>& values) {
    ByteWriter payload;
    for (const float value : values) payload.write(std::bit_cast<uint32_t>(value));
    return add_tensor(name, std::move(dimensions), 0, payload.bytes());
  }
  GgufBuilder& add_tensor(std::string_view name, std::vector<uint64_t> dimensions, uint32_t type,
                          Bytes payload) {
    data_.align(alignment);
    tensors.push_back({std::string(name), std::move(dimensions), type, data_.size()});
    data_.write_bytes(payload);
    return *this;
  }

  std::string file() const {
    ByteWriter out;
    out.write_bytes(as_bytes("GGUF"));
    out.write(version);
    out.write(uint64_t{tensors.size()});
    out.write(uint64_t{metadata_.size()});
    for (const KeyRecord& record : metadata_) {
      write_string(out, record.key);
      out.write(static_cast<uint32_t>(record.type));
      out.write_bytes(record.payload);
    }
    for (const TensorRecord& tensor : tensors) {
      write_string(out, tensor.name);
      out.write(static_cast<uint32_t>(tensor.dimensions.size()));
      for (const uint64_t dimension : tensor.dimensions) out.write(dimension);
      out.write(tensor.type);
      out.write(tensor.offset);
    }
    if (!tensors.empty()) {
      out.align(alignment);
      out.write_bytes(data_.bytes());
      out.align(alignment);
    }
    return std::string(as_text(out.bytes()));
  }

 private:
  template <class T>
  GgufBuilder& add_number(std::string_view key, ValueType type, T value) {
    ByteWriter payload;
    payload.write(value);
    return add_raw(key, type, payload.bytes());
  }
  static ByteWriter array_head(ValueType type, size_t count) {
    ByteWriter head;
    head.write(static_cast<uint32_t>(type));
    head.write(uint64_t{count});
    return head;
  }

  struct KeyRecord {
    std::string key;
    ValueType type;
    ByteVector payload;
  };
  std::vector<KeyRecord> metadata_;
  ByteWriter data_;
};

}  // namespace amphora::gguf::testing
