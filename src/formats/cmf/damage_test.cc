// Damage of a small file of our own: every truncation and every flipped byte, and what nobody owns.
#include <gtest/gtest.h>

#include <utility>
#include <vector>

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

TEST(Damage, EveryTruncationIsRefusedAtOpen) {
  const std::string bytes = small_file_bytes();
  for (size_t kept = 0; kept < bytes.size(); ++kept) {
    const auto file = CmfFile::open_or_finding(as_bytes(bytes).first(kept));
    ASSERT_FALSE(file) << kept;
    EXPECT_EQ(file.error().code, kept < kEnvelopeBytes ? Code::kTruncated : Code::kBounds) << kept;
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
