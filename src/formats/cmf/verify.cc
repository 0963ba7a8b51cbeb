// The chain of checks behind open: one function per link, in the order in which findings are reported.
#include "formats/cmf/verify.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/page_advice.h"
#include "base/thread_pool.h"
#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "formats/cmf/layout.h"
#include "formats/cmf/signing.h"
#include "formats/cmf/writer.h"
#include "quant/codec.h"

namespace amphora::cmf {
namespace {

constexpr uint64_t kHashedPortion = uint64_t{16} << 20;
/// A payload of up to this size stays resident between its hash and its rules.
constexpr uint64_t kResident = uint64_t{64} << 20;

class Verifier {
 public:
  Verifier(const CmfFile& file, const VerifyOptions& options)
      : file_(file), progress_(options.progress), release_pages_(options.release_pages) {
    for (const Section section : kPlacedSections)
      if (section != Section::kData) total_ += file.section(section).size();
    for (const TensorRecord& tensor : file.tensors()) total_ += tensor.bytes;
  }

  std::vector<Finding> run() {
    check_envelope_hash(Section::kHeader, kHeaderHashField, file_.envelope().header_hash);
    check_envelope_hash(Section::kDirectory, kDirectoryHashField, file_.envelope().directory_hash);
    for (const Section section : {Section::kMasks, Section::kVocabulary, Section::kIndex})
      check_section_hash(section);
    for (const TensorRecord& tensor : file_.tensors()) check_tensor(tensor);
    check_padding();
    check_feature_bits();
    check_dead_bytes();
    check_layout();
    return std::move(findings_);
  }

 private:
  void add(Code code, Section section, uint64_t offset, std::string message, std::string_view tensor = {}) {
    findings_.push_back({code, section, offset, std::move(message), std::string(tensor), {}});
  }

  uint64_t hash(Bytes bytes) {
    crypto::Hash64 hash;
    for (uint64_t done = 0; done < bytes.size();) {
      const uint64_t count = std::min<uint64_t>(kHashedPortion, bytes.size() - done);
      hash.update(bytes.subspan(done, count));
      if (bytes.size() > kResident) release(bytes.subspan(done, count));
      done += count;
      done_ += count;
      if (progress_) progress_(done_, total_);
    }
    return hash.value();
  }

  void release(Bytes bytes) const {
    if (release_pages_) amphora::release_pages(bytes);
  }

  static std::string mismatch(uint64_t found, uint64_t recorded) {
    return "hash64 is " + crypto::to_hex(found) + ", recorded is " + crypto::to_hex(recorded);
  }

  void check_envelope_hash(Section section, uint64_t field, uint64_t recorded) {
    const uint64_t found = hash(file_.section(section));
    if (recorded == 0) return add(Code::kNoHash, section, field, "the envelope records no hash");
    if (found != recorded) add(Code::kHash, section, field, mismatch(found, recorded));
  }

  void check_section_hash(Section section) {
    const Bytes bytes = file_.section(section);
    const auto recorded = section_hash_of(file_.header(), section);
    const uint64_t found = hash(bytes);
    const uint64_t offset = file_.envelope().place(section).offset;
    if (!recorded) {
      if (!bytes.empty()) add(Code::kNoHash, section, offset, "the header records no hash");
    } else if (bytes.empty()) {
      add(Code::kStrayHash, section, file_.envelope().place(Section::kHeader).offset,
          "the header records a hash of a section that is not there");
    } else if (found != *recorded) {
      add(Code::kHash, section, offset, mismatch(found, *recorded));
    }
  }

  void check_tensor(const TensorRecord& tensor) {
    const Bytes payload = file_.payload(tensor);
    const uint64_t found = hash(payload);
    if (found != tensor.hash)
      add(Code::kHash, Section::kData, tensor.offset, mismatch(found, tensor.hash), tensor.name);
    const quant::Codec* codec = quant::find_codec(tensor.dtype);
    if (codec->check_payload)
      if (const Status status = codec->check_payload(payload, tensor.shape); !status)
        add(Code::kParse, Section::kData, tensor.offset + status.error().offset.value_or(0),
            status.error().message, tensor.name);
    release(payload);
  }

  void check_padding() {
    const Envelope& envelope = file_.envelope();
    if (file_.masks())
      if (const auto at = find_masks_padding_fault(file_.section(Section::kMasks), *file_.masks()))
        add(Code::kParse, Section::kMasks, envelope.place(Section::kMasks).offset + *at,
            "padding is not zero");
    if (const auto at = find_index_padding_fault(file_.section(Section::kIndex), file_.index()))
      add(Code::kParse, Section::kIndex, envelope.place(Section::kIndex).offset + *at, "padding is not zero");
  }

  void check_feature_bits() {
    const bool has_2f = calls_for_quant_2f(file_.tensors());
    const uint32_t features = file_.envelope().features;
    if (((features & kQuant2F) != 0) != has_2f)
      add(Code::kFeatureBit, Section::kEnvelope, kFeaturesField, "QUANT_2F does not match the dtypes");
    if (((features & kSkillFile) != 0) != file_.is_skill_file())
      add(Code::kFeatureBit, Section::kEnvelope, kFeaturesField,
          "SKILL_FILE does not match the skill records");
    if ((features & kLoopMasks) != 0 && dimensions_of(file_.header()).num_loops == 1)
      add(Code::kFeatureBit, Section::kEnvelope, kFeaturesField, "LOOP_MASKS is set, the layers run once");
  }

