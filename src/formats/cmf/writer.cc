// Lays a new CMF file out, then streams payloads into it; the directory and the envelope come last.
#include "formats/cmf/writer.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_set>

#include "base/checked.h"
#include "base/file.h"
#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "formats/cmf/directory.h"
#include "formats/cmf/envelope.h"
#include "formats/cmf/header.h"
#include "formats/cmf/layout.h"
#include "formats/cmf/masks.h"
#include "formats/cmf/skills.h"
#include "formats/cmf/sparse_index.h"
#include "quant/codec.h"
#include "unicode/utf8.h"

namespace amphora::cmf {
namespace {

constexpr uint64_t kMaxNameBytes = UINT16_MAX;
constexpr uint64_t kMaxFileBytes = uint64_t{1} << 62;  ///< so that no sum below can wrap

std::unexpected<Error> refuse(std::string place, std::string message) {
  return fail_at(Fault::kRefused, {}, std::move(place), std::nullopt, std::move(message));
}

template <class T>
Result<T> as_result(Checked<T> checked) {
  if (!checked) {
    Error error = to_error(checked.error());
    error.offset.reset();  // nothing has been written yet: an offset into the file would point nowhere
    return std::unexpected(std::move(error));
  }
  if constexpr (std::is_void_v<T>)
    return {};
  else
    return *std::move(checked);
}

struct SectionBytes {
  Section section;
  Bytes bytes;
};

std::array<SectionBytes, 3> sections_of(const NewFile& file) {
  return {{{Section::kMasks, file.masks},
           {Section::kVocabulary, file.tokenizer_json},
           {Section::kIndex, file.index}}};
}

/// `section_hashes` for the sections that the file has, behind all other keys; unknown keys of the block
/// stay.
void set_section_hashes(json::Value& header, const NewFile& file) {
  const json::Value* old = header.find_present("section_hashes");
  json::Value hashes = old && old->is_object() ? *old : json::Value::object();
  for (const auto& [section, bytes] : sections_of(file)) {
    if (bytes.empty())
      hashes.erase(name_of(section));
    else
      hashes.set(name_of(section), json::Value::string(crypto::to_hex(crypto::hash64(bytes))));
  }
  header.erase("section_hashes");
  if (!hashes.members().empty()) header.set("section_hashes", std::move(hashes));
}

uint32_t features_of(const NewFile& file, std::span<const SkillRecord> skills) {
  const bool has_2f = calls_for_quant_2f(file.tensors);
  return kTensorDirectory | (file.masks.empty() ? 0 : kBinaryMasks) | (has_2f ? kQuant2F : 0) |
         (file.loop_masks ? kLoopMasks : 0) | (is_skill_file(skills) ? kSkillFile : 0);
}

/// Everything about the new file that is known before its payloads.
struct Plan {
  std::string header_text;
  Envelope envelope;
  std::vector<std::string> names;  ///< what the records' names point to
  std::vector<TensorRecord> tensors;
  uint64_t file_bytes = 0;
};

/// Tensors in order, each behind the one before; offsets count from the start of the data section.
Result<uint64_t> plan_tensors(const NewFile& file, Plan& plan) {
  std::unordered_set<std::string_view> seen;
  uint64_t data_bytes = 0, pool_bytes = 0;
  plan.names.reserve(file.tensors.size());  // no reallocation: records point into it
  plan.tensors.reserve(file.tensors.size());
  for (const NewTensor& tensor : file.tensors) {
    AMPHORA_ASSIGN(const uint64_t bytes, payload_bytes_of(tensor));
    const std::string& name = plan.names.emplace_back(tensor.name);
    if (!seen.insert(name).second) return refuse(name, "two tensors have this name");
    const uint64_t offset = align_payload(data_bytes, bytes);
    plan.tensors.push_back(
        {.name = name, .dtype = tensor.dtype, .shape = tensor.shape, .offset = offset, .bytes = bytes});
    data_bytes = offset + bytes;
    pool_bytes += name.size();
    if (data_bytes > kMaxFileBytes || pool_bytes > UINT32_MAX)
      return refuse(name, "the file would be too large");
  }
  plan.envelope.place(Section::kDirectory).bytes =
      kDirectoryHeadBytes + kRecordBytes * plan.tensors.size() + pool_bytes;
  return data_bytes;
}

/// What a reader would ask of header and sections, before anything is written.
Status check_content(const json::Value& header, const NewFile& file, Plan& plan) {
  AMPHORA_TRY(as_result(decode_header(as_bytes(plan.header_text), kEnvelopeBytes)));
  const ArchDimensions arch = dimensions_of(header);
  if (file.loop_masks && file.masks.empty()) return refuse("masks", "loop masks without a masks section");
  std::optional<Masks> masks;
  if (!file.masks.empty()) {
    AMPHORA_ASSIGN(masks, as_result(decode_masks(file.masks, 0, arch, file.loop_masks)));
  }
  const Masks* known_masks = masks ? &*masks : nullptr;
  if (!file.index.empty()) AMPHORA_TRY(as_result(decode_index(file.index, 0, arch, known_masks)));
  AMPHORA_ASSIGN(const std::vector<SkillRecord> skills,
                 as_result(decode_skills(header, 0, arch, known_masks, plan.tensors)));
  plan.envelope.features = features_of(file, skills);
  return as_result(check_shard_sections(header, plan.envelope));
}

Result<Plan> plan_file(const NewFile& file) {
  json::Value header = file.header;
  set_section_hashes(header, file);
  Plan plan{.header_text = json::dump(header), .envelope = {}, .names = {}, .tensors = {}};
  AMPHORA_ASSIGN(const uint64_t data_bytes, plan_tensors(file, plan));
  Envelope& envelope = plan.envelope;
  envelope.place(Section::kHeader) = {kEnvelopeBytes, plan.header_text.size()};
  envelope.place(Section::kDirectory).offset =
      align(envelope.place(Section::kHeader).end(), kSectionAlignment);
  const uint64_t data_offset = align(envelope.place(Section::kDirectory).end(), kPage);
  envelope.place(Section::kData) = {data_offset, data_bytes};
  for (TensorRecord& tensor : plan.tensors) tensor.offset += data_offset;
  plan.file_bytes = data_offset + data_bytes;
  for (const auto& [section, bytes] : sections_of(file)) {
    if (bytes.empty()) continue;
    envelope.place(section) = {align(plan.file_bytes, kSectionAlignment), bytes.size()};
    plan.file_bytes = envelope.place(section).end();
  }
  envelope.header_hash = crypto::hash64(as_bytes(plan.header_text));
  AMPHORA_TRY(check_content(header, file, plan));
  return plan;
}

}  // namespace

Result<uint64_t> payload_bytes_of(const NewTensor& tensor) {
  if (tensor.name.empty() || tensor.name.size() > kMaxNameBytes || !unicode::is_utf8(tensor.name))
    return refuse(tensor.name, "a tensor's name is 1 to 65535 bytes of UTF-8");
  const quant::Codec* codec = quant::find_codec(tensor.dtype);
  if (!codec) return refuse(tensor.name, "unknown dtype");
  const auto fits = [](uint64_t dimension) { return dimension <= UINT32_MAX; };
  if (tensor.shape.size() > kMaxRank || !std::ranges::all_of(tensor.shape, fits) ||
      !quant::element_count(tensor.shape))
    return refuse(tensor.name,
                  "a shape has at most 6 dimensions of less than 2^32 and fewer than 2^63 elements");
  if (const Status place = codec->check_place(tensor.name, tensor.shape); !place)
    return refuse(tensor.name, std::string(codec->name) + ": " + place.error().message);
  const auto bytes = codec->payload_bytes ? codec->payload_bytes(tensor.shape) : tensor.bytes;
  if (!bytes || (tensor.bytes && tensor.bytes != bytes) || *bytes > kMaxFileBytes)
    return refuse(tensor.name, "the payload size is missing or not that of dtype and shape");
  return *bytes;
}

Status check_new_file(const NewFile& file) {
  AMPHORA_TRY(plan_file(file));
  return {};
}

void promise_canonical_layout(json::Value& provenance) {
  provenance.set("layout", json::Value::string("canonical"));
}

bool promises_canonical_layout(const json::Value& header) {
  const json::Value* provenance = header.find_present("provenance");
  const json::Value* layout = provenance == nullptr ? nullptr : provenance->find_present("layout");
  return layout != nullptr && layout->is_string() && layout->text() == "canonical";
}

std::string_view quant_type_of(std::span<const NewTensor> tensors) {
  const auto name = [](DType dtype) -> std::string_view {
    switch (dtype) {
      case DType::kF32: return "F32";
      case DType::kBF16: return "BF16";
      case DType::kQ8Row: return "Q8_ROW";
      case DType::kQ82F: return "Q8_2F";
      case DType::kQ4Block:
      case DType::kQ4Tiled:
      case DType::kQ4TP:
      case DType::kQ2TP: return "Q4_BLOCK";
      case DType::kVbit:
      case DType::kVbitRo:
      case DType::kQ1:
      case DType::kQ1S:
      case DType::kQ1T: return "VBIT";
      case DType::kF16:
      case DType::kU8: break;
    }
    return "F16";
  };
  std::map<DType, uint64_t> counts;
  for (const NewTensor& tensor : tensors)
    if (tensor.shape.size() == 2) ++counts[tensor.dtype];
  const auto commonest = std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  return name(commonest == counts.end() ? DType::kF16 : commonest->first);
}

struct CmfWriter::State {
  AtomicFile file;
  Plan plan;
  size_t current = 0;        ///< the tensor whose payload is being written
  uint64_t written = 0;      ///< bytes of it
  crypto::Hash64 hash = {};  ///< of them

