// Saved states: a session that takes one up goes on to the bit, and everything that does not fit is refused.
#include "engine/state_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/byte_writer.h"
#include "base/file.h"
#include "base/testing/test_data.h"
#include "crypto/hash64.h"
#include "engine/testing/golden.h"
#include "engine/testing/tiny_session.h"

namespace amphora {
namespace {

using testing::continue_greedily;
using ::testing::HasSubstr;
using testing::ids_of;
using testing::load_model;
using testing::open_session;
using testing::read_json;
using testing::some_ids;
using testing::TemporaryFolder;
using testing::test_data;

/// The logits after each of the ids, one row behind the other.
std::vector<float> all_logits(Session& session, std::span<const TokenId> ids) {
  std::vector<float> all;
  const auto status = session.forward_each(ids, [&](size_t, std::span<const float> logits) -> Status {
    all.insert(all.end(), logits.begin(), logits.end());
    return {};
  });
  if (!status) ADD_FAILURE() << status.error().message;
  return all;
}

::testing::AssertionResult done(const Status& status) {
  if (status) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.error().message;
}

std::shared_ptr<const Model> model_of(const std::string& stem) {
  return load_model(test_data("cmf") / (stem + ".cmf"));
}

/// The tiny model as if it came from a file with this directory hash.
std::shared_ptr<const Model> tiny_model(const model::testing::TinyPackage& tiny) {
  auto package = std::make_shared<Package>(*tiny.take());
  package->directory_hash = 1;
  auto model = Model::load(package);
  if (!model) ADD_FAILURE() << model.error().message;
  return *model;
}

ByteVector bytes_of(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  if (!file) {
    ADD_FAILURE() << file.error().message;
    return {};
  }
  return {(*file)->bytes().begin(), (*file)->bytes().end()};
}

Error refusal(Session& session, const std::filesystem::path& path) {
  const Status status = load_state(session, path);
  if (status) {
    ADD_FAILURE() << "was taken up";
    return {};
  }
  return status.error();
}

using Parameters = std::tuple<const char*, KvType>;

class SavedState : public ::testing::TestWithParam<Parameters> {};

TEST_P(SavedState, GoesOnToTheBit) {
  const auto [stem, kv] = GetParam();
  const auto model = model_of(stem);
  const SessionOptions options{.threads = 1, .kv = kv};
  const auto ids = some_ids(26);
  const auto begun = std::span(ids).first(11), rest = std::span(ids).subspan(11);
  const TemporaryFolder folder;

  const auto session = open_session(model, options);
  ASSERT_TRUE(session->prefill(begun));
  ASSERT_TRUE(done(save_state(*session, folder / "state")));
  const auto wanted = all_logits(*session, rest);

  const auto other = open_session(model, options);
  ASSERT_TRUE(other->prefill(some_ids(5)));  // is replaced
  ASSERT_TRUE(done(load_state(*other, folder / "state")));
  EXPECT_TRUE(std::ranges::equal(other->ids(), begun));
  EXPECT_EQ(all_logits(*other, rest), wanted);
}

INSTANTIATE_TEST_SUITE_P(Models, SavedState,
                         ::testing::Combine(::testing::Values("dense_f16", "arch_gemma3_f16",
                                                              "arch_qwen3_next_moe_q8", "arch_looped_f16",
                                                              "arch_qwen3_5_gdn_mtp_q8"),
                                            ::testing::Values(KvType::kF32, KvType::kF16, KvType::kQ8)));

// The ids are those of the reference implementation, which knows nothing of saved states.
TEST(StateFile, GoesOnWithTheIdsOfTheReference) {
  for (const std::string stem : {"arch_gemma3_f16", "arch_qwen3_next_moe_q8", "arch_looped_f16"}) {
    const json::Value golden = read_json(test_data("cmf") / (stem + ".json"));
    const json::Value* run = golden.find("runs")->find("default")->find("exact_CMF_SDOT=0");
    const auto prompt = ids_of(*run->find("prompt_ids")), wanted = ids_of(*run->find("greedy_ids"));
    const auto model = model_of(stem);
    const TemporaryFolder folder;

    const auto session = open_session(model, {.exact = true});
    ASSERT_TRUE(session->prefill(std::span(prompt).first(prompt.size() - 1)));
    ASSERT_TRUE(done(save_state(*session, folder / "state")));
    const auto other = open_session(model, {.exact = true});
    ASSERT_TRUE(done(load_state(*other, folder / "state")));
    const auto logits = other->forward({&prompt.back(), 1});
    ASSERT_TRUE(logits) << logits.error().message;
    EXPECT_EQ(continue_greedily(*other, *logits, wanted.size()), wanted) << stem;
  }
}

// Layers with a window keep 320 positions here (4 seen, 128 of a block, 128 spare, in steps of 64), or all of
// them if the context is shorter.
TEST(StateFile, ARingIsTakenUpWhateverTheContext) {
  const auto model = model_of("arch_gemma3_f16");
  struct Case {
    uint32_t saved_context, context;
    size_t length;
  };
  for (const auto& [saved_context, context, length] :
       {Case{700, 700, 400}, Case{700, 500, 400}, Case{300, 700, 200}, Case{700, 300, 200}}) {
    const auto ids = some_ids(length + 30);
    const auto rest = std::span(ids).subspan(length);
    const TemporaryFolder folder;
    const auto session = open_session(model, {.context = saved_context});
    ASSERT_TRUE(session->prefill(std::span(ids).first(length)));
    ASSERT_TRUE(done(save_state(*session, folder / "state")));
    const auto other = open_session(model, {.context = context});
    ASSERT_TRUE(done(load_state(*other, folder / "state")));
    EXPECT_EQ(all_logits(*other, rest), all_logits(*session, rest)) << saved_context << " to " << context;
  }
}

// 600 positions have pushed 0 to 279 out of the ring; the cut does not bring them back, and the file says so.
TEST(StateFile, ACutRingDoesNotClaimWhatItHasLost) {
  const auto model = model_of("arch_gemma3_f16");
  const auto ids = some_ids(600);
  const TemporaryFolder folder;
  const auto session = open_session(model, {.context = 700});
  ASSERT_TRUE(session->prefill(ids));
  session->truncate(300);
  ASSERT_TRUE(done(save_state(*session, folder / "state")));
  for (const uint32_t context : {310u, 700u}) {
    const auto other = open_session(model, {.context = context});
    ASSERT_TRUE(done(load_state(*other, folder / "state")));
    other->truncate(200);
    const auto fresh = open_session(model, {.context = context});
    ASSERT_TRUE(fresh->prefill(std::span(ids).first(200)));
    const auto rest = std::span(ids).subspan(200, 20);
    EXPECT_EQ(all_logits(*other, rest), all_logits(*fresh, rest)) << context;
  }
}

TEST(StateFile, TheMarkOfARecurrentStateIsSavedToo) {
  const auto model = model_of("arch_qwen3_next_moe_q8");
  const auto ids = some_ids(20);
  const TemporaryFolder folder;
  const auto session = open_session(model, {});
  ASSERT_TRUE(session->prefill(std::span(ids).first(12)));
  session->mark();
  ASSERT_TRUE(session->prefill(std::span(ids).subspan(12)));
  ASSERT_TRUE(done(save_state(*session, folder / "state")));
  const auto other = open_session(model, {});
  ASSERT_TRUE(done(load_state(*other, folder / "state")));
  other->truncate(13);
  EXPECT_EQ(other->impl().sequence.run_ids(), 12u) << "what lies before the mark must not run again";
  const auto fresh = open_session(model, {});
  ASSERT_TRUE(fresh->prefill(std::span(ids).first(13)));
  EXPECT_EQ(all_logits(*other, std::span(ids).subspan(13)), all_logits(*fresh, std::span(ids).subspan(13)));
}

TEST(StateFile, ASequenceWithTheLongFactorsKeepsThem) {
  model::testing::TinyPackage tiny;
  tiny.spec.longrope = LongRopeSpec{.short_factors = std::vector<float>(8, 1.0f),
                                    .long_factors = {1, 1, 2, 2, 3, 3, 4, 4},
                                    .original_max_position_embeddings = 32,
                                    .attention_factor = 1.1};
  const auto model = tiny_model(tiny);
  const auto ids = some_ids(50);
  for (const size_t length : {size_t{20}, size_t{40}}) {
    const TemporaryFolder folder;
    const auto session = open_session(model, {});
    ASSERT_TRUE(session->prefill(std::span(ids).first(length)));
    ASSERT_TRUE(done(save_state(*session, folder / "state")));
    const auto other = open_session(model, {});
    ASSERT_TRUE(done(load_state(*other, folder / "state")));
    const auto rest = std::span(ids).subspan(length, 5);
    EXPECT_EQ(all_logits(*other, rest), all_logits(*session, rest)) << length;
    EXPECT_EQ(other->impl().sequence.long_sequence(), length == 40);
  }
}

// What a cut has made unusable is run again before it is saved: a file holds whole states only.
TEST(StateFile, SavesWhatACutHasLeft) {
  const auto model = model_of("arch_qwen3_next_moe_q8");
  const auto ids = some_ids(20);
  const TemporaryFolder folder;
  const auto session = open_session(model, {});
  ASSERT_TRUE(session->prefill(ids));
  session->truncate(7);
  ASSERT_TRUE(done(save_state(*session, folder / "state")));
  const auto other = open_session(model, {});
  ASSERT_TRUE(done(load_state(*other, folder / "state")));
  EXPECT_EQ(other->impl().sequence.run_ids(), 7u);
  const auto fresh = open_session(model, {});
  ASSERT_TRUE(fresh->prefill(std::span(ids).first(7)));
  EXPECT_EQ(all_logits(*other, std::span(ids).subspan(7)), all_logits(*fresh, std::span(ids).subspan(7)));
}

/// A session of dense_f16 with three ids and its file, 884 bytes: header 64, ids 12, two visits of 16 + 2 · 2
/// heads · 3 positions · 16 elements · 2 bytes, checksum 8.
class StateDamage : public ::testing::Test {
 protected:
  void SetUp() override {
    session_ = open_session(model_, {.threads = 1});
    ASSERT_TRUE(session_->prefill(std::vector<TokenId>{5, 70, 127}));
    ASSERT_TRUE(done(save_state(*session_, folder_ / "state")));
    file_ = bytes_of(folder_ / "state");
    ASSERT_EQ(file_.size(), 64 + 12 + 2 * (16 + 2 * 2 * 3 * 16 * 2) + 8u);
    binding_ = *engine::state_binding(session_->impl());
  }