  struct Nonzero {
    uint64_t count = 0, first = 0;
  };
  /// The nonzero bytes of `range` that no tensor and none of `sections` owns.
  Nonzero unowned_bytes(const Span& range, std::span<const Section> sections) const {
    std::vector<Span> owned;
    owned.reserve(file_.tensors().size() + sections.size() + 2);
    owned.push_back({0, kEnvelopeBytes});
    for (const TensorRecord& tensor : file_.tensors()) owned.push_back({tensor.offset, tensor.bytes});
    for (const Section section : sections) owned.push_back(file_.envelope().place(section));
    owned.push_back({range.end(), 0});
    std::ranges::sort(owned, {}, &Span::offset);
    Nonzero nonzero;
    uint64_t at = range.offset;
    for (const Span& span : owned) {
      const uint64_t end = std::min(span.offset, range.end());
      for (; at < end; at += std::min(kHashedPortion, end - at))
        count_nonzero({at, std::min(kHashedPortion, end - at)}, nonzero);
      at = std::max(at, span.end());
    }
    return nonzero;
  }
  void count_nonzero(const Span& gap, Nonzero& nonzero) const {
    const Bytes bytes = file_.bytes().subspan(gap.offset, gap.bytes);
    const auto is_nonzero = [](std::byte byte) { return byte != std::byte{0}; };
    const auto count = static_cast<uint64_t>(std::ranges::count_if(bytes, is_nonzero));
    if (count != 0 && nonzero.count == 0)
      nonzero.first =
          gap.offset + static_cast<uint64_t>(std::ranges::find_if(bytes, is_nonzero) - bytes.begin());
    nonzero.count += count;
    if (bytes.size() == kHashedPortion) release(bytes);
  }

  /// Bytes of the data window that belong to nobody should be zeros.
  void check_dead_bytes() {
    std::vector<Section> others(kPlacedSections.begin(), kPlacedSections.end());
    std::erase(others, Section::kData);
    const Nonzero dead = unowned_bytes(file_.envelope().place(Section::kData), others);
    if (dead.count != 0)
      add(Code::kDeadBytes, Section::kData, dead.first,
          std::to_string(dead.count) + " nonzero bytes belong to nothing");
  }

  /// What only a file that promises the canonical layout can be held to: bytes that no hash covers.
  void check_layout() {
    if (!promises_canonical_layout(file_.header())) return;
    const Span& window = file_.envelope().place(Section::kData);
    uint64_t tensors_end = window.offset;
    for (const TensorRecord& tensor : file_.tensors()) tensors_end = std::max(tensors_end, tensor.end());
    if (window.end() != tensors_end)
      add(Code::kLayout, Section::kEnvelope, place_field(Section::kData) + 8,
          "the data section reaches " + std::to_string(window.end() - tensors_end) +
              " bytes past its last tensor");
    const Nonzero stray = unowned_bytes({0, file_.bytes().size()}, kPlacedSections);
    if (stray.count != 0)
      add(Code::kLayout, Section::kEnvelope, stray.first,
          std::to_string(stray.count) + " nonzero bytes stand between the sections or behind the last");
  }

  const CmfFile& file_;
  const ProgressFunction& progress_;
  bool release_pages_;
  std::vector<Finding> findings_;
  uint64_t done_ = 0, total_ = 0;
};

}  // namespace

std::string_view name_of(SignatureState state) {
  constexpr std::array<std::string_view, 3> kNames = {"absent", "valid", "invalid"};
  return kNames[static_cast<size_t>(state)];
}

bool VerifyReport::valid() const {
  return std::ranges::none_of(findings,
                              [](const Finding& finding) { return finding.level() == Level::kError; });
}

VerifyReport verify_bytes(Bytes bytes, std::optional<std::string_view> signature,
                          const VerifyOptions& options) {
  VerifyReport report;
  const auto file = CmfFile::open_or_finding(bytes);
  if (!file) {
    report.findings.push_back(file.error());
    return report;
  }
  // SHA-256 takes longer than everything else together, so it runs beside it and tells the progress.
  VerifyOptions of_content = options;
  if (signature) of_content.progress = {};
  VerifyReport of_signature;
  const auto link = [&](size_t index) {
    if (index == 0)
      check_signature(bytes, signature, options, of_signature);
    else
      report.findings = Verifier(*file, of_content).run();
  };
  ThreadPool(signature ? std::min<size_t>(2, available_threads()) : 1).run(2, link);
  report.signature = of_signature.signature;
  report.signer = of_signature.signer;
  std::ranges::move(of_signature.findings, std::back_inserter(report.findings));
  return report;
}

Result<VerifyReport> verify(const std::filesystem::path& path, const VerifyOptions& options) {
  AMPHORA_ASSIGN(const std::shared_ptr<const MappedFile> file, MappedFile::open(path));
  const auto signature = read_small_file(signature_path_of(path), kMaxSignatureBytes);
  if (!signature && signature.error().fault == Fault::kIo) return std::unexpected(signature.error());
  // One that is too large to be a signature is refused as malformed, like any other text that is none.
  const bool absent = !signature && signature.error().fault == Fault::kNotFound;
  VerifyOptions of_mapping = options;
  of_mapping.release_pages = true;
  return verify_bytes(file->bytes(),
                      absent ? std::nullopt : std::optional<std::string_view>(signature ? *signature : ""),
                      of_mapping);
}

}  // namespace amphora::cmf
