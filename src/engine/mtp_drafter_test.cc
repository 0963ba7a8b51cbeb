// The predictor of the token after the next against its references: one draft step of published layouts, and
// a trained head's guesses.
#include "engine/mtp_drafter.h"

#include <gtest/gtest.h>

#include <fstream>

#include "engine/session_impl.h"
#include "engine/testing/golden.h"

namespace amphora {
namespace {

using testing::ids_of;
using testing::largest_difference;
using testing::load_model;
using testing::open_session;
using testing::read_json;
using testing::test_data;

class DraftStep : public ::testing::TestWithParam<const char*> {};

TEST_P(DraftStep, GivesTheReferencesLogits) {
  const auto folder = test_data(std::string("hf/tiny/") + GetParam());
  const json::Value golden = read_json(folder / "golden.json");
  const auto session = open_session(testing::load_decoded(folder), {.exact = true});
  session->impl().use_mtp(true);
  Sequence& sequence = session->impl().sequence;
  for (const char* prompt : {"p17", "p70"}) {
    const auto ids = ids_of(*golden.find("prompts")->find(prompt)->find("ids"));
    const json::Value& wanted = *golden.find("mtp")->find(prompt);
    session->reset();
    const auto logits = session->forward(ids);
    ASSERT_TRUE(logits) << logits.error().message;
    const TokenId next = session->argmax(*logits);
    EXPECT_EQ(next, wanted.find("main_next_id")->as_unsigned()) << prompt;
    const auto drafts = session->impl().mtp->draft(next, 1);
    ASSERT_EQ(drafts.size(), 1u) << prompt;
    EXPECT_EQ(drafts[0], wanted.find("draft_id")->as_unsigned()) << prompt;
    EXPECT_LE(largest_difference(session->impl().mtp->last_logits(), *wanted.find("draft_logits")), 2e-4)
        << prompt;
    EXPECT_EQ(sequence.ids().size(), ids.size()) << "drafting does not move the sequence";
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, DraftStep,
                         ::testing::Values("qwen3_5_mtp", "qwen3_5_moe_mtp", "glm4_moe_mtp",
                                           "deepseek_v3_mtp"),
                         [](const auto& instance) { return std::string(instance.param); });

/// The small trained model with its trained predictor, as a directory of two files; `change` alters the
/// package before it is planned.
class TrainedPredictor : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) / "trained_predictor";
    std::filesystem::create_directories(folder_);
    const auto base = test_data("base-model"), head = test_data("mtp");
    json::Value config = read_json(base / "config.json");
    config.set("mtp", json::Value::object({{"num_layers", json::Value::unsigned_integer(1)},
                                           {"hidden_normed", json::Value::boolean(false)}}));
    std::ofstream(folder_ / "config.json") << json::dump(config);
    json::Value map = json::Value::object();
    add_file(base / "model.safetensors", "model-00001-of-00002.safetensors", map);
    add_file(head / "mtp.safetensors", "model-00002-of-00002.safetensors", map);
    std::ofstream(folder_ / "model.safetensors.index.json")
        << json::dump(json::Value::object({{"weight_map", map}}));
  }

  /// Links a file into the folder and enters its tensors into the index.
  void add_file(const std::filesystem::path& source, const std::string& name, json::Value& map) {
    std::filesystem::remove(folder_ / name);
    std::filesystem::create_symlink(source, folder_ / name);
    std::ifstream in(source, std::ios::binary);
    uint64_t length = 0;
    in.read(reinterpret_cast<char*>(&length), sizeof length);
    std::string header(length, ' ');
    in.read(header.data(), static_cast<std::streamsize>(length));
    const auto parsed = json::parse(header);
    ASSERT_TRUE(parsed) << parsed.error().message;
    for (const json::Member& member : parsed->members())
      if (member.key != "__metadata__") map.set(member.key, json::Value::string(name));
  }

  std::filesystem::path folder_;
};

/// Guesses that agree with the greedy ids, over the sequences of the golden file.
struct Agreement {
  size_t right = 0, compared = 0;
};

Agreement run_sequences(const std::shared_ptr<const Model>& model, const json::Value& golden,
                        bool compare_drafts) {
  Agreement agreement;
  const auto session = open_session(model, {.exact = true});
  session->impl().use_mtp(true);
  for (const json::Value& sequence : golden.find("sequences")->items()) {
    const auto greedy = ids_of(*sequence.find("greedy")), drafts = ids_of(*sequence.find("drafts"));
    session->reset();
    if (!session->forward(ids_of(*sequence.find("prompt_ids")))) ADD_FAILURE();
    for (size_t i = 0; i < drafts.size(); ++i) {
      const auto guesses = session->impl().mtp->draft(greedy[i], 1);
      if (guesses.size() != 1) {
        ADD_FAILURE() << "no guess at " << i;
        break;
      }
      EXPECT_TRUE(!compare_drafts || guesses[0] == drafts[i]) << i;
      agreement.right += guesses[0] == greedy[i + 1] ? 1 : 0;
      ++agreement.compared;
      if (!session->forward({&greedy[i], 1})) ADD_FAILURE();
    }
  }
  return agreement;
}

TEST_F(TrainedPredictor, GuessesWhatItsReferenceGuesses) {
  const json::Value golden = read_json(test_data("mtp/golden.json"));
  const auto model = load_model(folder_);
  ASSERT_TRUE(model);
  const Agreement agreement = run_sequences(model, golden, /*compare_drafts=*/true);
  EXPECT_EQ(agreement.compared, 6u * 63);
  size_t wanted = 0;
  for (const json::Value& sequence : golden.find("sequences")->items())
    for (const json::Value& accepted : sequence.find("accepted")->items())
      wanted += accepted.is_bool() ? accepted.as_bool() : accepted.as_unsigned() == 1u;
  EXPECT_EQ(agreement.right, wanted);
}

TEST_F(TrainedPredictor, IsHurtByConcatenationInReverse) {
  const json::Value golden = read_json(test_data("mtp/golden.json"));
  const auto opened = open_package(folder_);
  ASSERT_TRUE(opened) << opened.error().message;
  auto package = std::make_shared<Package>(**opened);
  for (PackageTensor& tensor : package->tensors) {
    if (tensor.name != "model.mtp.eh_proj.weight") continue;
    auto values = std::make_shared<std::vector<float>>(tensor.elements());
    ASSERT_TRUE(tensor.read(0, *values));
    const auto width = static_cast<ptrdiff_t>(tensor.shape[1]);
    for (auto row = values->begin(); row != values->end(); row += width)
      std::rotate(row, row + width / 2, row + width);
    tensor.dtype = DType::kF32;
    tensor.stored = std::as_bytes(std::span(*values));
    package->owners.push_back(values);
  }
  const auto model = Model::load(package);
  ASSERT_TRUE(model) << model.error().message;
  const Agreement agreement = run_sequences(*model, golden, /*compare_drafts=*/false);
  EXPECT_LT(agreement.right * 4, agreement.compared)
      << "the reference accepts 7 to 16 % in reverse, 76 to 83 % in order";
}

}  // namespace
}  // namespace amphora
