// The damage suite: single edits of valid files with the code, section, offset, tensor and path that must be
// reported.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "formats/cmf/testing/files.h"

namespace amphora::cmf {
namespace {

using amphora::testing::test_data;
using testing::read_text;

std::string from_hex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

/// The case's file: base, then truncation, edits and appended bytes.
std::string build(std::string bytes, const json::Value& recipe) {
  if (const json::Value* size = recipe.find("truncate")) bytes.resize(*size->as_unsigned());
  for (const json::Value& edit : recipe.find("edits")->items()) {
    const std::string patch = from_hex(edit.find("hex")->text());
    bytes.replace(*edit.find("offset")->as_unsigned(), patch.size(), patch);
  }
  if (const json::Value* parts = recipe.find("append"))
    for (const json::Value& part : parts->items()) {
      const std::string more = from_hex(part.find("hex")->text());
      const json::Value* repeat = part.find("repeat");
      for (uint64_t i = 0; i < (repeat ? *repeat->as_unsigned() : 1); ++i) bytes += more;
    }
  return bytes;
}

std::string text_of(const json::Value& expected, const char* key) {
  const json::Value* value = expected.find_present(key);
  return value ? value->text() : "";
}

void expect_finding(const Finding& finding, const json::Value& expected) {
  EXPECT_EQ(name_of(finding.code), text_of(expected, "code")) << finding.message;
  EXPECT_EQ(name_of(finding.section), text_of(expected, "section")) << finding.message;
  if (const json::Value* offset = expected.find("offset")) {
    EXPECT_EQ(finding.offset, offset->as_unsigned()) << finding.message;
  }
  if (expected.find("tensor")) {
    EXPECT_EQ(finding.tensor, text_of(expected, "tensor")) << finding.message;
  }
  if (expected.find("path")) {
    EXPECT_EQ(finding.path, text_of(expected, "path")) << finding.message;
  }
  EXPECT_FALSE(finding.message.empty());
}

TEST(Suite, EveryCaseIsReportedAsExpected) {
  std::map<std::string, std::string> bases;
  std::istringstream lines(read_text(test_data("cmf_strict/suite/cases.jsonl")));
  int cases = 0;
  for (std::string line; std::getline(lines, line); ++cases) {
    const json::Value recipe = *json::parse(line);
    SCOPED_TRACE(recipe.find("id")->text());
    std::string& base = bases[recipe.find("base")->text()];
    if (base.empty()) base = read_text(test_data("cmf_strict/golden/" + recipe.find("base")->text()));
    const std::string bytes = build(base, recipe);
    const json::Value& expected = *recipe.find("expect");
    const std::string when = text_of(expected, "when");

    const auto opened = CmfFile::open_or_finding(as_bytes(bytes));
    EXPECT_EQ(opened.has_value(), when != "open");
    const VerifyReport report = verify_bytes(as_bytes(bytes), std::nullopt);
    if (when == "never") {
      EXPECT_TRUE(report.valid()) << ::testing::PrintToString(testing::summaries(report.findings));
      continue;
    }
    const Level level = text_of(expected, "level") == "note" ? Level::kNote : Level::kError;
    const auto first = std::ranges::find(report.findings, level, &Finding::level);
    ASSERT_NE(first, report.findings.end());
    expect_finding(*first, expected);
    EXPECT_EQ(report.valid(), level == Level::kNote);
    if (!opened) {
      EXPECT_EQ(testing::summary(opened.error()), testing::summary(*first));
    }
  }
  EXPECT_EQ(cases, 793);
}

TEST(Suite, EveryBadSignatureIsReportedAsExpected) {
  std::istringstream lines(read_text(test_data("cmf_strict/suite/sets.jsonl")));
  int cases = 0;
  for (std::string line; std::getline(lines, line);) {
    const json::Value recipe = *json::parse(line);
    if (!recipe.find("sig")) continue;
    SCOPED_TRACE(recipe.find("id")->text());
    const std::string bytes = read_text(test_data("cmf_strict/golden/" + recipe.find("file")->text()));
    const VerifyReport report = verify_bytes(as_bytes(bytes), recipe.find("sig")->text());
    ASSERT_EQ(report.findings.size(), 1u);
    expect_finding(report.findings[0], *recipe.find("expect"));
    EXPECT_EQ(report.signature, SignatureState::kInvalid);
    ++cases;
  }
  EXPECT_EQ(cases, 9);
}

}  // namespace
}  // namespace amphora::cmf
