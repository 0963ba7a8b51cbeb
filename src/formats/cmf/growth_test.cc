// Growth: the reference's bytes, what is refused, and every state that a crash or a failed write can leave.
#include "formats/cmf/growth.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <random>

#include "formats/cmf/testing/files.h"
#include "quant/codec.h"

namespace amphora::cmf {
namespace {

using amphora::testing::TemporaryFolder;
using amphora::testing::test_data;
using testing::read_text;
using testing::small_file;
using testing::write_small_file;

constexpr const char* kSkill = R"([{"id":"s","layers":[0]}])";

/// What a reader sees of a model: header and tensors with their payloads. Empty if it does not verify.
std::string model_of(std::string_view bytes) {
  const auto file = CmfFile::open(as_bytes(bytes));
  if (!file || !verify_bytes(as_bytes(bytes), std::nullopt).valid()) return {};
  std::string model = json::dump(file->header());
  for (const TensorRecord& tensor : file->tensors()) {
    model += "\n" + std::string(tensor.name) + " " + std::string(quant::name_of(tensor.dtype)) +
             ::testing::PrintToString(tensor.shape);
    model += as_text(file->payload(tensor));
  }
  for (const Section section : {Section::kMasks, Section::kVocabulary, Section::kIndex})
    model += as_text(file->section(section));
  return model;
}

/// The growth that makes `grown` of `file`: its header, and the tensors that `file` lacks.
Growth growth_between(const CmfFile& file, const CmfFile& grown) {
  Growth growth{.header = grown.header()};
  for (const TensorRecord& tensor : grown.tensors())
    if (!file.find(tensor.name))
      growth.tensors.push_back(
          {{std::string(tensor.name), tensor.dtype, tensor.shape}, grown.payload(tensor)});
  return growth;
}

std::filesystem::path golden(const std::string& name) { return test_data("cmf_strict/golden") / name; }

/// A growth of small_file(): a skill with two tensors.
Growth small_growth() {
  static const ByteVector payload(18, std::byte{0x22});
  Growth growth{.header = testing::small_header()};
  growth.header.set("provenance", *json::parse(R"({"tool":"t","layout":"canonical"})"));
  growth.header.set("skills", *json::parse(kSkill));
  growth.tensors = {{{"skill.s.c", DType::kQ4Tiled, {1, 32}}, payload},
                    {{"skill.s.a", DType::kF32, {3}}, Bytes(payload).first(12)}};
  return growth;
}

/// The file that small_growth() grows, and the growth with its section hashes.
struct Small {
  TemporaryFolder folder;
  std::filesystem::path path = folder / "a.cmf";
  Growth growth = small_growth();
  std::string before;

