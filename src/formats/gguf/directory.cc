// Decodes and checks the header, metadata and tensor records of a GGUF file. Field order is file order: the
// GGUF specification of the ggml project.
#include "formats/gguf/directory.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "base/byte_reader.h"
#include "base/checked.h"

namespace amphora::gguf {
namespace {

constexpr uint32_t kMagic = 0x46554747;                        // "GGUF"
constexpr uint64_t kStringBytes = 8;                           // of an empty one
constexpr uint64_t kArrayBytes = 12;                           // of an empty one
constexpr uint64_t kKeyValueBytes = kStringBytes + 1 + 4 + 1;  // the shortest record: 1-byte key and value
constexpr uint64_t kTensorRecordBytes = kStringBytes + 1 + 4 + 8 + 4 + 8;  // 1-byte name, one dimension

bool is_printable_ascii(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7F; });
}

/// A name as a message can show it.
std::string shown(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 80)) text += c >= 0x20 && c < 0x7F ? c : '?';
  return text;
}

class Decoder {
 public:
  explicit Decoder(Bytes file) : file_(file), in_(file) {}

  Result<Directory> decode() {
    AMPHORA_TRY(decode_header());
    for (uint64_t i = 0; i < key_count_; ++i) AMPHORA_TRY(decode_key_value());
    AMPHORA_TRY(index_keys());
    AMPHORA_TRY(decode_alignment());
    for (uint64_t i = 0; i < tensor_count_; ++i) AMPHORA_TRY(decode_tensor_record());
    AMPHORA_TRY(index_tensors());
    AMPHORA_TRY(place_tensors());
    return std::move(directory_);
  }

 private:
  std::unexpected<Error> truncated(std::string place, uint64_t offset, std::string_view what) const {
    return fail_at(Fault::kTruncated, "Truncated", std::move(place), offset,
                   fmt::format("the file ends inside {}", what));
  }

  Status decode_header() {
    const auto magic = in_.read<uint32_t>();
    const auto version = in_.read<uint32_t>();
    tensor_count_ = in_.read<uint64_t>();
    key_count_ = in_.read<uint64_t>();
    if (file_.size() >= 4 && magic != kMagic)
      return fail_at(Fault::kCorrupt, "Magic", "header", 0, "the file does not start with \"GGUF\"");
    if (!in_.ok()) return truncated("header", 0, "the header");
    if (version == 0x02000000 || version == 0x03000000)
      return fail_at(Fault::kUnsupported, "Version", "header", 4,
                     "the file is big-endian, only little-endian GGUF is read");
    if (version != 2 && version != 3)
      return fail_at(Fault::kUnsupported, "Version", "header", 4,
                     fmt::format("GGUF version {} is not supported, only 2 and 3 are", version));
    directory_.version = version;
    if (tensor_count_ > kMaxTensors || key_count_ > kMaxKeys)
      return fail_at(Fault::kRefused, "Counts", "header", tensor_count_ > kMaxTensors ? 8 : 16,
                     fmt::format("{} tensors and {} metadata keys, at most {} and {} are accepted",
                                 tensor_count_, key_count_, kMaxTensors, kMaxKeys));
    if (tensor_count_ > in_.left() / kTensorRecordBytes)
      return fail_at(
          Fault::kTruncated, "Counts", "header", 8,
          fmt::format("{} tensors do not fit into the {} bytes left in the file", tensor_count_, in_.left()));
    if (key_count_ > in_.left() / kKeyValueBytes)
      return fail_at(Fault::kTruncated, "Counts", "header", 16,
                     fmt::format("{} metadata keys do not fit into the {} bytes left in the file", key_count_,
                                 in_.left()));
    return {};
  }

  /// A length and as many bytes. Empty, with in_.ok() still true only for a length of 0.
  std::string_view read_string() { return as_text(in_.take(in_.read<uint64_t>())); }

  Status decode_key_value() {
    KeyValue entry;
    entry.offset = in_.offset();
    entry.key = read_string();
    if (!in_.ok())
      return truncated(fmt::format("metadata key {}", directory_.metadata.size()), entry.offset,
                       "a metadata key");
    if (entry.key.empty() || entry.key.size() > kMaxKeyBytes || !is_printable_ascii(entry.key))
      return fail_at(Fault::kCorrupt, "Key", fmt::format("metadata key {}", directory_.metadata.size()),
                     entry.offset,
                     fmt::format("the key \"{}\" ({} bytes) is not printable ASCII of 1 to {} bytes",
                                 shown(entry.key), entry.key.size(), kMaxKeyBytes));
    const uint64_t type_offset = in_.offset();
    AMPHORA_ASSIGN(const ValueType type, decode_value_type(entry.key));
    AMPHORA_ASSIGN(entry.value, decode_value(entry.key, type, 0));
    entry.value.offset = type_offset;
    directory_.metadata.push_back(std::move(entry));
    return {};
  }

