// Growth of a CMF file: everything is checked, then written behind the old end, then the envelope changes.
#include "formats/cmf/growth.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <unordered_set>

#include "base/checked.h"
#include "crypto/hash64.h"
#include "formats/cmf/layout.h"
#include "quant/codec.h"

namespace amphora::cmf {
namespace {

std::unexpected<Error> refuse(std::string place, std::string message) {
  return fail_at(Fault::kRefused, {}, std::move(place), std::nullopt, std::move(message));
}

/// A reader's finding about what has not been written yet: an offset into the file would point nowhere.
std::unexpected<Error> refuse(const Finding& finding) {
  Error error = to_error(finding);
  error.offset.reset();
  return std::unexpected(std::move(error));
}

json::Value without_layout_promise(json::Value header) {
  if (promises_canonical_layout(header)) header.find("provenance")->erase("layout");
  return header;
}

/// Size, tables and contents of a payload, as `verify` will see them.
Status check_payload(const AppendedTensor& appended) {
  NewTensor tensor = appended.tensor;
  tensor.bytes = appended.payload.size();
  AMPHORA_TRY(payload_bytes_of(tensor));
  const quant::Codec* codec = quant::find_codec(tensor.dtype);
  for (const auto check : {codec->check_tables, codec->check_payload}) {
    if (!check) continue;
    if (const Status status = check(appended.payload, tensor.shape); !status)
      return refuse("data " + tensor.name, status.error().message);
  }
  return {};
}

/// Where the data window begins: a file that never had a payload may have it at 0, where no tensor can lie.
uint64_t data_offset_of(const CmfFile& file) {
  const uint64_t offset = file.envelope().place(Section::kData).offset;
  return offset < kEnvelopeBytes ? align(file.bytes().size(), kPage) : offset;
}

/// The old records and behind them the new ones. Their names point into file and growth.
Result<std::vector<TensorRecord>> plan_tensors(const CmfFile& file, const Growth& growth, GrowthPlan& plan) {
  std::vector<TensorRecord> tensors(file.tensors().begin(), file.tensors().end());
  Span& window = plan.envelope.place(Section::kData);
  window.offset = data_offset_of(file);
  for (TensorRecord& tensor : tensors) tensor.offset = std::max(tensor.offset, window.offset);
  std::unordered_set<std::string_view> seen;
  for (const AppendedTensor& appended : growth.tensors) {
    const NewTensor& tensor = appended.tensor;
    AMPHORA_TRY(check_payload(appended));
    if (file.find(tensor.name) || !seen.insert(tensor.name).second)
      return refuse(tensor.name, "the file already has a tensor of this name");
    const uint64_t bytes = appended.payload.size();
    const uint64_t end = tensors.size() == file.tensors().size() ? file.bytes().size() : window.end();
    const uint64_t place = end <= window.offset ? 0 : end - window.offset;
    const uint64_t offset = window.offset + align_payload(place, bytes);
    tensors.push_back({.name = tensor.name,
                       .dtype = tensor.dtype,
                       .shape = tensor.shape,
                       .offset = offset,
                       .bytes = bytes,
                       .hash = crypto::hash64(appended.payload)});
    if (bytes != 0) plan.payloads.push_back({offset, appended.payload});
    window.bytes = offset + bytes - window.offset;
  }
  uint64_t pool_bytes = 0;
  for (const TensorRecord& tensor : tensors) pool_bytes += tensor.name.size();
  if (pool_bytes > UINT32_MAX) return refuse("dir", "the names would be too long for a directory");
  return tensors;
}

Status check_section_hashes(const json::Value& old_header, const json::Value& header) {
  for (const Section section : {Section::kMasks, Section::kVocabulary, Section::kIndex})
    if (section_hash_of(old_header, section) != section_hash_of(header, section))
      return refuse("header $.section_hashes." + std::string(name_of(section)),
                    "a growth leaves the section and its hash as they are");
  return {};
}

/// Masks, index and skills as a reader of the grown file will judge them.
Status check_content(const CmfFile& file, const json::Value& header, std::span<const TensorRecord> tensors,
                     Envelope& envelope) {
  const ArchDimensions arch = dimensions_of(header);
  std::optional<Masks> masks;
  if (const Bytes section = file.section(Section::kMasks); !section.empty()) {
    auto checked = decode_masks(section, 0, arch, (envelope.features & kLoopMasks) != 0);
    if (!checked) return refuse(checked.error());
    masks = *std::move(checked);
  }
  const Masks* known_masks = masks ? &*masks : nullptr;
  if (const Bytes section = file.section(Section::kIndex); !section.empty())
    if (const auto checked = decode_index(section, 0, arch, known_masks); !checked)
      return refuse(checked.error());
  const auto skills = decode_skills(header, 0, arch, known_masks, tensors);
  if (!skills) return refuse(skills.error());
  const bool has_2f = calls_for_quant_2f(tensors);
  envelope.features = (envelope.features & ~(kQuant2F | kSkillFile)) | (has_2f ? kQuant2F : 0) |
                      (is_skill_file(*skills) ? kSkillFile : 0);
  if (const auto checked = check_shard_sections(header, envelope); !checked) return refuse(checked.error());
  return {};
}

Status write_tail(const GrowthPlan& plan, GrowthStorage& storage) {
  for (const GrowthPlan::Part& part : plan.payloads) AMPHORA_TRY(storage.write_at(part.offset, part.bytes));
  AMPHORA_TRY(storage.write_at(plan.envelope.place(Section::kDirectory).offset, plan.directory));
  AMPHORA_TRY(storage.write_at(plan.envelope.place(Section::kHeader).offset, as_bytes(plan.header_text)));
  return storage.sync();
}

/// A file open for growth, with nobody else growing it.
class LockedFile final : public GrowthStorage {
 public:
  explicit LockedFile(std::filesystem::path path) : path_(std::move(path)) {}
  ~LockedFile() override {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  Status open() {
    // O_NONBLOCK: opening a FIFO must not wait; for regular files it means nothing.
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (descriptor_ < 0) return system_error("open");
    struct stat status{};
    if (::fstat(descriptor_, &status) != 0) return system_error("read the size of");
    if (!S_ISREG(status.st_mode))
      return fail(Fault::kIo, "cannot grow " + path_.string() + ": not a regular file");
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return {};
    if (errno != EWOULDBLOCK) return system_error("lock");
    return fail(Fault::kRefused, path_.string() + " is being changed by another process");
  }

  /// Whether path, size and envelope are still those of the file that was opened for reading.
  Status check_unchanged(const CmfFile& file) const {
    struct stat named{}, opened{};
    if (::stat(path_.c_str(), &named) != 0 || ::fstat(descriptor_, &opened) != 0)
      return system_error("read the size of");
    std::array<std::byte, kEnvelopeBytes> envelope{};
    if (::pread(descriptor_, envelope.data(), envelope.size(), 0) < 0) return system_error("read");
    if (named.st_ino != opened.st_ino || named.st_dev != opened.st_dev ||
        static_cast<uint64_t>(opened.st_size) != file.bytes().size() ||
        envelope != encode_envelope(file.envelope()))
      return fail(Fault::kRefused, path_.string() + " has changed since it was opened");
    return {};
  }

  Status write_at(uint64_t offset, Bytes bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error("write");
      bytes = bytes.subspan(static_cast<size_t>(written));
      offset += static_cast<uint64_t>(written);
    }
    return {};
  }

