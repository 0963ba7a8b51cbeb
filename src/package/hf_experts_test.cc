// Tests of experts: every layout gives the same matrices, in the order of roles, and nothing is guessed.
#include "package/hf_experts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "package/testing/counted.h"
#include "package/testing/model_folder.h"

namespace amphora::package {
namespace {

using testing::counted;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::kCountedOffset;
using testing::values_of;
using Tensors = std::vector<PackageTensor>;

/// Two experts of two neurons over three channels: no two dimensions are alike but the first two.
ModelSpec expert_spec() {
  ModelSpec spec;
  spec.hidden_size = 3;
  spec.moe.emplace();
  spec.moe->num_experts = 2;
  spec.moe->moe_intermediate_size = 2;
  return spec;
}

PackageTensor router() { return counted("model.layers.4.mlp.gate.weight", {2, 3}); }
std::string expert(std::string_view rest) { return "model.layers.4.mlp.experts." + std::string(rest); }

std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const PackageTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

std::vector<std::string> canonical_names() {
  return {expert("0.gate_proj.weight"), expert("1.gate_proj.weight"), expert("0.up_proj.weight"),
          expert("1.up_proj.weight"),   expert("0.down_proj.weight"), expert("1.down_proj.weight")};
}

/// place_experts over the tensors and a router; the experts alone.
Tensors placed(Tensors tensors, uint64_t wanted_split) {
  tensors.push_back(router());
  const auto split = place_experts(expert_spec(), tensors);
  EXPECT_TRUE(split) << split.error().message;
  EXPECT_EQ(split.value_or(99), wanted_split);
  EXPECT_EQ(tensors.back().name, router().name);
  tensors.pop_back();
  return tensors;
}

Error refusal(Tensors tensors, const ModelSpec& wanted = expert_spec()) {
  const auto split = place_experts(wanted, tensors);
  EXPECT_FALSE(split);
  return split ? Error{} : split.error();
}

Tensors one_each() {
  return {
      counted(expert("0.down_proj.weight"), {3, 2}, 100), counted(expert("0.gate_proj.weight"), {2, 3}, 0),
      counted(expert("0.up_proj.weight"), {2, 3}, 50),    counted(expert("1.down_proj.weight"), {3, 2}, 106),
      counted(expert("1.gate_proj.weight"), {2, 3}, 6),   counted(expert("1.up_proj.weight"), {2, 3}, 56)};
}

TEST(Experts, OfOneTensorEachAreOrderedByRoleAtThePlaceOfTheFirst) {
  Tensors tensors = one_each();
  tensors.insert(tensors.begin() + 1, router());
  tensors.insert(tensors.begin(), counted("model.layers.4.input_layernorm.weight", {3}));
  ASSERT_TRUE(place_experts(expert_spec(), tensors));
  std::vector<std::string> wanted = canonical_names();
  wanted.insert(wanted.begin(), "model.layers.4.input_layernorm.weight");
  wanted.push_back(router().name);
  EXPECT_EQ(names_of(tensors), wanted);
  EXPECT_EQ(tensors[2].stored_offset, kCountedOffset) << "not a copy";
  EXPECT_THAT(values_of(tensors[2]), ElementsAre(6, 7, 8, 9, 10, 11));
}

TEST(Experts, EveryLayoutHoldsTheSameMatrices) {  // F9
  // Expert e: gate 6e + {0 … 5}, up 50 + that, down 100 + that.
  const auto gate_up = [](float gate, float up) {
    return [=](uint64_t expert, uint64_t row) {
      return 6 * static_cast<float>(expert) + (row < 2 ? gate : up) + 3 * static_cast<float>(row % 2);
    };
  };
  // A tensor of given values.
  const auto holding = [](std::string name, std::vector<uint64_t> shape, std::vector<float> values) {
    PackageTensor tensor = counted(std::move(name), std::move(shape));
    tensor.read = [values = std::move(values)](uint64_t from, std::span<float> out) -> Status {
      std::ranges::copy_n(values.begin() + static_cast<std::ptrdiff_t>(from), std::ssize(out), out.begin());
      return {};
    };
    return tensor;
  };
  // [E, R, C] with rows given by their first value, and the same with R and C exchanged.
  const auto plain = [](auto first_of, uint64_t rows, uint64_t columns) {
    std::vector<float> values;
    for (uint64_t e = 0; e < 2; ++e)
      for (uint64_t r = 0; r < rows; ++r)
        for (uint64_t c = 0; c < columns; ++c) values.push_back(first_of(e, r) + static_cast<float>(c));
    return values;
  };
  const auto exchanged = [](auto first_of, uint64_t rows, uint64_t columns) {
    std::vector<float> values;
    for (uint64_t e = 0; e < 2; ++e)
      for (uint64_t c = 0; c < columns; ++c)
        for (uint64_t r = 0; r < rows; ++r) values.push_back(first_of(e, r) + static_cast<float>(c));
    return values;
  };
  const auto single = [](float start, float width) {
    return [=](uint64_t e, uint64_t r) {
      return start + 6 * static_cast<float>(e) + width * static_cast<float>(r);
    };
  };
  struct Layout {
    const char* name;
    Tensors tensors;
  };
  const std::vector<Layout> layouts = {
      {"one each", one_each()},
      {"a bank for each role",
       {holding(expert("gate_proj"), {2, 2, 3}, plain(single(0, 3), 2, 3)),
        holding(expert("up_proj.weight"), {2, 2, 3}, plain(single(50, 3), 2, 3)),
        holding(expert("down_proj"), {2, 3, 2}, plain(single(100, 2), 3, 2))}},
      {"gate before up",
       {holding(expert("gate_up_proj"), {2, 4, 3}, plain(gate_up(0, 50), 4, 3)),
        holding(expert("down_proj"), {2, 3, 2}, plain(single(100, 2), 3, 2))}},
      {"up before gate",
       {holding(expert("up_gate_proj"), {2, 4, 3}, plain(gate_up(50, 0), 4, 3)),
        holding(expert("down_proj"), {2, 3, 2}, plain(single(100, 2), 3, 2))}},
      {"dimensions exchanged",
       {holding(expert("down_proj"), {2, 2, 3}, exchanged(single(100, 2), 3, 2)),
        holding(expert("gate_up_proj"), {2, 3, 4}, exchanged(gate_up(0, 50), 4, 3))}},
      {"dimensions exchanged, a bank for each role",
       {holding(expert("gate_proj"), {2, 3, 2}, exchanged(single(0, 3), 2, 3)),
        holding(expert("up_proj"), {2, 3, 2}, exchanged(single(50, 3), 2, 3)),
        holding(expert("down_proj"), {2, 2, 3}, exchanged(single(100, 2), 3, 2))}},
  };
  for (const Layout& layout : layouts) {
    const Tensors tensors = placed(layout.tensors, layout.tensors.size() == 6 ? 0 : layout.tensors.size());
    ASSERT_EQ(names_of(tensors), canonical_names()) << layout.name;
    float start = 0;
    for (const PackageTensor& tensor : tensors) {
      EXPECT_THAT(tensor.shape,
                  tensor.name.find("down") == std::string::npos ? ElementsAre(2u, 3u) : ElementsAre(3u, 2u))
          << layout.name << " " << tensor.name;
      EXPECT_THAT(values_of(tensor),
                  ElementsAre(start, start + 1, start + 2, start + 3, start + 4, start + 5))
          << layout.name << " " << tensor.name;
      start += start == 6 || start == 56 ? 44 : 6;
    }
  }
}

TEST(Experts, PartsAreViewsWhereTheLayoutAllowsIt) {
  const Tensors plain =
      placed({counted(expert("gate_up_proj"), {2, 4, 3}), counted(expert("down_proj"), {2, 3, 2}, 100)}, 2);
  const PackageTensor& up_of_1 = plain[3];
  EXPECT_EQ(up_of_1.name, expert("1.up_proj.weight"));
  EXPECT_EQ(up_of_1.dtype, DType::kF32);
  EXPECT_EQ(up_of_1.stored_offset, kCountedOffset + 4 * 18);
  EXPECT_EQ(up_of_1.stored.size(), 24u);
  float first = 0;
  std::memcpy(&first, up_of_1.stored.data(), sizeof(first));
  EXPECT_EQ(first, 18);
  EXPECT_THAT(values_of(up_of_1), ElementsAre(18, 19, 20, 21, 22, 23));

  const Tensors exchanged =
      placed({counted(expert("gate_up_proj"), {2, 3, 4}), counted(expert("down_proj"), {2, 2, 3}, 100)}, 2);
  EXPECT_FALSE(exchanged[3].dtype) << "its elements do not lie behind one another";
  EXPECT_TRUE(exchanged[3].stored.empty());
  EXPECT_EQ(exchanged[3].stored_type, "F32");
  EXPECT_EQ(exchanged[3].stored_bytes, 24u);
  EXPECT_THAT(values_of(exchanged[3]), ElementsAre(14, 18, 22, 15, 19, 23));
  std::vector<float> some(4);
  ASSERT_TRUE(exchanged[3].read(1, some));
  EXPECT_THAT(some, ElementsAre(18, 22, 15, 19));
}

TEST(Experts, RefusesEachFaultForItsOwnReason) {
  const auto without = [](size_t index) {
    Tensors tensors = one_each();
    tensors.erase(tensors.begin() + static_cast<std::ptrdiff_t>(index));
    tensors.push_back(router());
    return tensors;
  };
  const auto with = [](std::vector<PackageTensor> more) {
    Tensors tensors = one_each();
    tensors.push_back(router());
    std::ranges::move(more, std::back_inserter(tensors));
    return tensors;
  };
  const auto only = [](std::vector<PackageTensor> tensors) {
    tensors.push_back(router());
    return tensors;
  };
  struct Case {
    const char* name;
    Tensors tensors;
    Fault fault;
    const char* code;
    std::string place;
    const char* words;
  };
  const std::vector<Case> kCases = {
      {"an expert missing in the middle", without(1), Fault::kCorrupt, "Missing",
       expert("0.gate_proj.weight"), "config.json speaks of 2 experts"},
      {"the last expert's up missing", without(5), Fault::kCorrupt, "Missing", expert("1.up_proj.weight"),
       "there is no tensor"},
      {"one expert too many", with({counted(expert("2.gate_proj.weight"), {2, 3})}), Fault::kCorrupt, "Shape",
       expert("2.gate_proj.weight"), "config.json speaks of 2 experts"},
      {"a matrix of another shape", only({counted(expert("0.gate_proj.weight"), {3, 2})}), Fault::kCorrupt,
       "Shape", expert("0.gate_proj.weight"), "has the shape [3, 2], wanted [2, 3]"},
      {"a vector", only({counted(expert("0.gate_proj.weight"), {6})}), Fault::kCorrupt, "Shape",
       expert("0.gate_proj.weight"), "has the shape [6], wanted [2, 3]"},
      {"a bank of two dimensions", only({counted(expert("gate_up_proj"), {8, 3})}), Fault::kCorrupt, "Shape",
       expert("gate_up_proj"),
       "has the shape [8, 3], wanted [2, 4, 3] or, with dimensions exchanged, [2, 3, 4]"},
      {"a bank of too few experts", only({counted(expert("gate_up_proj"), {1, 4, 3})}), Fault::kCorrupt,
       "Shape", expert("gate_up_proj"), "has the shape [1, 4, 3]"},
      {"banks of both orders",
       only({counted(expert("gate_up_proj"), {2, 4, 3}), counted(expert("down_proj"), {2, 2, 3})}),
       Fault::kCorrupt, "Shape", expert("gate_up_proj"), "exchanged, others are not"},
      {"a fused tensor whose order nobody knows", only({counted(expert("w13_weight"), {2, 4, 3})}),
       Fault::kUnsupported, "ExpertLayout", expert("w13_weight"), "cannot be told"},
      {"a bias", with({counted(expert("0.gate_proj.bias"), {2})}), Fault::kUnsupported, "ExpertLayout",
       expert("0.gate_proj.bias"), "only the weights"},
      {"both a bank and matrices", with({counted(expert("down_proj"), {2, 3, 2})}), Fault::kCorrupt,
       "Duplicate", expert("0.down_proj.weight"), "stored twice"},
      {"an expert twice", with({counted(expert("1.up_proj.weight"), {2, 3})}), Fault::kCorrupt, "Duplicate",
       expert("1.up_proj.weight"), "stored twice"},
      {"experts without a router", one_each(), Fault::kCorrupt, "Missing", router().name, "no router"},
      {"a router without experts", {router()}, Fault::kCorrupt, "Missing", expert(""), "no experts"},
      {"a router of another shape",
       {counted(router().name, {3, 3})},
       Fault::kCorrupt,
       "Shape",
       router().name,
       "has the shape [3, 3], wanted [2, 3]"},
  };
  for (const Case& c : kCases) {
    const Error error = refusal(c.tensors);
    EXPECT_EQ(error.fault, c.fault) << c.name << ": " << error.message;
    EXPECT_EQ(error.code, c.code) << c.name << ": " << error.message;
    EXPECT_EQ(error.place, c.place) << c.name << ": " << error.message;
    EXPECT_THAT(error.message, HasSubstr(c.words)) << c.name;
  }
}

TEST(Experts, WhoseShapesAllowBothOrdersAreRefused) {  // F9
  ModelSpec square = expert_spec();
  square.moe->moe_intermediate_size = 3;
  Tensors banks = {router()};
  for (const char* role : {"gate_proj", "up_proj", "down_proj"})
    banks.push_back(counted(expert(role), {2, 3, 3}));
  const Error error = refusal(banks, square);
  EXPECT_EQ(error.fault, Fault::kUnsupported);
  EXPECT_EQ(error.code, "ExpertLayout");
  EXPECT_THAT(error.message, HasSubstr("do not tell rows from columns"));
  // Gate and up together are not square, and say for all which order it is.
  Tensors fused = {router(), counted(expert("gate_up_proj"), {2, 3, 6}),
                   counted(expert("down_proj"), {2, 3, 3}, 100)};
  ASSERT_TRUE(place_experts(square, fused));
  EXPECT_THAT(values_of(fused[5]), ElementsAre(100, 103, 106, 101, 104, 107, 102, 105, 108));
}

TEST(Experts, OfModelsWithoutThemAreLeftAlone) {
  Tensors tensors = {counted(expert("w13_weight"), {2, 4, 3})};
  ModelSpec dense = expert_spec();
  dense.moe.reset();
  ASSERT_TRUE(place_experts(dense, tensors));
  EXPECT_THAT(names_of(tensors), ElementsAre(expert("w13_weight")));
}

}  // namespace
}  // namespace amphora::package
