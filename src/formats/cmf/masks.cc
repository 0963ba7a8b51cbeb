// The masks section: meta first, then the place of every blob, then the bits behind the last meaningful one
// of a row.
#include "formats/cmf/masks.h"

#include <algorithm>
#include <bit>
#include <unordered_set>

#include "base/byte_reader.h"
#include "base/checked.h"
#include "formats/cmf/schema.h"

namespace amphora::cmf {
namespace {

constexpr uint64_t kHeadBytes = 8;
constexpr uint64_t kBlobAlignment = 8;

constexpr std::string_view kPriorities[] = {"Fallback", "Normal", "Primary"};

constexpr Key kQualityRequired[] = {{"metric", Type::kString}, {"value", Type::kNumber}};
constexpr Key kQualityOptional[] = {
    {"baseline_dense", Type::kNumber}, {"n_samples", Type::kU32}, {"dataset_sha256", Type::kString}};
constexpr Record kQuality{kQualityRequired, kQualityOptional};

constexpr Key kMaskRequired[] = {
    {"task_id", Type::kU32},     {"name", Type::kString},
    {"sparsity", Type::kNumber}, {"blob_off", Type::kU32},
    {"blob_len", Type::kU32},    {.name = "priority", .type = Type::kChoice, .choices = kPriorities}};
constexpr Key kMaskOptional[] = {{"description", Type::kString},
                                 {.name = "quality", .type = Type::kRecord, .record = &kQuality},
                                 {"has_hot_pack", Type::kBoolean},
                                 {"has_expert_fields", Type::kBoolean}};
constexpr Record kMask{kMaskRequired, kMaskOptional};

constexpr Key kMetaRequired[] = {{"default_task", Type::kString},
                                 {.name = "masks", .type = Type::kRecord, .list = true, .record = &kMask}};
constexpr Record kMeta{kMetaRequired};

/// Rows of equal width in a blob.
struct Field {
  std::string_view name;
  uint64_t rows = 0;
  uint64_t bits = 0;
  bool per_head = false;  ///< a row's meaningful bits are its own layer's heads
};

std::vector<Field> fields_of(const ArchDimensions& arch, bool loop_masks, bool experts) {
  uint64_t heads = arch.num_attention_heads;
  for (const uint32_t count : arch.heads_per_layer) heads = std::max<uint64_t>(heads, count);
  const uint64_t visits = uint64_t{arch.num_layers} * (loop_masks ? arch.num_loops : 1);  // 32 x 32 bits
  std::vector<Field> fields = {{"ffn", visits, arch.intermediate_size},
                               {"heads", arch.num_layers, heads, !arch.heads_per_layer.empty()},
                               {"gates", 1, arch.num_layers}};
  if (experts) fields.push_back({"experts", arch.num_layers, arch.num_experts.value_or(0)});
  return fields;
}

std::optional<uint64_t> bytes_of(std::span<const Field> fields) {
  uint64_t sum = 0;
  for (const Field& field : fields) {
    const auto bytes = checked_mul(field.rows, divide_rounding_up(field.bits, 8));
    const auto next = bytes ? checked_add(sum, *bytes) : std::nullopt;
    if (!next) return std::nullopt;
    sum = *next;
  }
  return sum;
}

class MasksReader {
 public:
  MasksReader(Bytes section, uint64_t offset, const ArchDimensions& arch, bool loop_masks)
      : section_(section), offset_(offset), arch_(arch), loop_masks_(loop_masks) {}

  Checked<Masks> read() {
    if (section_.size() < kHeadBytes) return bad(Code::kParse, 0, "shorter than 8 bytes");
    ByteReader in(section_);
    const auto count = in.read<uint32_t>();
    const auto meta_bytes = in.read<uint32_t>();
    const Bytes meta = in.take(meta_bytes);
    if (!in.ok()) return bad(Code::kBounds, 4, "the meta passes the end of the section");
    Masks masks;
    masks.num_layers = arch_.num_layers;
    masks.loop_masks = loop_masks_;
    masks.meta_end = kHeadBytes + meta_bytes;
    AMPHORA_ASSIGN(masks.meta, read_record(as_text(meta), meta_place(), kMeta));
    masks.default_task = masks.meta.find("default_task")->text();
    const std::vector<json::Value>& list = masks.meta.find("masks")->items();
    if (count != list.size())
      return bad(Code::kParse, 0,
                 "n_masks is " + std::to_string(count) + ", the meta has " + std::to_string(list.size()));
    for (size_t i = 0; i < list.size(); ++i) {
      AMPHORA_ASSIGN(Mask mask, read_mask(list[i], path_of(i), masks.meta_end));
      masks.masks.push_back(std::move(mask));
    }
    AMPHORA_TRY(check_disjoint(masks.masks));
    for (size_t i = 0; i < masks.masks.size(); ++i) AMPHORA_TRY(check_tails(masks.masks[i], path_of(i)));
    for (Mask& mask : masks.masks) place_bits(mask);
    return masks;
  }

