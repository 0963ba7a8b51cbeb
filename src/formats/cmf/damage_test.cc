// Damage of a small file of our own: every truncation and every flipped byte, and what nobody owns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/byte_writer.h"
#include "formats/cmf/testing/files.h"

namespace amphora::cmf {
namespace {

using amphora::testing::TemporaryFolder;
using testing::read_text;

std::string small_file_bytes() {
  const TemporaryFolder folder;
  EXPECT_TRUE(testing::write_small_file(folder / "small.cmf", testing::small_file()));
  return read_text(folder / "small.cmf");
}

TEST(Damage, TheFileIsValidBefore) {
  const VerifyReport report = verify_bytes(as_bytes(small_file_bytes()), std::nullopt);
  EXPECT_TRUE(report.findings.empty()) << ::testing::PrintToString(testing::summaries(report.findings));
}

/// A masks section with one task and all four fields, for the architecture of file_with_every_section().
ByteVector masks_section() {
  const auto meta_with = [](uint64_t blob_offset) {
    return R"({"default_task":"t","masks":[{"task_id":7,"name":"t","sparsity":0.5,"priority":"Normal","blob_off":)" +
           std::to_string(blob_offset) + R"(,"blob_len":4,"has_expert_fields":true}]})";
  };
  constexpr uint64_t kBlobOffset = 160;  // any multiple of 8 behind the meta: what lies between is padding
  const std::string meta = meta_with(kBlobOffset);
  ByteWriter out;
  out.write(uint32_t{1});
  out.write(static_cast<uint32_t>(meta.size()));
  out.write_bytes(as_bytes(meta));
  EXPECT_LE(out.bytes().size(), kBlobOffset);
  while (out.bytes().size() < kBlobOffset) out.write(uint8_t{0});
  for (const int row : {0b10100101, 0b1, 0b1, 0b101}) out.write(static_cast<uint8_t>(row));
  return std::move(out).take();
}

/// One entry: task 7, layer 0, group 0, head 0, a byte of padding.
ByteVector index_section() {
  ByteWriter out;
  for (const uint32_t word : {1, 0, 7, 0, 1, 1}) out.write(word);
  out.write(uint32_t{0});
  return std::move(out).take();
}

/// A small file in the canonical layout, which it promises, that has every section and a skill.
std::string file_with_every_section() {
  json::Value header = testing::small_header();
  header.find("arch")->set("moe", *json::parse(R"({"num_experts":3,"top_k":1,"moe_intermediate_size":8})"));
  header.set("provenance", *json::parse(R"({"layout":"canonical"})"));
  header.set("skills",
             *json::parse(R"([{"id":"s","layers":[0],"input_mask_task":"t","selection":{"metric":"mse",)"
                          R"("phi_layer":0,"mean":"AAAAAAAAAAA=","basis":"ADwAAAAAAAA="}}])"));
  const ByteVector masks = masks_section(), index = index_section();
  const NewFile file{
      .header = header,
      .tensors = {{"a", DType::kF32, {3}}, {"b", DType::kQ82F, {1, 3}}, {"skill.s.a", DType::kF16, {3}}},
      .tokenizer_json = as_bytes(R"({"model":{}})"),
      .masks = masks,
      .index = index};
  const TemporaryFolder folder;
  auto writer = CmfWriter::create(folder / "all.cmf", file);
  EXPECT_TRUE(writer) << writer.error().message;
  const ByteVector payload(12, std::byte{0x21});
  EXPECT_TRUE(writer->write("a", payload));
  EXPECT_TRUE(writer->write("b", Bytes(payload).first(11)));
  EXPECT_TRUE(writer->write("skill.s.a", Bytes(payload).first(6)));
  EXPECT_TRUE(writer->finish());
  return read_text(folder / "all.cmf");
}

TEST(Damage, EveryTruncationOfThreeFilesIsRefusedAtOpen) {
  for (const std::string& bytes :
       {small_file_bytes(), file_with_every_section(),
        read_text(amphora::testing::test_data("cmf_strict/golden/skill_file.cmf"))}) {
    ASSERT_TRUE(CmfFile::open(as_bytes(bytes)));
    for (size_t kept = 0; kept < bytes.size(); ++kept) {
      const auto file = CmfFile::open_or_finding(as_bytes(bytes).first(kept));
      ASSERT_FALSE(file) << kept;
      EXPECT_EQ(file.error().code, kept < kEnvelopeBytes ? Code::kTruncated : Code::kBounds) << kept;
      EXPECT_FALSE(verify_bytes(as_bytes(bytes).first(kept), std::nullopt).valid()) << kept;
    }
  }
}

/// Bytes outside the data window that no section owns: alignment, which the format gives no meaning.
std::vector<bool> unowned(const CmfFile& file) {
  std::vector<bool> free(file.bytes().size(), true);
  const auto own = [&](uint64_t offset, uint64_t bytes) {
    std::fill_n(free.begin() + static_cast<ptrdiff_t>(offset), bytes, false);
  };
  own(0, kEnvelopeBytes);
  for (const Section section : kPlacedSections)
    own(file.envelope().place(section).offset, file.envelope().place(section).bytes);
  return free;
}

/// No hash covers the envelope. A data window that only reaches farther, over bytes of nobody, says the same.
bool only_widens_the_data_window(const CmfFile& before, Bytes after) {
  const auto file = CmfFile::open(after);
  if (!file) return false;
  Envelope envelope = file->envelope();
  const uint64_t bytes = before.envelope().place(Section::kData).bytes;
  const bool wider = std::exchange(envelope.place(Section::kData).bytes, bytes) > bytes;
  return wider && encode_envelope(envelope) == encode_envelope(before.envelope());
}

TEST(Damage, EveryFlippedByteIsFound) {
  const std::string bytes = small_file_bytes();
  const auto file = CmfFile::open(as_bytes(bytes));
  ASSERT_TRUE(file);
  const std::vector<bool> free = unowned(*file);
  std::string damaged = bytes;
  size_t unseen = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const int mask : {0x01, 0x80, 0xFF}) {
      damaged[at] = static_cast<char>(bytes[at] ^ mask);
      const VerifyReport report = verify_bytes(as_bytes(damaged), std::nullopt);
      if (free[at]) {
        EXPECT_TRUE(report.findings.empty()) << at;
        ++unseen;
      } else {
        EXPECT_TRUE(!report.findings.empty() || only_widens_the_data_window(*file, as_bytes(damaged)))
            << at << " with " << mask;
      }
    }
    damaged[at] = bytes[at];
  }
  // Between header, directory and data, and between data and tokenizer; no other byte escapes.
  const Envelope& envelope = file->envelope();
  const uint64_t padding = envelope.place(Section::kDirectory).offset -
                           envelope.place(Section::kHeader).end() + envelope.place(Section::kData).offset -
                           envelope.place(Section::kDirectory).end() +
                           envelope.place(Section::kVocabulary).offset - envelope.place(Section::kData).end();
  EXPECT_EQ(unseen, 3 * padding);
}

