// Tests of the sparse index that is built from masks: the bytes of the reference's files.
#include "package/write_index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing/test_data.h"

namespace amphora {
namespace {

using ::testing::HasSubstr;
using testing::test_data;

std::shared_ptr<const Package> opened(const char* name) {
  auto package = open_package(test_data("cmf") / name);
  EXPECT_TRUE(package) << name << ": " << package.error().message;
  return *package;
}

TEST(WriteIndex, EqualsTheIndexOfTheReference) {
  for (const char* name :
       {"masks_dense.cmf", "masks_loop.cmf", "masks_expert.cmf", "py_masks.cmf", "moe_mask.cmf"}) {
    const auto package = opened(name);
    ASSERT_FALSE(package->index.empty()) << name;
    const auto index = build_sparse_index(*package);
    ASSERT_TRUE(index) << index.error().message;
    EXPECT_TRUE(std::ranges::equal(*index, package->index)) << name;
  }
}

/// py_masks.cmf has 2 layers of 64 neurons and 4 heads; its masks' blobs of 19 bytes are at 528 and 552.
TEST(WriteIndex, NamesGroupsWithAnActiveNeuronAndActiveHeads) {
  const auto source = opened("py_masks.cmf");
  ByteVector masks(source->masks.begin(), source->masks.end());
  std::fill_n(masks.begin() + 528, 19, std::byte{0});
  masks[528 + 7] = std::byte{0x80};   // layer 0, neuron 63
  masks[528 + 8] = std::byte{0x01};   // layer 1, neuron 0
  masks[528 + 16] = std::byte{0x08};  // layer 0, head 3
  masks[528 + 18] = std::byte{0x03};  // both gates
  masks[552 + 18] = std::byte{0x00};  // none
  Package package = *source;
  package.masks = masks;
  const auto index = build_sparse_index(package);
  ASSERT_TRUE(index) << index.error().message;
  const std::vector<uint8_t> wanted = {
      2, 0, 0, 0, 0, 0, 0, 0,                                      // two entries
      0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 3, 0,  // task 0, layer 0: group 1, head 3
      0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  // layer 1: group 0, no head
  };
  EXPECT_TRUE(std::ranges::equal(*index, std::as_bytes(std::span(wanted))));
}

/// masks_loop.cmf visits its 2 layers of 128 neurons twice; the blob of "ffn" begins at 1080.
TEST(WriteIndex, AGroupOfALoopedLayerIsActiveIfAnyVisitUsesIt) {
  const auto source = opened("masks_loop.cmf");
  ByteVector masks(source->masks.begin(), source->masks.end());
  std::fill_n(masks.begin() + 1080, 64, std::byte{0});
  masks[1080 + 16 * 1 + 4] = std::byte{1};  // pass 0, layer 1, neuron 32
  masks[1080 + 16 * 3 + 8] = std::byte{1};  // pass 1, layer 1, neuron 64
  Package package = *source;
  package.masks = masks;
  const auto index = build_sparse_index(package);
  ASSERT_TRUE(index) << index.error().message;
  // Before it: the head of the section and two whole entries of "general", 28 bytes each; then layer 0 of
  // "ffn" without groups, with four heads.
  const Bytes entry = Bytes(*index).subspan(8 + 2 * 28 + 20);
  const std::vector<uint8_t> wanted = {1, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0,
                                       4, 0, 0, 0, 1, 0, 2, 0, 0, 1, 2, 3};
  EXPECT_TRUE(std::ranges::equal(entry.first(wanted.size()), std::as_bytes(std::span(wanted))));
}

TEST(WriteIndex, RefusesWhatHasNoMasksOrDoesNotFit) {
  const auto plain = build_sparse_index(*opened("dense_f16.cmf"));
  ASSERT_FALSE(plain);
  EXPECT_EQ(plain.error().fault, Fault::kRefused);
  EXPECT_THAT(plain.error().message, HasSubstr("no task masks"));

  Package many_heads = *opened("py_masks.cmf");
  json::Value arch = *many_heads.header.find("arch");
  arch.set("num_attention_heads", json::Value::unsigned_integer(257));
  many_heads.header.set("arch", arch);
  EXPECT_EQ(build_sparse_index(many_heads).error().fault, Fault::kUnsupported);
  Package many_neurons = *opened("py_masks.cmf");
  arch = *many_neurons.header.find("arch");
  arch.set("intermediate_size", json::Value::unsigned_integer(65536 * 32 + 1));
  many_neurons.header.set("arch", arch);
  EXPECT_EQ(build_sparse_index(many_neurons).error().fault, Fault::kUnsupported);
}

}  // namespace
}  // namespace amphora