  Small() {
    NewFile file = small_file();
    json::Value provenance = json::Value::object();
    provenance.set("tool", json::Value::string("t"));
    promise_canonical_layout(provenance);
    file.header.set("provenance", provenance);
    EXPECT_TRUE(write_small_file(path, file));
    before = read_text(path);
    growth.header.set("section_hashes", *CmfFile::open(path)->header().find("section_hashes"));
  }
  Status grow() const { return cmf::grow(path, *CmfFile::open(path), growth); }
};

TEST(Growth, GivesTheReferencesBytes) {
  for (const auto& [before, after] :
       {std::pair("grown_0.cmf", "grown_1.cmf"), std::pair("grown_1.cmf", "grown_2.cmf")}) {
    const TemporaryFolder folder;
    std::filesystem::copy_file(golden(before), folder / "a.cmf");
    constexpr auto kMode = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write |
                           std::filesystem::perms::others_read;
    std::filesystem::permissions(folder / "a.cmf", kMode);
    const auto file = CmfFile::open(folder / "a.cmf"), grown = CmfFile::open(golden(after));
    ASSERT_TRUE(file && grown);
    const Status status = grow(folder / "a.cmf", *file, growth_between(*file, *grown));
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_TRUE(read_text(folder / "a.cmf") == read_text(golden(after))) << after;
    EXPECT_EQ(std::filesystem::status(folder / "a.cmf").permissions(), kMode);
  }
}

TEST(Growth, KeepsEveryOldByteAndDropsThePromiseOfTheCanonicalLayout) {
  const Small small;
  ASSERT_TRUE(promises_canonical_layout(CmfFile::open(small.path)->header()));
  ASSERT_TRUE(small.grow());
  const std::string after = read_text(small.path);
  EXPECT_TRUE(after.substr(kEnvelopeBytes, small.before.size() - kEnvelopeBytes) ==
              small.before.substr(kEnvelopeBytes));
  const auto file = CmfFile::open(small.path);
  ASSERT_TRUE(file);
  EXPECT_EQ(json::dump(*file->header().find("provenance")), R"({"tool":"t"})");
  EXPECT_EQ(file->skills().size(), 1u);
  EXPECT_EQ(file->tensors().back().name, "skill.s.a");
  EXPECT_EQ(file->envelope().place(Section::kData).end(), file->tensors().back().end());
  EXPECT_THAT(testing::summaries(verify(small.path)->findings), ::testing::IsEmpty());
}

TEST(Growth, PutsLargePayloadsOnPagesAndSetsTheFeatureBits) {
  Small small;
  const ByteVector large(16384);
  small.growth.tensors = {{{"large", DType::kF32, {4096}}, large},
                          {{"below", DType::kF32, {4095}}, Bytes(large).first(16380)}};
  small.growth.header.erase("skills");
  ASSERT_TRUE(small.grow());
  const auto file = CmfFile::open(small.path);
  const uint64_t data = file->envelope().place(Section::kData).offset;
  EXPECT_EQ((file->find("large")->offset - data) % 4096, 0u);
  EXPECT_EQ(file->find("below")->offset, file->find("large")->end());
  EXPECT_EQ(file->envelope().features, kTensorDirectory);

  Growth skill{.header = file->header()};
  skill.header.set("skills", *json::parse(R"([{"id":"s","layers":[],"base_dir_hash":"0123456789abcdef"}])"));
  const ByteVector two_factors(2 * 4 + 2 * 2 + 2 * 4);
  skill.tensors = {{{"q", DType::kQ82F, {2, 4}}, two_factors}};
  ASSERT_TRUE(grow(small.path, *file, skill));
  EXPECT_EQ(CmfFile::open(small.path)->envelope().features, kTensorDirectory | kQuant2F | kSkillFile);
}

TEST(Growth, GrowsAFileThatHadNoTensor) {
  for (const bool window_at_zero : {false, true}) {
    const TemporaryFolder folder;
    NewFile empty{.header = testing::small_header(), .tensors = {{"none", DType::kF16, {0}}}};
    ASSERT_TRUE(CmfWriter::create(folder / "a.cmf", empty)->finish());
    std::string bytes = read_text(folder / "a.cmf");
    if (window_at_zero) {
      bytes.replace(place_field(Section::kData), 8, 8, '\0');
      ASSERT_TRUE(write_file(folder / "a.cmf", as_bytes(bytes)));
    }
    const auto file = CmfFile::open(folder / "a.cmf");
    ASSERT_TRUE(file);
    const ByteVector payload(12);
    const Status status =
        grow(folder / "a.cmf", *file, {file->header(), {{{"a", DType::kF32, {3}}, payload}}});
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_THAT(testing::summaries(verify(folder / "a.cmf")->findings), ::testing::IsEmpty());
    EXPECT_EQ(CmfFile::open(folder / "a.cmf")->tensors().size(), 2u);
  }
}

TEST(Growth, AppendsBehindTheDeadBytesOfAnInterruptedOne) {
  const Small small;
  ASSERT_TRUE(write_file(small.path, as_bytes(small.before + std::string(777, 'x'))));
  ASSERT_TRUE(small.grow());
  EXPECT_EQ(read_text(small.path).substr(small.before.size(), 777), std::string(777, 'x'));
  EXPECT_EQ(testing::summaries(verify(small.path)->findings),
            std::vector<std::string>{"note DeadBytes data " + std::to_string(small.before.size())});
}

TEST(Growth, RefusesWhatAReaderWouldRefuseAndWritesNothing) {
  struct Refusal {
    const char* name;
    std::function<void(Growth&)> damage;
    const char* place;
  };
  const ByteVector infinite(18, std::byte{0x7C});
  const Refusal kRefusals[] = {
      {"no arch", [](Growth& growth) { growth.header.erase("arch"); }, "header $.arch"},
      {"vocab hash of something else",
       [](Growth& growth) {
         growth.header.find("section_hashes")->set("vocab", json::Value::string("0123456789abcdef"));
       },
       "header $.section_hashes.vocab"},
      {"vocab hash dropped", [](Growth& growth) { growth.header.erase("section_hashes"); },
       "header $.section_hashes.vocab"},
      {"name of an old tensor", [](Growth& growth) { growth.tensors[1].tensor.name = "a"; }, "a"},
      {"name twice", [](Growth& growth) { growth.tensors[1] = growth.tensors[0]; }, "skill.s.c"},
      {"empty name", [](Growth& growth) { growth.tensors[0].tensor.name = ""; }, ""},
      {"payload too short", [](Growth& growth) { growth.tensors[0].payload = growth.tensors[1].payload; },
       "skill.s.c"},
      {"payload that verify refuses", [&](Growth& growth) { growth.tensors[0].payload = infinite; },
       "data skill.s.c"},
      {"table that open refuses", [](Growth& growth) { growth.tensors[0].tensor.dtype = DType::kVbit; },
       "data skill.s.c"},
      {"shape of another tensor", [](Growth& growth) { growth.tensors[1].tensor.shape = {3, 1}; },
       "dir skill.s.a"},
      {"skill of nothing", [](Growth& growth) { growth.tensors[1].tensor.name = "skill.s.z"; },
       "dir skill.s.z"},
      {"skill that is not registered", [](Growth& growth) { growth.header.erase("skills"); },
       "dir skill.s.c"},
      {"layer that is not there",
       [](Growth& growth) { growth.header.set("skills", *json::parse(R"([{"id":"s","layers":[1]}])")); },
       "header $.skills[0].layers[0]"},
      {"vocab in shard 2",
       [](Growth& growth) {
         growth.header.erase("skills");
         growth.header.set("shard", *json::parse(R"({"no":2,"count":2})"));
       },
       "vocab"},
  };
  for (const Refusal& refusal : kRefusals) {
    Small small;
    refusal.damage(small.growth);
    const Status status = small.grow();
    ASSERT_FALSE(status) << refusal.name;
    EXPECT_EQ(status.error().place, refusal.place) << refusal.name << ": " << status.error().message;
    EXPECT_FALSE(status.error().message.empty()) << refusal.name;
    EXPECT_TRUE(read_text(small.path) == small.before) << refusal.name;
  }
}

TEST(Growth, RefusesAMaskTaskThatTheFileLacks) {
  const TemporaryFolder folder;
  std::filesystem::copy_file(golden("grown_1.cmf"), folder / "a.cmf");
  const auto file = CmfFile::open(folder / "a.cmf");
  Growth growth{.header = file->header()};
  growth.header.find("skills")->items()[0].set("input_mask_task", json::Value::string("half"));
  EXPECT_TRUE(plan_growth(*file, growth));
  growth.header.find("skills")->items()[0].set("input_mask_task", json::Value::string("absent"));
  const auto plan = plan_growth(*file, growth);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().code, "Skill");
  growth.header.find("skills")->items()[0].set("input_mask_task", json::Value());
  growth.header.find("arch")->set("intermediate_size", json::Value::integer(80));
  EXPECT_EQ(plan_growth(*file, growth).error().place, "masks $.masks[0].blob_len");
}

TEST(Growth, RefusesAFileThatIsBeingGrownOrHasChanged) {
  const Small small;
  const auto file = CmfFile::open(small.path);
  const int other = ::open(small.path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(::flock(other, LOCK_EX), 0);
  const Status locked = grow(small.path, *file, small.growth);
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().fault, Fault::kRefused);
  EXPECT_THAT(locked.error().message, ::testing::HasSubstr("another process"));
  ::close(other);
  EXPECT_TRUE(read_text(small.path) == small.before);

  ASSERT_TRUE(grow(small.path, *file, small.growth));
  const Status changed = grow(small.path, *file, small.growth);
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().fault, Fault::kRefused);
  EXPECT_THAT(changed.error().message, ::testing::HasSubstr("changed"));

