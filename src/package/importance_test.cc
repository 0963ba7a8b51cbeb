// Tests of importance files and of what they mean for a plan.
#include "package/importance.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <fstream>
#include <limits>

#include "base/byte_writer.h"
#include "package/testing/config.h"

namespace amphora {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::read_text;
using testing::TemporaryFolder;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr std::string_view kMetadata =
    R"("__metadata__":{"format":"amphora-imatrix","version":"1","tokens":"7"})";

std::string floats(const std::vector<float>& values) {
  ByteWriter out;
  for (const float value : values) out.write(std::bit_cast<uint32_t>(value));
  return std::string(as_text(out.bytes()));
}

std::string file_of(std::string_view header, std::string_view data) {
  ByteWriter out;
  out.write(uint64_t{header.size()});
  out.write_bytes(as_bytes(header));
  out.write_bytes(as_bytes(data));
  return std::string(as_text(out.bytes()));
}

Result<Importance> loaded(const std::string& bytes) {
  const TemporaryFolder folder;
  std::ofstream(folder / "x.imatrix", std::ios::binary) << bytes;
  return load_importance(folder / "x.imatrix");
}

/// A file with one entry, "a.weight".
Result<Importance> loaded_with(const std::vector<float>& values) {
  return loaded(
      file_of(fmt::format(R"({{{},"a.weight":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{}]}}}})",
                          kMetadata, values.size(), 4 * values.size()),
              floats(values)));
}

TEST(Importance, WritesWhatItReads) {
  const TemporaryFolder folder;
  Importance importance;
  importance.tokens = 7;
  importance.columns = {{"b.weight", {0.25f, 0}}, {"a.weight", {1.5f}}};
  auto file = AtomicFile::create(folder / "x.imatrix");
  ASSERT_TRUE(file);
  ASSERT_TRUE(write_importance(importance, *file));
  ASSERT_TRUE(file->commit());
  const std::string header = R"({"__metadata__":{"format":"amphora-imatrix","version":"1","tokens":"7"},)"
                             R"("a.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b.weight":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})";
  std::string padded = header;
  padded.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(read_text(folder / "x.imatrix"), file_of(padded, floats({1.5f, 0.25f, 0})));

  const auto back = load_importance(folder / "x.imatrix");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->tokens, 7u);
  EXPECT_EQ(back->columns, importance.columns);
}

TEST(Importance, RefusesValuesThatAreNoWeights) {
  for (const float bad : {kNan, kInfinity, -kInfinity, -1e-30f}) {
    const auto importance = loaded_with({0, 1, bad, bad});
    ASSERT_FALSE(importance) << bad;
    EXPECT_EQ(importance.error().fault, Fault::kRefused);
    EXPECT_EQ(importance.error().place, "a.weight");
    EXPECT_THAT(importance.error().message, HasSubstr("at index 2"));
    EXPECT_THAT(importance.error().message, HasSubstr("x.imatrix"));

    const TemporaryFolder folder;
    auto file = AtomicFile::create(folder / "y.imatrix");
    EXPECT_FALSE(write_importance({1, {{"a.weight", {bad}}}}, *file)) << bad;
  }
  EXPECT_TRUE(loaded_with({0, -0.0f, 1e-45f, 3e38f}));
}

TEST(Importance, RefusesOtherFiles) {
  const std::string entry = R"("a.weight":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  const std::string data = floats({1});
  ASSERT_TRUE(loaded(file_of(fmt::format("{{{},{}}}", kMetadata, entry), data)));
  const auto fault = [&](std::string_view header) {
    const auto importance = loaded(file_of(header, data));
    EXPECT_FALSE(importance) << header;
    return importance ? Fault::kUsage : importance.error().fault;
  };
  EXPECT_EQ(fault("{" + entry + "}"), Fault::kCorrupt) << "any safetensors file";
  EXPECT_EQ(fault(R"({"__metadata__":{"format":"pt"},)" + entry + "}"), Fault::kCorrupt);
  EXPECT_EQ(
      fault(R"({"__metadata__":{"format":"amphora-imatrix","version":"2","tokens":"7"},)" + entry + "}"),
      Fault::kUnsupported);
  for (const char* tokens : {"", "-1", "1.5", "07", "18446744073709551616"})
    EXPECT_EQ(fault(fmt::format(
                  R"({{"__metadata__":{{"format":"amphora-imatrix","version":"1","tokens":"{}"}},{}}})",
                  tokens, entry)),
              Fault::kCorrupt)
        << tokens;
  EXPECT_EQ(fault(fmt::format(R"({{{},"a":{{"dtype":"I32","shape":[1],"data_offsets":[0,4]}}}})", kMetadata)),
            Fault::kCorrupt);
  EXPECT_EQ(
      fault(fmt::format(R"({{{},"a":{{"dtype":"F32","shape":[1,1],"data_offsets":[0,4]}}}})", kMetadata)),
      Fault::kCorrupt);
  EXPECT_EQ(fault(fmt::format(R"({{{},"a":{{"dtype":"F32","shape":[],"data_offsets":[0,4]}}}})", kMetadata)),
            Fault::kCorrupt);
  const std::string whole = file_of(fmt::format("{{{},{}}}", kMetadata, entry), data);
  for (size_t kept = 0; kept < whole.size(); ++kept) EXPECT_FALSE(loaded(whole.substr(0, kept))) << kept;
  EXPECT_FALSE(load_importance("/no/such/file"));
}

