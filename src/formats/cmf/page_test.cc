// The format page and the code state the same numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "formats/cmf/directory.h"
#include "formats/cmf/envelope.h"
#include "formats/cmf/testing/files.h"
#include "quant/codec.h"

namespace amphora::cmf {
namespace {

using ::testing::HasSubstr;

std::string page() { return testing::read_text(amphora::testing::test_data("../../docs/formats/cmf.md")); }

std::string hex_offset(uint64_t offset) {
  std::array<char, 8> text{};
  std::snprintf(text.data(), text.size(), "0x%02llX", static_cast<unsigned long long>(offset));
  return text.data();
}

TEST(Page, NamesTheFieldsOfTheEnvelopeWhereTheyAre) {
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("| " + hex_offset(kVersionField) + " | version u32 |"));
  EXPECT_THAT(text, HasSubstr("| " + hex_offset(kFlagsField) + " | flags u32 |"));
  EXPECT_THAT(text, HasSubstr("| " + hex_offset(kFeaturesField) + " | required_features u32 |"));
  for (const Section section : kPlacedSections) {
    const std::string name(name_of(section));
    const uint64_t field = place_field(section);
    EXPECT_THAT(text, HasSubstr("| " + hex_offset(field) + "/" + hex_offset(field + 8) + " | " + name +
                                "_off / " + name + "_len |"));
  }
  EXPECT_THAT(text, HasSubstr("| " + hex_offset(kHeaderHashField) + " | hash64(header JSON) |"));
  EXPECT_THAT(text, HasSubstr("| " + hex_offset(kDirectoryHashField) + " | hash64(directory) |"));
}

TEST(Page, NamesTheFeatureBits) {
  const std::string text = page();
  const std::pair<uint32_t, const char*> kBits[] = {{kTensorDirectory, "TENSOR_DIR"},
                                                    {kBinaryMasks, "BINARY_MASKS"},
                                                    {kQuant2F, "QUANT_2F"},
                                                    {kLoopMasks, "LOOP_MASKS"},
                                                    {kSkillFile, "SKILL_FILE"}};
  for (const auto& [bit, name] : kBits)
    EXPECT_THAT(text, HasSubstr(std::to_string(std::countr_zero(bit)) + " " + name)) << name;
}

TEST(Page, NamesTheElementTypes) {
  const std::string text = page();
  EXPECT_THAT(text, HasSubstr("**0 1 2 f32 f16 bf16**"));
  for (const quant::Codec& codec : quant::codecs()) {
    if (codec.dtype <= DType::kBF16) continue;
    EXPECT_THAT(text, HasSubstr("- **" + std::to_string(static_cast<int>(codec.dtype)) + " " +
                                std::string(codec.name) + "**"));
  }
}

TEST(Page, NamesEveryErrorCodeAndNote) {
  const std::string text = page();
  for (int code = 0; code <= static_cast<int>(Code::kLayout); ++code)
    EXPECT_THAT(text, HasSubstr(std::string(name_of(static_cast<Code>(code)))));
  EXPECT_THAT(text, HasSubstr("Sections are named envelope, header, dir, data, masks, vocab, index, sig."));
  for (int section = 0; section <= static_cast<int>(Section::kSignature); ++section)
    EXPECT_THAT(std::string("envelope, header, dir, data, masks, vocab, index, sig"),
                HasSubstr(std::string(name_of(static_cast<Section>(section)))));
}

}  // namespace
}  // namespace amphora::cmf