  const Small same_size;
  const auto opened = CmfFile::open(same_size.path);
  std::string patched = same_size.before;
  patched[kHeaderHashField] = static_cast<char>(patched[kHeaderHashField] ^ 1);
  ASSERT_TRUE(write_file(same_size.path, as_bytes(patched)));
  EXPECT_EQ(grow(same_size.path, *opened, same_size.growth).error().fault, Fault::kRefused);

  const Small longer;
  const auto short_one = CmfFile::open(longer.path);
  std::ofstream(longer.path, std::ios::binary | std::ios::app) << 'x';
  EXPECT_EQ(grow(longer.path, *short_one, longer.growth).error().fault, Fault::kRefused);
}

TEST(Growth, FollowsASymbolicLinkAndRefusesWhatIsNoFile) {
  const Small small;
  std::filesystem::create_symlink(small.path, small.folder / "link.cmf");
  const auto file = CmfFile::open(small.path);
  EXPECT_EQ(grow(small.folder.path(), *file, small.growth).error().fault, Fault::kIo);
  EXPECT_EQ(grow(small.folder / "absent.cmf", *file, small.growth).error().fault, Fault::kNotFound);
  EXPECT_TRUE(grow(small.folder / "link.cmf", *file, small.growth));
  EXPECT_TRUE(std::filesystem::is_symlink(small.folder / "link.cmf"));
  EXPECT_TRUE(verify(small.path)->valid());
}