  Result<engine::StateView> decode(Bytes file) const {
    return engine::decode_state(file, binding_, session_->impl());
  }

  TemporaryFolder folder_;
  std::shared_ptr<const Model> model_ = model_of("dense_f16");
  std::unique_ptr<Session> session_;
  engine::StateBinding binding_;
  ByteVector file_;
};

// docs/formats/state.md, field by field; the directory's hash is that of tests/data/cmf/dense_f16.json, the
// hash of arch was computed by another program.
TEST_F(StateDamage, TheHeaderHasTheBytesOfThePage) {
  ByteWriter wanted;
  wanted.write_bytes(as_bytes("AMPSTATE"));
  wanted.write(uint32_t{1});
  for (const unsigned byte : {1u, 0u, 0u, 0u})
    wanted.write(static_cast<uint8_t>(byte));  // f16, fast, short, no mark
  wanted.write(uint64_t{0x0ffb969b538fec32});
  wanted.write(uint64_t{0x5a82eb1fb5ee5b50});
  wanted.write(uint64_t{0});
  wanted.write(uint64_t{3});
  wanted.write(uint64_t{0});
  wanted.write(uint64_t{0});
  for (const uint32_t id : {5u, 70u, 127u}) wanted.write(id);
  wanted.write(uint64_t{192});  // keys of visit 0
  wanted.write(uint64_t{192});
  EXPECT_TRUE(std::ranges::equal(Bytes(file_).first(wanted.size()), wanted.bytes()));
}

TEST_F(StateDamage, RefusesEveryFlippedByte) {
  ASSERT_TRUE(decode(file_));
  for (size_t at = 0; at < file_.size(); ++at)
    for (const auto flip : {std::byte{0x01}, std::byte{0x80}, std::byte{0xFF}}) {
      ByteVector damaged = file_;
      damaged[at] ^= flip;
      const auto view = decode(damaged);
      ASSERT_FALSE(view) << at;
      EXPECT_FALSE(view.error().code.empty() || view.error().place.empty() || !view.error().offset) << at;
    }
}

TEST_F(StateDamage, RefusesEveryTruncation) {
  for (size_t kept = 0; kept < file_.size(); ++kept) {
    const auto view = decode(Bytes(file_).first(kept));
    ASSERT_FALSE(view) << kept;
    EXPECT_EQ(view.error().code, "Truncated") << kept;
    EXPECT_EQ(view.error().offset, kept);
  }
}

TEST_F(StateDamage, RefusesEachDamageForItsOwnReason) {
  struct Damage {
    const char* name;
    size_t at;
    uint64_t value;
    size_t width;
    Fault fault;
    const char* code;
  };
  const Damage damages[] = {
      {"another magic", 0, 'a', 1, Fault::kCorrupt, "InvalidMagic"},
      {"a newer version", 8, 2, 4, Fault::kUnsupported, "UnsupportedVersion"},
      {"no version", 8, 0, 4, Fault::kUnsupported, "UnsupportedVersion"},
      {"an unknown cache type", 12, 3, 1, Fault::kCorrupt, "Field"},
      {"another cache type", 12, 0, 1, Fault::kRefused, "OtherSettings"},
      {"unknown numerics", 13, 2, 1, Fault::kCorrupt, "Field"},
      {"other numerics", 13, 1, 1, Fault::kRefused, "OtherSettings"},
      {"long factors of a model without", 14, 1, 1, Fault::kCorrupt, "Field"},
      {"a mark without recurrent state", 15, 1, 1, Fault::kCorrupt, "Field"},
      {"another directory", 16, 1, 8, Fault::kRefused, "OtherModel"},
      {"another arch", 24, 1, 8, Fault::kRefused, "OtherModel"},
      {"a restriction", 32, 1, 8, Fault::kRefused, "OtherSettings"},
      {"longer than the context", 40, 257, 8, Fault::kRefused, "Context"},
      {"an absurd length", 40, ~uint64_t{0}, 8, Fault::kRefused, "Context"},
      {"a length that would wrap", 40, uint64_t{1} << 62, 8, Fault::kRefused, "Context"},
      {"more ids than bytes", 40, 256, 8, Fault::kTruncated, "Truncated"},
      {"more bytes than ids", 40, 2, 8, Fault::kCorrupt, "TrailingBytes"},
      {"a first cut behind the end", 48, 4, 8, Fault::kCorrupt, "Field"},
      {"a mark that is none", 56, 1, 8, Fault::kCorrupt, "Field"},
      {"an id outside the vocabulary", 68, 128, 4, Fault::kCorrupt, "TokenId"},
      {"keys of another size", 76, 191, 8, Fault::kCorrupt, "Length"},
      {"values of an absurd size", 84, ~uint64_t{0}, 8, Fault::kCorrupt, "Length"},
  };
  for (const Damage& damage : damages) {
    ByteVector damaged = file_;
    for (size_t i = 0; i < damage.width; ++i)
      damaged[damage.at + i] = static_cast<std::byte>(damage.value >> (8 * i));
    const size_t covered = damaged.size() - 8;
    store_little_endian(damaged.data() + covered, crypto::hash64(Bytes(damaged).first(covered)));
    const auto view = decode(damaged);
    ASSERT_FALSE(view) << damage.name;
    EXPECT_EQ(view.error().fault, damage.fault) << damage.name;
    EXPECT_EQ(view.error().code, damage.code) << damage.name << ": " << view.error().message;
    EXPECT_TRUE(damage.code == std::string("Truncated") || damage.code == std::string("TrailingBytes") ||
                view.error().offset == damage.at)
        << damage.name;
  }
}

TEST_F(StateDamage, RefusesTrailingBytes) {
  file_.push_back(std::byte{0});
  const auto view = decode(file_);
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, "TrailingBytes");
  EXPECT_EQ(view.error().offset, file_.size() - 1);
}

TEST_F(StateDamage, AnErrorLeavesTheSessionAsItWas) {
  const auto rest = some_ids(9);
  const auto untouched = open_session(model_, {.threads = 1});
  ASSERT_TRUE(untouched->prefill(std::vector<TokenId>{9, 8}));
  const auto wanted = all_logits(*untouched, rest);

  const auto other = open_session(model_, {.threads = 1});
  ASSERT_TRUE(other->prefill(std::vector<TokenId>{9, 8}));
  file_[file_.size() - 20] ^= std::byte{1};
  ASSERT_TRUE(write_file(folder_ / "damaged", file_));
  const Error error = refusal(*other, folder_ / "damaged");
  EXPECT_EQ(error.code, "Hash");
  EXPECT_THAT(error.message, HasSubstr("damaged: the file is damaged"));
  EXPECT_EQ(refusal(*other, folder_ / "absent").fault, Fault::kNotFound);
  EXPECT_EQ(other->position(), 2u);
  EXPECT_EQ(all_logits(*other, rest), wanted);
}

TEST_F(StateDamage, RefusesSessionsThatDecideTheNumbersInAnotherWay) {
  struct Case {
    SessionOptions options;
    const char* words;
  };
  for (const auto& [options, words] :
       {Case{{.kv = KvType::kQ8}, "with a f16 cache, this session's is q8"},
        Case{{.exact = true, .kv = KvType::kF16}, "with fast numerics, this session's are exact"},
        Case{{.context = 2}, "has 3 tokens, this session's context 2 positions"}}) {
    const Error error = refusal(*open_session(model_, options), folder_ / "state");
    EXPECT_EQ(error.fault, Fault::kRefused);
    EXPECT_THAT(error.message, HasSubstr(words));
  }
  const Error other_model = refusal(*open_session(model_of("dense_q8"), {}), folder_ / "state");
  EXPECT_EQ(other_model.fault, Fault::kRefused);
  EXPECT_THAT(other_model.message, HasSubstr("was saved with another model"));
}

TEST(StateFile, BelongsToATaskMask) {
  const auto model = model_of("masks_dense");
  const TemporaryFolder folder;
  const auto session = open_session(model, {.task = "ffn"});
  ASSERT_TRUE(session->prefill(some_ids(4)));
  ASSERT_TRUE(done(save_state(*session, folder / "state")));
  EXPECT_TRUE(done(load_state(*open_session(model, {.task = "ffn"}), folder / "state")));
  for (const std::string task : {"", "gate"}) {
    const Error error = refusal(*open_session(model, {.task = task}), folder / "state");
    EXPECT_EQ(error.code, "OtherSettings");
    EXPECT_THAT(error.message, HasSubstr("another task mask"));
  }
}

TEST(StateFile, NeedsAModelThatRecordsItsDirectorysHash) {
  const TemporaryFolder folder;
  ByteVector unrecorded = bytes_of(test_data("cmf/dense_f16.cmf"));
  std::fill_n(unrecorded.begin() + 0x78, 8, std::byte{0});  // docs/formats/cmf.md 1.1
  ASSERT_TRUE(write_file(folder / "unrecorded.cmf", unrecorded));
  for (const auto& path : {folder / "unrecorded.cmf", test_data("hf/tiny/llama")}) {
    const auto session = open_session(load_model(path), {});
    for (const Status& status :
         {save_state(*session, folder / "state"), load_state(*session, folder / "state")}) {
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().fault, Fault::kRefused);
      EXPECT_THAT(status.error().message, HasSubstr("convert it to .cmf first"));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "state"));
}

// The hashes of the files are in tests/data/cmf/shard-0000*.json; what they make together was computed by
// another program.
TEST(StateFile, ASetOfShardsHasOneHashByAnyOfItsNames) {
  EXPECT_EQ((*open_package(test_data("cmf/dense_f16.cmf")))->directory_hash, 0x0ffb969b538fec32u);
  for (const char* name : {"cmf/shard-00001-of-00003.cmf", "cmf/shard-00003-of-00003.cmf"})
    EXPECT_EQ((*open_package(test_data(name)))->directory_hash, 0x3ae29ef199c6f0cdu);
}

}  // namespace
}  // namespace amphora
