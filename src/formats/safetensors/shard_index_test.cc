// Shard indices: what they name, and that they never name anything outside their folder.
#include "formats/safetensors/shard_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace amphora::safetensors {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ShardIndex, ListsTensorsAndEachShardOnce) {
  const auto index = decode_shard_index(
      R"({"metadata":{"total_size":12},"weight_map":{"b":"m-2.safetensors","a":"m-1.safetensors","c":"m-2.safetensors"}})");
  ASSERT_TRUE(index) << index.error().message;
  EXPECT_THAT(index->weight_map, ElementsAre(Pair("b", "m-2.safetensors"), Pair("a", "m-1.safetensors"),
                                             Pair("c", "m-2.safetensors")));
  EXPECT_THAT(index->shards, ElementsAre("m-1.safetensors", "m-2.safetensors"));
}

TEST(ShardIndex, RefusesNamesThatAreNotPlainFiles) {
  for (const char* name :
       {"../m.safetensors", "/m.safetensors", "a/m.safetensors", "a\\\\m.safetensors", "C:m.safetensors",
        ".m.safetensors", ".safetensors", "m.bin", "", "m\\u0000.safetensors", "m.safetensors\\n"}) {
    const auto index = decode_shard_index(R"({"weight_map":{"a":")" + std::string(name) + "\"}}");
    ASSERT_FALSE(index) << name;
    EXPECT_EQ(index.error().code, "ShardName") << name << ": " << index.error().message;
    EXPECT_EQ(index.error().place, "$.weight_map.a");
  }
}

TEST(ShardIndex, RefusesOtherShapes) {
  for (const char* text : {"[]", "{}", R"({"weight_map":[]})", R"({"weight_map":{}})",
                           R"({"weight_map":{"a":1}})", R"({"weight_map":{"a":null}})"})
    EXPECT_EQ(decode_shard_index(text).error().code, "WeightMap") << text;
  EXPECT_EQ(decode_shard_index(R"({"weight_map":{"a":"x.safetensors","a":"y.safetensors"}})").error().code,
            "Parse");
}

}  // namespace
}  // namespace amphora::safetensors
