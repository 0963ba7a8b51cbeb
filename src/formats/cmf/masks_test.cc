// The bits of masks and the lists of the index, against what their writer says that they hold.
#include "formats/cmf/masks.h"

#include <gtest/gtest.h>

#include "formats/cmf/testing/files.h"

namespace amphora::cmf {
namespace {

using amphora::testing::test_data;

std::vector<uint64_t> set_bits(const MaskBits& bits, uint64_t row) {
  std::vector<uint64_t> list;
  for (uint64_t bit = 0; bit < bits.width(); ++bit)
    if (bits.test(row, bit)) list.push_back(bit);
  return list;
}

std::vector<uint64_t> numbers_of(const json::Value& list) {
  std::vector<uint64_t> numbers;
  for (const json::Value& number : list.items()) numbers.push_back(*number.as_unsigned());
  return numbers;
}

void expect_rows(const MaskBits& bits, const json::Value* expected) {
  ASSERT_EQ(bits.rows(), expected == nullptr ? 0 : expected->items().size());
  uint64_t total = 0;
  for (uint64_t row = 0; row < bits.rows(); ++row) {
    const std::vector<uint64_t> want = numbers_of(expected->items()[row]);
    EXPECT_EQ(set_bits(bits, row), want) << "row " << row;
    EXPECT_EQ(bits.count(row), want.size());
    total += want.size();
  }
  EXPECT_EQ(bits.count(), total);
}

TEST(Masks, EveryGoldenMaskHasItsWritersRows) {
  int masks = 0;
  for (const auto& json_path : testing::files_in(test_data("cmf_strict/golden"), ".json")) {
    const json::Value document = testing::read_json(json_path);
    if (document.find("tensors") == nullptr) continue;
    SCOPED_TRACE(json_path.filename());
    std::filesystem::path path = json_path;
    const auto file = CmfFile::open(path.replace_extension(".cmf"));
    ASSERT_TRUE(file);
    const json::Value* expected = document.find_present("masks");
    ASSERT_EQ(file->masks().has_value(), expected != nullptr);
    if (expected == nullptr) continue;
    EXPECT_EQ(file->masks()->default_task, expected->find("default_task")->text());
    const std::vector<json::Value>& tasks = expected->find("tasks")->items();
    ASSERT_EQ(file->masks()->masks.size(), tasks.size());
    for (const json::Value& task : tasks) {
      const Mask* mask = file->masks()->find(task.find("name")->text());
      ASSERT_NE(mask, nullptr);
      SCOPED_TRACE(mask->name);
      EXPECT_EQ(mask->measured, task.find_present("quality") != nullptr);
      expect_rows(mask->ffn, task.find("ffn"));
      expect_rows(mask->heads, task.find("heads"));
      expect_rows(mask->gates, task.find("gates"));
      expect_rows(mask->experts, task.find("experts"));
      ++masks;
    }
  }
  EXPECT_EQ(masks, 26);
}

TEST(Masks, FieldMasksSayWhatTheirNamesSay) {
  const auto file = CmfFile::open(test_data("cmf/masks_loop.cmf"));
  ASSERT_TRUE(file && file->masks());
  const Masks& masks = *file->masks();
  EXPECT_TRUE(masks.loop_masks);
  EXPECT_EQ(masks.find("general")->ffn.rows(), 4u);  // two layers, twice
  EXPECT_EQ(masks.find("general")->ffn.count(), 4u * 128);
  EXPECT_EQ(masks.find("general")->gates.count(0), 2u);
  EXPECT_DOUBLE_EQ(1 - static_cast<double>(masks.find("ffn")->ffn.count()) / (4 * 128), 0.3125);
  EXPECT_LT(masks.find("heads")->heads.count(), 8u);
  EXPECT_LT(masks.find("gate")->gates.count(0), 2u);
  EXPECT_EQ(masks.find("nobody"), nullptr);
}

TEST(Masks, ARowIsThatOfAVisitOnlyIfTheFileSaysSo) {
  const Masks looped{.num_layers = 3, .loop_masks = true};
  EXPECT_EQ(looped.ffn_row(1, 0), 1u);
  EXPECT_EQ(looped.ffn_row(1, 2), 7u);
  const Masks plain{.num_layers = 3, .loop_masks = false};
  EXPECT_EQ(plain.ffn_row(1, 2), 1u);
}

TEST(Masks, BitsThatDoNotExistAreNotSet) {
  const ByteVector bytes(4, std::byte{0xFF});
  const MaskBits bits(bytes, 2, 12);
  EXPECT_TRUE(bits.test(1, 11));
  EXPECT_FALSE(bits.test(1, 12));
  EXPECT_FALSE(bits.test(2, 0));
  EXPECT_FALSE(bits.test(UINT64_MAX, UINT64_MAX));
  EXPECT_EQ(bits.count(2), 0u);
  const MaskBits none;
  EXPECT_FALSE(none.test(0, 0));
  EXPECT_EQ(none.count(), 0u);
  const MaskBits no_width(Bytes(), UINT64_MAX, 0);
  EXPECT_FALSE(no_width.test(5, 0));
  EXPECT_EQ(no_width.count(5), 0u);
}

TEST(SparseIndex, EveryGoldenEntryHasItsWritersLists) {
  int entries = 0;
  for (const auto& json_path : testing::files_in(test_data("cmf_strict/golden"), ".json")) {
    const json::Value document = testing::read_json(json_path);
    if (document.find("tensors") == nullptr) continue;
    SCOPED_TRACE(json_path.filename());
    std::filesystem::path path = json_path;
    const auto file = CmfFile::open(path.replace_extension(".cmf"));
    ASSERT_TRUE(file);
    const json::Value* expected = document.find_present("index");
    ASSERT_EQ(file->index().size(), expected == nullptr ? 0 : expected->items().size());
    for (const IndexEntry& entry : file->index()) {
      const json::Value& want = expected->items()[static_cast<size_t>(&entry - file->index().data())];
      EXPECT_EQ(entry.task, want.find("task")->as_unsigned());
      EXPECT_EQ(entry.layer, want.find("layer")->as_unsigned());
      const std::vector<uint16_t> groups = entry.group_list();
      const std::vector<uint8_t> heads = entry.head_list();
      EXPECT_EQ(std::vector<uint64_t>(groups.begin(), groups.end()), numbers_of(*want.find("groups")));
      EXPECT_EQ(std::vector<uint64_t>(heads.begin(), heads.end()), numbers_of(*want.find("heads")));
      ++entries;
    }
  }
  EXPECT_EQ(entries, 11);
}

}  // namespace
}  // namespace amphora::cmf