  Result<ValueType> decode_value_type(std::string_view key) {
    const uint64_t offset = in_.offset();
    const auto type = in_.read<uint32_t>();
    if (!in_.ok()) return truncated(shown(key), offset, "a value's type");
    if (type >= kValueTypeCount)
      return fail_at(Fault::kCorrupt, "ValueType", shown(key), offset,
                     fmt::format("unknown value type {}, the last known is {}", type, kValueTypeCount - 1));
    return static_cast<ValueType>(type);
  }

  Result<Value> decode_value(std::string_view key, ValueType type, uint32_t depth) {
    Value value;
    value.type = type;
    value.offset = in_.offset();
    switch (type) {
      case ValueType::kUint8: value.content = uint64_t{in_.read<uint8_t>()}; break;
      case ValueType::kUint16: value.content = uint64_t{in_.read<uint16_t>()}; break;
      case ValueType::kUint32: value.content = uint64_t{in_.read<uint32_t>()}; break;
      case ValueType::kUint64: value.content = in_.read<uint64_t>(); break;
      case ValueType::kInt8: value.content = int64_t{std::bit_cast<int8_t>(in_.read<uint8_t>())}; break;
      case ValueType::kInt16: value.content = int64_t{std::bit_cast<int16_t>(in_.read<uint16_t>())}; break;
      case ValueType::kInt32: value.content = int64_t{std::bit_cast<int32_t>(in_.read<uint32_t>())}; break;
      case ValueType::kInt64: value.content = std::bit_cast<int64_t>(in_.read<uint64_t>()); break;
      case ValueType::kFloat32: value.content = double{in_.read_f32()}; break;
      case ValueType::kFloat64: value.content = in_.read_f64(); break;
      case ValueType::kString: value.content = read_string(); break;
      case ValueType::kBool: {
        const auto byte = in_.read<uint8_t>();
        if (byte > 1) return bad_bool(key, value.offset, byte);
        value.content = byte == 1;
        break;
      }
      case ValueType::kArray: {
        AMPHORA_ASSIGN(value.content, decode_array(key, depth));
        break;
      }
    }
    if (!in_.ok())
      return truncated(shown(key), value.offset, fmt::format("a value of type {}", name_of(type)));
    return value;
  }

  static std::unexpected<Error> bad_bool(std::string_view key, uint64_t offset, unsigned byte) {
    return fail_at(Fault::kCorrupt, "Value", shown(key), offset,
                   fmt::format("a bool is {}, wanted 0 or 1", byte));
  }

  Result<Array> decode_array(std::string_view key, uint32_t depth) {
    if (depth >= kMaxArrayDepth)
      return fail_at(Fault::kRefused, "ArrayDepth", shown(key), in_.offset(),
                     fmt::format("arrays are nested deeper than {}", kMaxArrayDepth));
    Array array;
    AMPHORA_ASSIGN(array.element_type, decode_value_type(key));
    const uint64_t count_offset = in_.offset();
    array.count = in_.read<uint64_t>();
    if (!in_.ok()) return truncated(shown(key), count_offset, "an array's length");
    const uint64_t fixed = fixed_bytes(array.element_type);
    const uint64_t least = fixed != 0                                 ? fixed
                           : array.element_type == ValueType::kString ? kStringBytes
                                                                      : kArrayBytes;
    if (array.count > in_.left() / least)
      return fail_at(
          Fault::kTruncated, "Counts", shown(key), count_offset,
          fmt::format("an array of {} elements of type {} does not fit into the {} bytes left in the file",
                      array.count, name_of(array.element_type), in_.left()));
    if (fixed != 0) {
      const uint64_t offset = in_.offset();
      array.numbers = in_.take(array.count * fixed);
      if (array.element_type == ValueType::kBool) {
        const auto bad =
            std::ranges::find_if(array.numbers, [](std::byte byte) { return byte > std::byte{1}; });
        if (bad != array.numbers.end())
          return bad_bool(key, offset + static_cast<uint64_t>(bad - array.numbers.begin()),
                          std::to_integer<unsigned>(*bad));
      }
    } else if (array.element_type == ValueType::kString) {
      array.strings.reserve(array.count);
      for (uint64_t i = 0; i < array.count; ++i) {
        const uint64_t offset = in_.offset();
        array.strings.push_back(read_string());
        if (!in_.ok())
          return truncated(shown(key), offset, fmt::format("element {} of an array of strings", i));
      }
    } else {
      for (uint64_t i = 0; i < array.count; ++i) {
        AMPHORA_ASSIGN(Value element, decode_value(key, ValueType::kArray, depth + 1));
        array.arrays.push_back(std::move(element));
      }
    }
    return array;
  }

