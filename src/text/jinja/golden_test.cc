// Small templates, one language feature each, against what jinja2 renders as Hugging Face configures it.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "amphora/json.h"
#include "base/testing/test_data.h"
#include "text/chat.h"

namespace amphora::text {
namespace {

void check_golden(const std::string& name, size_t wanted_count) {
  std::ifstream file(testing::test_data("jinja") / name);
  ASSERT_TRUE(file) << name;
  size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto golden = json::parse(line);
    ASSERT_TRUE(golden) << golden.error().message;
    const std::string& source = golden->find("template")->text();
    const auto parsed = ChatTemplate::parse(source);
    Result<std::string> output = parsed ? (*parsed)->render_variables(*golden->find("context"), 1769817600)
                                        : Result<std::string>(std::unexpected(parsed.error()));
    if (const json::Value* wanted = golden->find("output")) {
      EXPECT_TRUE(output) << source << "\n" << (output ? "" : output.error().message);
      EXPECT_EQ(output.value_or(""), wanted->text()) << source;
      continue;
    }
    EXPECT_FALSE(output) << source << "\nrendered " << output.value_or("");
    if (output) continue;
    EXPECT_NE(output.error().message.find(golden->find("error")->text()), std::string::npos)
        << source << "\nwanted " << golden->find("error")->text() << "\ngot " << output.error().message;
  }
  EXPECT_EQ(count, wanted_count);
}

TEST(JinjaGolden, FeaturesRenderAsReference) { check_golden("features.jsonl", 63); }
TEST(JinjaGolden, CasesRenderAsReference) { check_golden("cases.jsonl", 1331); }

}  // namespace
}  // namespace amphora::text
