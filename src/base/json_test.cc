// Tests of the strict JSON reader.
#include "amphora/json.h"

#include <gtest/gtest.h>

namespace amphora::json {
namespace {

TEST(Json, KeepsOrderAndTheTextOfNumbers) {
  const std::string text =
      R"({"z":1.50,"a":1e+2,"m":[9007199254740993,-0,-12,123456789012345678901234567890,0.0]})";
  const auto value = parse(text);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(dump(*value), text);
}

TEST(Json, UnescapesAndKeepsUtf8) {
  const auto value = parse(R"(["\u00e9\ud83d\ude00\n\"", "é"])");
  ASSERT_TRUE(value);
  EXPECT_EQ(value->items()[0].text(), "\xC3\xA9\xF0\x9F\x98\x80\n\"");
  EXPECT_EQ(dump(*value), "[\"\xC3\xA9\xF0\x9F\x98\x80\\n\\\"\",\"\xC3\xA9\"]");
}

struct Refusal {
  const char* text;
  const char* place;
  const char* words;
};

TEST(Json, RefusesEachFaultWithItsPath) {
  const Refusal kRefusals[] = {
      {R"({"a":1,"a":2})", "$.a", "duplicate key"},
      {R"({"b":[0,{"key":1,"\u006bey":2}]})", "$.b[1].key", "duplicate key"},
      {R"({"":1,"":2})", "$[\"\"]", "duplicate key"},
      {R"([1e999])", "$[0]", "not finite"},
      {R"([-1e999])", "$[0]", "not finite"},
      {R"([NaN])", "$[0]", "not valid JSON"},
      {R"(["\ud800"])", "$[0]", "not valid JSON"},
      {R"(["\udc00x"])", "$[0]", "not valid JSON"},
      {"[\"\xFF\"]", "$[0]", "not valid JSON"},
      {"\xEF\xBB\xBF{}", "$", "byte-order mark"},
      {"{} x", "$", "not valid JSON"},
      {"", "$", "not valid JSON"},
      {"{\"a\":1,}", "$.a", "not valid JSON"},
      {"[01]", "$[1]", "not valid JSON"},
      {"[1]\v", "$", "not valid JSON"},
  };
  for (const Refusal& refusal : kRefusals) {
    const auto value = parse(refusal.text);
    ASSERT_FALSE(value) << refusal.text;
    EXPECT_EQ(value.error().code, "Parse");
    EXPECT_EQ(value.error().place, refusal.place) << refusal.text;
    EXPECT_NE(value.error().message.find(refusal.words), std::string::npos) << value.error().message;
  }
  EXPECT_FALSE(parse(std::string_view("[1]\0", 4)));
}

TEST(Json, BoundsTheDepth) {
  const auto nested = [](size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); };
  EXPECT_TRUE(parse(nested(64)));
  const auto deeper = parse(nested(65));
  ASSERT_FALSE(deeper);
  EXPECT_NE(deeper.error().message.find("64 levels"), std::string::npos);
  EXPECT_FALSE(parse(std::string(100000, '[')));
}

TEST(Json, ReadsIntegersOnlyWhenWrittenAsSuch) {
  const auto value = parse("[12, 12.0, 1e1, -3, -0, 18446744073709551615, 18446744073709551616]");
  ASSERT_TRUE(value);
  const auto& items = value->items();
  EXPECT_EQ(items[0].as_unsigned(), 12u);
  EXPECT_EQ(items[1].as_unsigned(), std::nullopt);
  EXPECT_EQ(items[2].as_unsigned(), std::nullopt);
  EXPECT_EQ(items[2].as_double(), 10.0);
  EXPECT_EQ(items[3].as_unsigned(), std::nullopt);
  EXPECT_EQ(items[3].as_integer(), -3);
  EXPECT_EQ(items[4].as_unsigned(), 0u);
  EXPECT_EQ(items[5].as_unsigned(), 18446744073709551615u);
  EXPECT_EQ(items[6].as_unsigned(), std::nullopt);
}

TEST(Json, ComparesByValue) {
  EXPECT_EQ(*parse(R"({"a":1,"b":[1.0]})"), *parse(R"({"b":[1e0],"a":1})"));
  EXPECT_NE(*parse(R"({"a":1})"), *parse(R"({"a":1,"b":null})"));
  EXPECT_NE(*parse("9007199254740993"), *parse("9007199254740992"));
}

TEST(Json, WritesNumbersShortestAndFloatsAsFloats) {
  EXPECT_EQ(dump(Value::number(0.1)), "0.1");
  EXPECT_EQ(dump(Value::number(0.1f)), "0.1");
  EXPECT_EQ(dump(Value::number(8.0)), "8.0");
  EXPECT_EQ(dump(Value::number(1e-6)), "1e-06");
  EXPECT_EQ(dump(Value::unsigned_integer(8)), "8");
}

TEST(Json, SetsInPlaceAndErases) {
  Value value = *parse(R"({"a":1,"b":2,"c":3})");
  value.set("b", Value::string("x"));
  value.set("d", Value());
  value.erase("a");
  EXPECT_EQ(dump(value), R"({"b":"x","c":3,"d":null})");
  EXPECT_EQ(value.find_present("d"), nullptr);
  EXPECT_NE(value.find("d"), nullptr);
}

}  // namespace
}  // namespace amphora::json