  /// Closes the current tensor if it is complete, and empty ones behind it.
  void advance() {
    while (current < plan.tensors.size() && written == plan.tensors[current].bytes) {
      plan.tensors[current].hash = hash.value();
      hash = {};
      written = 0;
      ++current;
    }
  }
};

CmfWriter::CmfWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CmfWriter::CmfWriter(CmfWriter&&) noexcept = default;
CmfWriter& CmfWriter::operator=(CmfWriter&&) noexcept = default;
CmfWriter::~CmfWriter() = default;

uint64_t CmfWriter::file_bytes() const { return state_->plan.file_bytes; }

Result<CmfWriter> CmfWriter::create(const std::filesystem::path& path, const NewFile& file) {
  AMPHORA_ASSIGN(Plan plan, plan_file(file));
  AMPHORA_ASSIGN(AtomicFile out, AtomicFile::create(path));
  // The last byte first: gaps are holes, which read as zeros, also before an end without a payload.
  constexpr std::array<std::byte, 1> kZero{};
  AMPHORA_TRY(out.write_at(plan.file_bytes - 1, kZero));
  AMPHORA_TRY(out.write_at(kEnvelopeBytes, as_bytes(plan.header_text)));
  for (const auto& [section, bytes] : sections_of(file))
    if (!bytes.empty()) AMPHORA_TRY(out.write_at(plan.envelope.place(section).offset, bytes));
  auto state = std::make_unique<State>(std::move(out), std::move(plan));
  state->advance();
  return CmfWriter(std::move(state));
}

Status CmfWriter::write(std::string_view name, Bytes part) {
  if (part.empty()) return {};
  const std::vector<TensorRecord>& tensors = state_->plan.tensors;
  if (state_->current == tensors.size() || tensors[state_->current].name != name)
    return refuse(std::string(name), "the payload is not the one that comes next");
  const TensorRecord& tensor = tensors[state_->current];
  if (part.size() > tensor.bytes - state_->written)
    return refuse(std::string(name), "more bytes than declared");
  AMPHORA_TRY(state_->file.write_at(tensor.offset + state_->written, part));
  state_->hash.update(part);
  state_->written += part.size();
  state_->advance();
  return {};
}

bool CmfWriter::complete() const { return state_->current == state_->plan.tensors.size(); }

Status CmfWriter::finish() {
  AMPHORA_TRY(seal());
  return commit();
}

Status CmfWriter::seal() {
  Plan& plan = state_->plan;
  if (!complete())
    return refuse(std::string(plan.tensors[state_->current].name), "the payload is not complete");
  Envelope& envelope = plan.envelope;
  const ByteVector directory = encode_directory(plan.tensors, envelope.place(Section::kData).offset);
  envelope.directory_hash = crypto::hash64(directory);
  AMPHORA_TRY(state_->file.write_at(envelope.place(Section::kDirectory).offset, directory));
  return state_->file.write_at(0, encode_envelope(envelope));
}

Status CmfWriter::commit() { return state_->file.commit(); }

}  // namespace amphora::cmf