TEST(Growth, AFullMediumLeavesTheOldFile) {
  const Small small;
  rlimit unlimited{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &unlimited), 0);
  const rlimit limit{small.before.size() + 500, unlimited.rlim_max};  // in the middle of the directory
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const Status status = small.grow();
  ::setrlimit(RLIMIT_FSIZE, &unlimited);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().fault, Fault::kIo);
  EXPECT_TRUE(read_text(small.path) == small.before);
}

/// A write, or a sync if `bytes` is empty.
struct Operation {
  uint64_t offset = 0;
  std::string bytes;
  bool is_sync() const { return bytes.empty(); }
};

/// Remembers a growth's operations, or fails one of them: a write after `torn` bytes.
class TestStorage final : public GrowthStorage {
 public:
  explicit TestStorage(std::string bytes, size_t failing = SIZE_MAX, size_t torn = 0)
      : file(std::move(bytes)), failing_(failing), torn_(torn) {}

  Status write_at(uint64_t offset, Bytes bytes) override {
    operations.push_back({offset, std::string(as_text(bytes))});
    const bool fails = operations.size() == failing_ + 1;
    apply(file, operations.back(), fails ? torn_ : bytes.size());
    if (fails) return fail(Fault::kIo, "no space");
    return {};
  }
  Status sync() override {
    operations.emplace_back();
    if (operations.size() == failing_ + 1) return fail(Fault::kIo, "the medium failed");
    return {};
  }
  Status truncate(uint64_t bytes) override {
    file.resize(bytes);
    return {};
  }

  static void apply(std::string& file, const Operation& operation, size_t bytes) {
    if (bytes == 0) return;
    file.resize(std::max<size_t>(file.size(), operation.offset + bytes));
    file.replace(operation.offset, bytes, operation.bytes, 0, bytes);
  }

  std::string file;
  std::vector<Operation> operations;

 private:
  size_t failing_, torn_;
};

/// A growth as a crash meets it.
struct Crash {
  std::string before;
  std::vector<Operation> operations;
  std::string old_model, new_model;

  Crash(std::string old_bytes, const Growth& growth) : before(std::move(old_bytes)) {
    const auto file = CmfFile::open(as_bytes(before));
    const auto plan = plan_growth(*file, growth);
    EXPECT_TRUE(plan) << plan.error().place << " " << plan.error().message;
    TestStorage storage(before);
    EXPECT_TRUE(write_growth(*plan, storage));
    operations = storage.operations;
    old_model = model_of(before);
    new_model = model_of(storage.file);
    EXPECT_FALSE(old_model.empty());
    EXPECT_FALSE(new_model.empty());
    EXPECT_NE(old_model, new_model);
  }

  /// Whether the envelope's write is among the first `count` operations.
  bool has_step(size_t count) const {
    return std::any_of(
        operations.begin(), operations.begin() + static_cast<ptrdiff_t>(count),
        [](const Operation& operation) { return !operation.is_sync() && operation.offset == 0; });
  }
};

/// The two models that the tests cut: one with every byte small, and the reference's.
std::vector<Crash> crashes() {
  const Small small;
  std::vector<Crash> list;
  list.emplace_back(small.before, small.growth);
  const auto file = CmfFile::open(golden("grown_1.cmf")), grown = CmfFile::open(golden("grown_2.cmf"));
  list.emplace_back(read_text(golden("grown_1.cmf")), growth_between(*file, *grown));
  return list;
}