  Status sync() override {
    if (::fsync(descriptor_) != 0) return system_error("flush");
    return {};
  }

  Status truncate(uint64_t bytes) override {
    if (::ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0) return system_error("cut");
    return {};
  }

 private:
  std::unexpected<Error> system_error(std::string_view what) const {
    const int error = errno;
    return fail(error == ENOENT || error == ENOTDIR ? Fault::kNotFound : Fault::kIo,
                "cannot " + std::string(what) + " " + path_.string() + ": " + std::strerror(error));
  }

  std::filesystem::path path_;
  int descriptor_ = -1;
};

}  // namespace

Result<GrowthPlan> plan_growth(const CmfFile& file, const Growth& growth) {
  GrowthPlan plan{.payloads = {},
                  .directory = {},
                  .header_text = json::dump(without_layout_promise(growth.header)),
                  .envelope = file.envelope(),
                  .old_envelope = file.envelope(),
                  .old_file_bytes = file.bytes().size()};
  const auto header = decode_header(as_bytes(plan.header_text), 0);
  if (!header) return refuse(header.error());
  AMPHORA_TRY(check_section_hashes(file.header(), *header));
  AMPHORA_ASSIGN(const std::vector<TensorRecord> tensors, plan_tensors(file, growth, plan));
  Envelope& envelope = plan.envelope;
  AMPHORA_TRY(check_content(file, *header, tensors, envelope));
  plan.directory = encode_directory(tensors, envelope.place(Section::kData).offset);
  const uint64_t payloads_end = std::max(plan.old_file_bytes, envelope.place(Section::kData).end());
  envelope.place(Section::kDirectory) = {align(payloads_end, kSectionAlignment), plan.directory.size()};
  envelope.place(Section::kHeader) = {align(envelope.place(Section::kDirectory).end(), kSectionAlignment),
                                      plan.header_text.size()};
  envelope.directory_hash = crypto::hash64(plan.directory);
  envelope.header_hash = crypto::hash64(as_bytes(plan.header_text));
  return plan;
}

Status write_growth(const GrowthPlan& plan, GrowthStorage& storage) {
  if (Status tail = write_tail(plan, storage); !tail) {
    (void)storage.truncate(plan.old_file_bytes);  // bytes behind the end mean nothing: no harm if they stay
    return tail;
  }
  if (Status step = storage.write_at(0, encode_envelope(plan.envelope)); !step) {
    // A part of it may stand in the file: the tail may go only when the old one is back for certain.
    if (storage.write_at(0, encode_envelope(plan.old_envelope)) && storage.sync())
      (void)storage.truncate(plan.old_file_bytes);
    return step;
  }
  return storage
      .sync();  // if it fails, either envelope may be on the medium, and each is that of a whole file
}

Status grow(const std::filesystem::path& path, const CmfFile& file, const Growth& growth) {
  LockedFile out(path);
  AMPHORA_TRY(out.open());
  AMPHORA_TRY(out.check_unchanged(file));
  AMPHORA_ASSIGN(const GrowthPlan plan, plan_growth(file, growth));
  return write_growth(plan, out);
}

}  // namespace amphora::cmf