 private:
  JsonPlace meta_place() const { return {Section::kMasks, offset_ + kHeadBytes}; }
  static std::string path_of(size_t i) { return "$.masks[" + std::to_string(i) + "]"; }
  std::unexpected<Finding> bad(Code code, uint64_t at, std::string message) const {
    return fault(code, Section::kMasks, offset_ + at, std::move(message));
  }

  Checked<Mask> read_mask(const json::Value& value, const std::string& path, uint64_t meta_end) {
    const auto flag = [&](std::string_view key) {
      const json::Value* found = value.find_present(key);
      return found && found->as_bool();
    };
    Mask mask{.task_id = u32_of(*value.find("task_id")),
              .name = value.find("name")->text(),
              .description = find_text(value, "description"),
              .priority = value.find("priority")->text(),
              .sparsity = value.find("sparsity")->as_double(),
              .measured = value.find_present("quality") != nullptr,
              .has_expert_fields = flag("has_expert_fields"),
              .blob_offset = u32_of(*value.find("blob_off")),
              .blob_bytes = u32_of(*value.find("blob_len"))};
    const auto wrong = [&](Code code, std::string_view key, std::string message) {
      return json_fault(code, meta_place(), path + "." + std::string(key), std::move(message));
    };
    if (mask.name.empty() || !names_.insert(mask.name).second)
      return wrong(Code::kParse, "name", "mask names are unique and not empty");
    if (!task_ids_.insert(mask.task_id).second) return wrong(Code::kParse, "task_id", "task ids are unique");
    if (!(mask.sparsity >= 0 && mask.sparsity <= 1)) return wrong(Code::kParse, "sparsity", "outside 0 … 1");
    if (flag("has_hot_pack")) return wrong(Code::kParse, "has_hot_pack", "hot packs are reserved");
    if (mask.has_expert_fields && !arch_.num_experts)
      return wrong(Code::kMissing, "has_expert_fields", "expert fields need arch.moe");
    const auto wanted = bytes_of(fields_of(arch_, loop_masks_, mask.has_expert_fields));
    if (wanted != mask.blob_bytes)
      return wrong(Code::kBounds, "blob_len",
                   std::to_string(mask.blob_bytes) + " bytes, the architecture asks for " +
                       (wanted ? std::to_string(*wanted) : std::string("more than 2^64")));
    if (mask.blob_offset % kBlobAlignment != 0)
      return wrong(Code::kBounds, "blob_off", "not a multiple of 8");
    if (mask.blob_offset < meta_end || !lies_within(mask.blob_offset, mask.blob_bytes, section_.size()))
      return wrong(Code::kBounds, "blob_off", "the blob lies outside the section or inside the meta");
    return mask;
  }

  Checked<void> check_disjoint(std::span<const Mask> masks) const {
    std::vector<size_t> order(masks.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](size_t i) {
      return std::tuple(masks[i].blob_offset, masks[i].blob_offset + masks[i].blob_bytes, i);
    });
    for (size_t k = 1; k < order.size(); ++k) {
      const Mask& before = masks[order[k - 1]];
      if (masks[order[k]].blob_offset < before.blob_offset + before.blob_bytes)
        return json_fault(Code::kBounds, meta_place(),
                          path_of(std::max(order[k - 1], order[k])) + ".blob_off",
                          "the blob overlaps another one");
    }
    return {};
  }

