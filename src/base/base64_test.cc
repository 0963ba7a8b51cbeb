// Base64: the one text for some bytes, and all others refused.
#include "base/base64.h"

#include <gtest/gtest.h>

namespace amphora {
namespace {

TEST(Base64, DecodesTheExamplesOfRfc4648) {
  const std::pair<const char*, const char*> kExamples[] = {
      {"", ""}, {"Zg==", "f"}, {"Zm8=", "fo"}, {"Zm9v", "foo"}, {"Zm9vYg==", "foob"}, {"Zm9vYmFy", "foobar"}};
  for (const auto& [text, bytes] : kExamples) {
    const auto decoded = decode_base64(text);
    ASSERT_TRUE(decoded) << text;
    EXPECT_EQ(*decoded, bytes);
    EXPECT_EQ(encode_base64(bytes), text);
  }
}

TEST(Base64, RefusesEveryOtherText) {
  for (const char* text :
       {"Z", "Zg", "Zg=", "Zh==", "Zm9=", "Zg==Zg==", "Zm9v\n", "Zm-_", "====", "Zm9vZ===", "Zg =", "=Zm9"})
    EXPECT_FALSE(decode_base64(text)) << text;
}

// Values by CPython's base64.b64decode(validate=True).
TEST(Base64, ReadsTheStandardAlphabetAlone) {
  EXPECT_EQ(decode_base64(""), "");
  EXPECT_EQ(decode_base64("aGk="), "hi");
  EXPECT_EQ(decode_base64("+/8A"), std::string("\xFB\xFF\0", 3));
  EXPECT_EQ(encode_base64(std::string("\xFB\xFF\0", 3)), "+/8A");
  for (const char* bad : {"a", "aGk", "aGk-", "aG=k", "a===", "aGl=", "aG k", "====", "aGk=aGk="})
    EXPECT_EQ(decode_base64(bad), std::nullopt) << bad;
}

}  // namespace
}  // namespace amphora