TEST(Damage, EveryFlippedByteOfAFileThatPromisesItsLayoutIsFound) {
  NewFile file = testing::small_file();
  json::Value provenance = json::Value::object();
  promise_canonical_layout(provenance);
  file.header.set("provenance", provenance);
  const TemporaryFolder folder;
  ASSERT_TRUE(testing::write_small_file(folder / "small.cmf", file));
  const std::string bytes = read_text(folder / "small.cmf");
  EXPECT_TRUE(verify_bytes(as_bytes(bytes), std::nullopt).findings.empty());
  std::string damaged = bytes;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      damaged[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      EXPECT_FALSE(verify_bytes(as_bytes(damaged), std::nullopt).findings.empty()) << at << " bit " << bit;
    }
    damaged[at] = bytes[at];
  }
  damaged += '\x01';
  const VerifyReport report = verify_bytes(as_bytes(damaged), std::nullopt);
  EXPECT_TRUE(report.valid());
  EXPECT_EQ(testing::summaries(report.findings),
            std::vector{"note Layout envelope " + std::to_string(bytes.size())});
}

/// Whether findings that leave a file valid say what they may: bytes of nobody, a wider data window, or one
/// of the two feature bits that readers take from the content.
bool is_harmless(const VerifyReport& report, const CmfFile& file, size_t at, const std::vector<bool>& free) {
  if (report.findings.size() != 1) return false;
  const Finding& finding = report.findings[0];
  switch (finding.code) {
    case Code::kFeatureBit: return at == kFeaturesField;
    case Code::kDeadBytes: return finding.offset == at && at >= file.envelope().place(Section::kData).offset;
    case Code::kLayout: {
      const uint64_t length_field = place_field(Section::kData) + 8;
      return (at >= length_field && at < length_field + 8) || (free[at] && finding.offset == at);
    }
    default: return false;
  }
}