  Checked<void> check_tails(const Mask& mask, const std::string& path) const {
    uint64_t at = mask.blob_offset;
    for (const Field& field : fields_of(arch_, loop_masks_, mask.has_expert_fields)) {
      const uint64_t row_bytes = divide_rounding_up(field.bits, 8);
      if (row_bytes == 0) continue;  // then the number of rows is not bounded by the section's size
      for (uint64_t row = 0; row < field.rows; ++row, at += row_bytes) {
        const uint64_t meaningful = field.per_head ? arch_.heads_per_layer[row] : field.bits;
        if (const auto byte = first_set_byte(at, meaningful, row_bytes))
          return json_fault(
              Code::kParse, {Section::kMasks, offset_ + *byte}, path,
              std::string(field.name) + " row " + std::to_string(row) + ": bits behind the last one are set");
      }
    }
    return {};
  }

  /// Points the mask's fields to their rows; the blob is as long as they say.
  void place_bits(Mask& mask) const {
    MaskBits* const views[] = {&mask.ffn, &mask.heads, &mask.gates, &mask.experts};
    uint64_t at = mask.blob_offset;
    size_t next = 0;
    for (const Field& field : fields_of(arch_, loop_masks_, mask.has_expert_fields)) {
      const uint64_t bytes = field.rows * divide_rounding_up(field.bits, 8);
      *views[next++] = MaskBits(section_.subspan(at, bytes), field.rows, field.bits);
      at += bytes;
    }
  }

  /// The first byte of a row in which a bit from `meaningful` on is set.
  std::optional<uint64_t> first_set_byte(uint64_t at, uint64_t meaningful, uint64_t row_bytes) const {
    for (uint64_t i = meaningful / 8; i < row_bytes; ++i) {
      auto bits = std::to_integer<uint32_t>(section_[at + i]);
      if (i == meaningful / 8) bits >>= meaningful % 8;
      if (bits != 0) return at + i;
    }
    return std::nullopt;
  }

  Bytes section_;
  uint64_t offset_;
  const ArchDimensions& arch_;
  bool loop_masks_;
  std::unordered_set<std::string> names_;
  std::unordered_set<uint32_t> task_ids_;
};

}  // namespace

const Record& masks_schema() { return kMeta; }

Bytes MaskBits::row_bytes(uint64_t row) const {
  const uint64_t bytes = divide_rounding_up(width_, 8);
  return row < rows_ && bytes != 0 ? bytes_.subspan(row * bytes, bytes) : Bytes();
}

bool MaskBits::test(uint64_t row, uint64_t bit) const {
  const Bytes bytes = row_bytes(row);
  return bit < width_ && !bytes.empty() &&
         ((std::to_integer<uint32_t>(bytes[bit / 8]) >> (bit % 8)) & 1u) != 0;
}

uint64_t MaskBits::count(uint64_t row) const {
  uint64_t count = 0;  // bits behind the last meaningful one are zero
  for (const std::byte byte : row_bytes(row))
    count += static_cast<uint64_t>(std::popcount(std::to_integer<uint8_t>(byte)));
  return count;
}

uint64_t MaskBits::count() const {
  uint64_t count = 0;
  for (const std::byte byte : bytes_)
    count += static_cast<uint64_t>(std::popcount(std::to_integer<uint8_t>(byte)));
  return count;
}

const Mask* Masks::find(std::string_view name) const {
  const auto found = std::ranges::find(masks, name, &Mask::name);
  return found == masks.end() ? nullptr : &*found;
}

Checked<Masks> decode_masks(Bytes section, uint64_t offset, const ArchDimensions& arch, bool loop_masks) {
  return MasksReader(section, offset, arch, loop_masks).read();
}

std::optional<uint64_t> find_masks_padding_fault(Bytes section, const Masks& masks) {
  std::vector<std::pair<uint64_t, uint64_t>> owned;
  for (const Mask& mask : masks.masks)
    owned.emplace_back(mask.blob_offset, mask.blob_offset + mask.blob_bytes);
  std::ranges::sort(owned);
  owned.emplace_back(section.size(), section.size());
  uint64_t at = masks.meta_end;
  for (const auto& [begin, end] : owned) {
    for (; at < begin; ++at)
      if (section[at] != std::byte{0}) return at;
    at = std::max(at, end);
  }
  return std::nullopt;
}

}  // namespace amphora::cmf