Package matrices() {
  Package package;
  for (const char* name : {"model.layers.0.a.weight", "model.layers.0.b.weight", "model.layers.0.c.weight",
                           "skill.s.model.layers.0.a.weight", "lm_head.weight"}) {
    PackageTensor& tensor = package.tensors.emplace_back();
    tensor.name = name;
    tensor.shape = {2, 32};
  }
  package.header = *json::parse(R"({"skills":[{"id":"s"}]})");
  return package;
}

/// A plan in which all but lm_head become a type that has a search, if there is one.
std::vector<PlannedTensor> plan_of(const Package& package) {
  std::vector<PlannedTensor> plan;
  for (const PackageTensor& tensor : package.tensors) {
    PlannedTensor& planned = plan.emplace_back();
    planned.source = &tensor;
    planned.dtype = tensor.name == "lm_head.weight" ? DType::kF16 : DType::kQ4Tiled;
  }
  return plan;
}

TEST(Importance, GivesEachSearchedTensorItsColumns) {
  const Package package = matrices();
  std::vector<PlannedTensor> plan = plan_of(package);
  Importance importance;
  std::vector<float> zero_group(32, 0.0f);
  zero_group[5] = 1;
  importance.columns = {{"model.layers.0.a.weight", zero_group},
                        {"model.layers.0.b.weight", std::vector<float>(32, 0.0f)},
                        {"lm_head.weight", std::vector<float>(32, 1.0f)},
                        {"gone.weight", {1}}};
  std::vector<std::string> notes;
  ASSERT_TRUE(weigh_columns(package, importance, quant::Encoder::kSearch, plan, notes));
  EXPECT_EQ(plan[0].importance.data(), importance.columns["model.layers.0.a.weight"].data());
  EXPECT_EQ(plan[0].importance.size(), 32u);
  EXPECT_TRUE(plan[1].importance.empty()) << "all zero";
  EXPECT_TRUE(plan[2].importance.empty()) << "no entry";
  EXPECT_EQ(plan[3].importance.data(), plan[0].importance.data()) << "the tensor that the skill replaces";
  EXPECT_TRUE(plan[4].importance.empty()) << "no search";
  EXPECT_THAT(notes, ElementsAre("the importance file has 1 entries for tensors that are not in the model: "
                                 "gone.weight",
                                 "the importance file says nothing of 1 of 4 tensors that are encoded with a "
                                 "search, which count their columns alike: model.layers.0.c.weight",
                                 "the importance of 1 tensors is all zero, so their columns count alike: "
                                 "model.layers.0.b.weight"));
}

TEST(Importance, SaysWhenItHasNoEffect) {
  const Package package = matrices();
  Importance importance;
  for (const PackageTensor& tensor : package.tensors)
    importance.columns[tensor.name] = std::vector<float>(32, 1.0f);
  std::vector<PlannedTensor> plan = plan_of(package);
  std::vector<std::string> notes;
  ASSERT_TRUE(weigh_columns(package, importance, quant::Encoder::kPlain, plan, notes));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no effect")));
  notes.clear();
  for (PlannedTensor& planned : plan) planned.verbatim = true;
  ASSERT_TRUE(weigh_columns(package, importance, quant::Encoder::kSearch, plan, notes));
  EXPECT_THAT(notes, ElementsAre(HasSubstr("no effect")));
  for (const PlannedTensor& planned : plan) EXPECT_THAT(planned.importance, IsEmpty());
}

TEST(Importance, RefusesEntriesOfAnotherShape) {
  for (const size_t columns : {0, 31, 33, 64}) {
    const Package package = matrices();
    std::vector<PlannedTensor> plan = plan_of(package);
    std::vector<std::string> notes;
    const Importance importance{1, {{"lm_head.weight", std::vector<float>(columns, 1.0f)}}};
    const Status status = weigh_columns(package, importance, quant::Encoder::kSearch, plan, notes);
    ASSERT_FALSE(status) << columns;
    EXPECT_EQ(status.error().place, "lm_head.weight");
    EXPECT_THAT(status.error().message,
                HasSubstr(fmt::format("{} columns for it, its shape is [2, 32]", columns)));
  }
  Package package = matrices();
  package.tensors[0].shape = {32};
  std::vector<PlannedTensor> plan = plan_of(package);
  std::vector<std::string> notes;
  EXPECT_FALSE(weigh_columns(package, {1, {{"model.layers.0.a.weight", std::vector<float>(32, 1.0f)}}},
                             quant::Encoder::kSearch, plan, notes))
      << "not a matrix";
}

}  // namespace
}  // namespace amphora