TEST(Damage, EveryFlippedBitOfAFileWithEverySectionIsFound) {
  const std::string bytes = file_with_every_section();
  const auto file = CmfFile::open(as_bytes(bytes));
  ASSERT_TRUE(file) << file.error().place << " " << file.error().message;
  for (const Section section : kPlacedSections)
    EXPECT_FALSE(file->section(section).empty()) << name_of(section);
  ASSERT_EQ(file->skills().size(), 1u);
  EXPECT_THAT(testing::summaries(verify_bytes(as_bytes(bytes), std::nullopt).findings), ::testing::IsEmpty());
  const std::vector<bool> free = unowned(*file);
  std::string damaged = bytes;
  size_t refused = 0, noted = 0;
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      damaged[at] = static_cast<char>(bytes[at] ^ (1 << bit));
      const VerifyReport report = verify_bytes(as_bytes(damaged), std::nullopt);
      const bool harmless = report.valid() && is_harmless(report, *file, at, free);
      EXPECT_TRUE(!report.valid() || harmless)
          << at << " bit " << bit << ": " << ::testing::PrintToString(testing::summaries(report.findings));
      ++(report.valid() ? noted : refused);
    }
    damaged[at] = bytes[at];
  }
  const auto gaps = static_cast<size_t>(std::ranges::count(free, true));
  EXPECT_GE(noted, 8 * gaps);
  EXPECT_GT(refused, 8 * (bytes.size() - gaps) - 8 * 150);  // gaps between tensors, feature bits, data_len
}

TEST(Damage, GapsBetweenTensorsAreNotedAndLeaveTheFileValid) {
  std::string bytes = small_file_bytes();
  const auto file = CmfFile::open(as_bytes(bytes));
  ASSERT_TRUE(file);
  const uint64_t gap = file->find("a")->end();
  bytes[gap] = bytes[gap + 2] = 1;
  const VerifyReport report = verify_bytes(as_bytes(bytes), std::nullopt);
  EXPECT_TRUE(report.valid());
  ASSERT_EQ(testing::summaries(report.findings), std::vector{"note DeadBytes data " + std::to_string(gap)});
  EXPECT_EQ(report.findings[0].message, "2 nonzero bytes belong to nothing");
}

TEST(Damage, AllFaultsOfAnOpenFileAreReportedInOrder) {
  std::string bytes = small_file_bytes();
  const auto file = CmfFile::open(as_bytes(bytes));
  ASSERT_TRUE(file);
  const TensorRecord &b = *file->find("b"), &c = *file->find("c");
  const uint64_t vocabulary = file->envelope().place(Section::kVocabulary).offset;
  bytes[b.offset + 9] = 0x7C;  // the first row's scale: an infinity or NaN
  bytes[c.offset + 5] ^= 1;
  bytes[vocabulary] ^= 1;
  bytes[kHeaderHashField] ^= 1;
  const VerifyReport report = verify_bytes(as_bytes(bytes), std::nullopt);
  const auto at = [](uint64_t offset) { return std::to_string(offset); };
  EXPECT_EQ(testing::summaries(report.findings),
            (std::vector<std::string>{"error Hash header 112", "error Hash vocab " + at(vocabulary),
                                      "error Hash data " + at(b.offset) + " b",
                                      "error Parse data " + at(b.offset + 8) + " b",
                                      "error Hash data " + at(c.offset) + " c"}));
}

TEST(Verify, StrongDemandsASignature) {
  const auto file = amphora::testing::test_data("cmf_strict/golden/masks_plain.cmf");
  EXPECT_TRUE(verify(file)->valid());
  const auto report = verify(file, {.strong = true});
  ASSERT_TRUE(report);
  EXPECT_EQ(testing::summaries(report->findings), std::vector<std::string>{"error Missing sig 0"});
  EXPECT_EQ(report->signature, SignatureState::kAbsent);
  const auto signed_report =
      verify(amphora::testing::test_data("cmf_strict/golden/signed.cmf"), {.strong = true});
  ASSERT_TRUE(signed_report);
  EXPECT_TRUE(signed_report->valid());
  EXPECT_EQ(signed_report->signature, SignatureState::kValid);
}

TEST(Verify, AnEmptyFileIsTruncatedAndNotAnError) {
  const auto report = verify(amphora::testing::test_data("cmf/bad/empty.cmf"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(testing::summaries(report->findings), std::vector<std::string>{"error Truncated envelope 0"});
}

TEST(Verify, AFileThatCannotBeReadIsAnError) {
  const auto report = verify("/nonexistent/model.cmf");
  ASSERT_FALSE(report);
  EXPECT_EQ(exit_status(report.error().fault), 3);
}

TEST(Verify, ReportsItsProgressUpToTheEnd) {
  uint64_t last = 0, whole = 0;
  VerifyOptions options;
  options.progress = [&](uint64_t done, uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    whole = total;
  };
  verify_bytes(as_bytes(small_file_bytes()), std::nullopt, options);
  EXPECT_GT(whole, 0u);
  EXPECT_EQ(last, whole);
}

}  // namespace
}  // namespace amphora::cmf