TEST(GrowthCrash, TheEnvelopeIsOneWriteBetweenTwoSyncsBehindAllOthers) {
  for (const Crash& crash : crashes()) {
    const std::vector<Operation>& operations = crash.operations;
    ASSERT_GE(operations.size(), 5u);
    const size_t step = operations.size() - 2;
    EXPECT_TRUE(operations[step - 1].is_sync());
    EXPECT_EQ(operations[step].offset, 0u);
    EXPECT_EQ(operations[step].bytes.size(), kEnvelopeBytes);
    EXPECT_TRUE(operations[step + 1].is_sync());
    for (size_t i = 0; i + 1 < step; ++i) EXPECT_GE(operations[i].offset, crash.before.size());
  }
}

TEST(GrowthCrash, EveryPrefixAndEveryTornWriteIsTheOldModelOrTheNewOne) {
  for (const Crash& crash : crashes()) {
    std::string file = crash.before;
    for (size_t i = 0; i < crash.operations.size(); ++i) {
      const Operation& operation = crash.operations[i];
      const bool atomic = operation.offset == 0;  // the envelope (and syncs): see write_growth()
      const size_t bytes = operation.bytes.size();
      const size_t step = bytes <= 700 ? 1 : bytes / 7;  // every length of the small writes
      for (size_t torn = 0; !atomic && torn < bytes; torn += step) {
        std::string state = file;
        TestStorage::apply(state, operation, torn);
        ASSERT_TRUE(model_of(state) == crash.old_model) << "operation " << i << " torn at " << torn;
      }
      TestStorage::apply(file, operation, bytes);
      ASSERT_TRUE(model_of(file) == (crash.has_step(i + 1) ? crash.new_model : crash.old_model)) << i;
    }
  }
}

TEST(GrowthCrash, AnyOrderAndSubsetOfUnsyncedWritesIsTheOldModelOrTheNewOne) {
  std::mt19937 random(20240611);
  const auto below = [&](size_t limit) { return static_cast<size_t>(random()) % limit; };
  for (const Crash& crash : crashes()) {
    for (int round = 0; round < 150; ++round) {
      const size_t issued = 1 + below(crash.operations.size());
      size_t synced = issued;
      while (synced > 0 && !crash.operations[synced - 1].is_sync()) --synced;
      std::string file = crash.before;
      for (size_t i = 0; i < synced; ++i)
        TestStorage::apply(file, crash.operations[i], crash.operations[i].bytes.size());
      std::vector<size_t> order;
      for (size_t i = synced; i < issued; ++i)
        if (below(3) != 0) order.push_back(i);
      std::shuffle(order.begin(), order.end(), random);
      bool stepped = crash.has_step(synced);
      for (const size_t i : order) {
        Operation operation = crash.operations[i];
        const bool atomic = operation.offset == 0;
        stepped = stepped || atomic;
        // Its place may be there before its bytes are.
        if (!atomic && below(4) == 0) operation.bytes.assign(operation.bytes.size(), '\0');
        TestStorage::apply(file, operation,
                           atomic ? operation.bytes.size() : below(operation.bytes.size() + 1));
      }
      ASSERT_TRUE(model_of(file) == (stepped ? crash.new_model : crash.old_model)) << "round " << round;
    }
  }
}

TEST(GrowthCrash, AWriteThatFailsLeavesTheOldBytes) {
  const Small small;
  const auto file = CmfFile::open(small.path);
  const auto plan = plan_growth(*file, small.growth);
  ASSERT_TRUE(plan);
  const std::vector<Operation> operations = crashes()[0].operations;
  for (size_t i = 0; i + 1 < operations.size(); ++i)
    for (size_t torn = 0; torn <= operations[i].bytes.size(); torn += 1 + operations[i].bytes.size() / 9) {
      TestStorage storage(small.before, i, torn);
      const Status status = write_growth(*plan, storage);
      ASSERT_FALSE(status);
      EXPECT_EQ(status.error().fault, Fault::kIo);
      EXPECT_TRUE(storage.file == small.before) << "operation " << i << " torn at " << torn;
    }
  // The last sync: whether the step is on the medium is unknown, so both models must stay whole.
  TestStorage storage(small.before, operations.size() - 1);
  EXPECT_FALSE(write_growth(*plan, storage));
  EXPECT_TRUE(model_of(storage.file) == crashes()[0].new_model);
  storage.file.replace(0, kEnvelopeBytes, small.before, 0, kEnvelopeBytes);
  EXPECT_TRUE(model_of(storage.file) == crashes()[0].old_model);
}

}  // namespace
}  // namespace amphora::cmf