  Status index_keys() {
    auto& order = directory_.metadata_by_key;
    const auto& metadata = directory_.metadata;
    order.resize(metadata.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto key = [&](uint32_t index) { return metadata[index].key; };
    std::ranges::sort(order, {}, [&](uint32_t index) { return std::pair(key(index), index); });
    const auto same = std::ranges::adjacent_find(order, {}, key);
    if (same == order.end()) return {};
    const KeyValue& second = metadata[*std::next(same)];
    return fail_at(Fault::kCorrupt, "DuplicateKey", shown(second.key), second.offset,
                   "duplicate key: it occurs twice");
  }

  Status decode_alignment() {
    const Value* value = directory_.find("general.alignment");
    if (value == nullptr) return {};
    const auto alignment = value->type == ValueType::kUint32 ? value->as_unsigned() : std::nullopt;
    if (!alignment || !std::has_single_bit(*alignment) || *alignment < 8 || *alignment > kMaxAlignment)
      return fail_at(
          Fault::kCorrupt, "Alignment", "general.alignment", value->offset,
          fmt::format("the alignment is {} {}, wanted a uint32 that is a power of two from 8 to {}",
                      name_of(value->type), value->as_unsigned().value_or(0), kMaxAlignment));
    directory_.alignment = static_cast<uint32_t>(*alignment);
    return {};
  }

  Status decode_tensor_record() {
    Tensor tensor;
    tensor.record_offset = in_.offset();
    const std::string number = fmt::format("tensor {}", directory_.tensors.size());
    tensor.name = read_string();
    if (!in_.ok()) return truncated(number, tensor.record_offset, "a tensor's name");
    if (tensor.name.empty() || tensor.name.size() > kMaxTensorNameBytes || !is_printable_ascii(tensor.name))
      return fail_at(Fault::kCorrupt, "TensorName", number, tensor.record_offset,
                     fmt::format("the name \"{}\" ({} bytes) is not printable ASCII of 1 to {} bytes",
                                 shown(tensor.name), tensor.name.size(), kMaxTensorNameBytes));
    const std::string name(tensor.name);

    const uint64_t rank_offset = in_.offset();
    const auto rank = in_.read<uint32_t>();
    if (!in_.ok()) return truncated(name, rank_offset, "a tensor record");
    if (rank == 0 || rank > kMaxRank)
      return fail_at(Fault::kCorrupt, "Rank", name, rank_offset,
                     fmt::format("{} dimensions, wanted 1 to {}", rank, kMaxRank));
    const uint64_t shape_offset = in_.offset();
    for (uint32_t i = 0; i < rank; ++i) tensor.shape.push_back(in_.read<uint64_t>());
    const uint64_t type_offset = in_.offset();
    const auto type = in_.read<uint32_t>();
    const uint64_t offset_offset = in_.offset();
    tensor.offset =
        in_.read<uint64_t>();  // from the start of the data: place_tensors() makes it one of the file
    if (!in_.ok()) return truncated(name, shape_offset, "a tensor record");

    for (uint32_t i = 0; i < rank; ++i)
      if (tensor.shape[i] == 0)
        return fail_at(Fault::kCorrupt, "Dimension", name, shape_offset + 8 * i,
                       fmt::format("dimension {} is 0", i));
    tensor.type = quant::ggml::find_type(type);
    if (tensor.type == nullptr)
      return fail_at(Fault::kUnsupported, "TensorType", name, type_offset,
                     fmt::format("unknown ggml type {}", type));

    const uint64_t row = tensor.shape.front();
    std::ranges::reverse(tensor.shape);
    const auto elements = checked_product(tensor.shape);
    if (!elements || *elements > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return fail_at(Fault::kCorrupt, "SizeOverflow", name, shape_offset,
                     "size overflow: more than 2^63 - 1 elements");
    if (row % tensor.type->block_elements != 0)
      return fail_at(Fault::kCorrupt, "Dimension", name, shape_offset,
                     fmt::format("rows of {} elements do not consist of whole {} blocks of {}", row,
                                 tensor.type->name, tensor.type->block_elements));
    tensor.elements = *elements;
    const auto bytes = checked_mul(tensor.elements / tensor.type->block_elements, tensor.type->block_bytes);
    if (!bytes || !checked_add(tensor.offset, *bytes))
      return fail_at(Fault::kCorrupt, "SizeOverflow", name, bytes ? offset_offset : shape_offset,
                     "size overflow: the tensor would end beyond 2^64 bytes");
    if (tensor.offset % directory_.alignment != 0)
      return fail_at(Fault::kCorrupt, "TensorOffset", name, offset_offset,
                     fmt::format("offset {} is not a multiple of the alignment {}", tensor.offset,
                                 directory_.alignment));
    tensor_bytes_.push_back(*bytes);
    directory_.tensors.push_back(std::move(tensor));
    return {};
  }

  Status index_tensors() {
    auto& order = directory_.tensors_by_name;
    const auto& tensors = directory_.tensors;
    order.resize(tensors.size());
    std::iota(order.begin(), order.end(), 0u);
    const auto name = [&](uint32_t index) { return tensors[index].name; };
    std::ranges::sort(order, {}, [&](uint32_t index) { return std::pair(name(index), index); });
    const auto same = std::ranges::adjacent_find(order, {}, name);
    if (same == order.end()) return {};
    const Tensor& second = tensors[*std::next(same)];
    return fail_at(Fault::kCorrupt, "DuplicateTensor", std::string(second.name), second.record_offset,
                   "duplicate tensor: the name occurs twice");
  }

  /// The tensors, sorted by place, must follow one another, each at the first aligned offset behind the one
  /// before.
  Status place_tensors() {
    if (directory_.tensors.empty()) return {};
    const uint64_t records_end = in_.offset();
    const auto data_offset = checked_align(records_end, directory_.alignment);
    const uint64_t data_bytes = data_offset && *data_offset <= file_.size() ? file_.size() - *data_offset : 0;

    std::vector<uint32_t> by_place(directory_.tensors.size());
    std::iota(by_place.begin(), by_place.end(), 0u);
    std::ranges::sort(by_place, {}, [&](uint32_t index) { return directory_.tensors[index].offset; });
    uint64_t end = 0;
    uint64_t padded_end = 0;
    for (const uint32_t index : by_place) {
      Tensor& tensor = directory_.tensors[index];
      const std::string name(tensor.name);
      if (tensor.offset < padded_end)
        return fail_at(
            Fault::kCorrupt, "Overlap", name, tensor.record_offset,
            fmt::format("the tensor starts at {} of the data, inside the one before it", tensor.offset));
      if (tensor.offset > padded_end)
        return fail_at(Fault::kCorrupt, "Hole", name, tensor.record_offset,
                       fmt::format("{} bytes before the tensor belong to none", tensor.offset - padded_end));
      if (!lies_within(tensor.offset, tensor_bytes_[index], data_bytes))
        return fail_at(Fault::kTruncated, "OutOfRange", name, tensor.record_offset,
                       fmt::format("{} bytes at {} of the data end past the {} bytes that the file has",
                                   tensor_bytes_[index], tensor.offset, data_bytes));
      end = tensor.offset + tensor_bytes_[index];
      padded_end = checked_align(end, directory_.alignment).value_or(std::numeric_limits<uint64_t>::max());
      tensor.offset += *data_offset;
      tensor.data = file_.subspan(tensor.offset, tensor_bytes_[index]);
    }
    if (data_bytes > padded_end)
      return fail_at(Fault::kCorrupt, "TrailingBytes", "data", *data_offset + padded_end,
                     fmt::format("{} bytes behind the last tensor belong to none", data_bytes - padded_end));
    if (data_bytes != end &&
        data_bytes != padded_end)  // some writers leave the last padding out, none writes half of it
      return truncated("data", file_.size(), "the padding behind the last tensor");
    return {};
  }

  Bytes file_;
  ByteReader in_;
  uint64_t tensor_count_ = 0;
  uint64_t key_count_ = 0;
  std::vector<uint64_t> tensor_bytes_;  ///< of each tensor, in the file's order
  Directory directory_;
};

/// Binary search of `order`, which is sorted by `name_of_entry`.
template <class NameOf>
std::optional<uint32_t> find_index(const std::vector<uint32_t>& order, std::string_view name,
                                   NameOf name_of_entry) {
  const auto found = std::ranges::lower_bound(order, name, {}, name_of_entry);
  if (found == order.end() || name_of_entry(*found) != name) return std::nullopt;
  return *found;
}

}  // namespace

const Value* Directory::find(std::string_view key) const {
  const auto index = find_index(metadata_by_key, key, [&](uint32_t i) { return metadata[i].key; });
  return index ? &metadata[*index].value : nullptr;
}

const Tensor* Directory::find_tensor(std::string_view name) const {
  const auto index = find_index(tensors_by_name, name, [&](uint32_t i) { return tensors[i].name; });
  return index ? &tensors[*index] : nullptr;
}

Result<Directory> decode_directory(Bytes file) { return Decoder(file).decode(); }

}  // namespace amphora::gguf
