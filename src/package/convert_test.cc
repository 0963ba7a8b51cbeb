// Tests of conversion: every type there and back, determinism, refusals that leave nothing behind.
#include "package/convert.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstring>
#include <limits>
#include <utility>

#include "base/file.h"
#include "formats/cmf/verify.h"
#include "package/arch_json.h"
#include "package/testing/model_folder.h"
#include "quant/codec.h"

namespace amphora {
namespace {

using ::testing::AllOf;
using testing::edited;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::ModelFolder;
using testing::read_text;
using testing::TemporaryFolder;
using testing::test_data;
using testing::values_of;

std::shared_ptr<const Package> opened(const std::filesystem::path& path) {
  auto package = open_package(path);
  EXPECT_TRUE(package) << path << ": " << package.error().message;
  return package ? *package : std::make_shared<const Package>();
}

ConvertOptions to(std::string_view target) {
  ConvertOptions options;
  options.quant.target = *parse_quant_target(target);
  options.encoder = quant::Encoder::kPlain;  // its errors have the simple bound that these tests check
  options.tool = "amphora test";
  return options;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    names.push_back(entry.path().filename().string());
  return names;
}

void expect_valid(const std::filesystem::path& file) {
  const auto report = cmf::verify(file);
  ASSERT_TRUE(report) << report.error().message;
  for (const cmf::Finding& finding : report->findings) ADD_FAILURE() << file << ": " << finding.message;
}

/// Half a step of the row's or group's scale is the most that rounding may cost (and a little for the rounded
/// scale).
void expect_close(const PackageTensor& source, const PackageTensor& written) {
  const std::vector<float> wanted = values_of(source), found = values_of(written);
  ASSERT_EQ(wanted.size(), found.size());
  const bool exact =
      *written.dtype == DType::kF32 || *written.dtype == DType::kF16 || *written.dtype == DType::kBF16;
  if (exact) {  // these models' weights fit all three
    EXPECT_EQ(std::memcmp(wanted.data(), found.data(), wanted.size() * sizeof(float)), 0) << source.name;
    return;
  }
  const size_t columns = source.shape[1];
  const bool four_bits = *written.dtype == DType::kQ4Block || *written.dtype == DType::kQ4Tiled;
  const size_t group = four_bits ? 32 : columns;
  for (size_t start = 0; start < wanted.size(); start += group) {
    float largest = 0;
    for (size_t i = start; i < start + group; ++i) largest = std::max(largest, std::fabs(wanted[i]));
    // q8_2f scales columns too: its step is that of a row after division by the columns' spread.
    const float step = largest / (four_bits ? 7.0f : 127.0f) * (*written.dtype == DType::kQ82F ? 4.0f : 1.0f);
    for (size_t i = start; i < start + group; ++i)
      ASSERT_NEAR(wanted[i], found[i], 0.51f * step + 1e-5f) << source.name << " " << i;
  }
}

TEST(Convert, WritesEveryTypeSoThatItReadsBack) {
  const TemporaryFolder folder;
  for (const char* model : {"llama", "llama_sharded", "qwen2", "qwen3", "gemma3"}) {
    const auto source = opened(test_data("hf/tiny") / model);
    for (const char* target : {"f32", "f16", "bf16", "q8", "q8_2f", "q4", "q4t", "keep"}) {
      const auto out = folder / (std::string(model) + "-" + target + ".cmf");
      const auto report = convert(*source, out, to(target));
      ASSERT_TRUE(report) << model << " " << target << ": " << report.error().message;
      ASSERT_EQ(report->files.size(), 1u);
      EXPECT_EQ(report->files[0].path, out);
      EXPECT_EQ(report->files[0].bytes, std::filesystem::file_size(out));
      expect_valid(out);
      const auto written = opened(out);
      EXPECT_TRUE(package::encode_arch(written->spec) == package::encode_arch(source->spec)) << model;
      EXPECT_EQ(written->tokenizer_json, source->tokenizer_json);
      EXPECT_EQ(written->tokenizer.chat_template, source->tokenizer.chat_template);
      EXPECT_EQ(written->tokenizer.eos_token_ids, source->tokenizer.eos_token_ids);
      EXPECT_EQ(written->tokenizer.bos_token_id, source->tokenizer.bos_token_id);
      EXPECT_EQ(written->tokenizer.pad_token_id, source->tokenizer.pad_token_id);
      ASSERT_EQ(written->tensors.size(), source->tensors.size());
      for (size_t i = 0; i < source->tensors.size(); ++i) {
        ASSERT_EQ(written->tensors[i].name, source->tensors[i].name);
        ASSERT_EQ(written->tensors[i].shape, source->tensors[i].shape);
        expect_close(source->tensors[i], written->tensors[i]);
      }
    }
  }
}

TEST(Convert, DoesNotDependOnThreads) {
  const TemporaryFolder folder;
  const auto source = opened(test_data("base-model"));
  for (const char* target : {"q8", "q4t", "keep"}) {
    ConvertOptions options = to(target);
    std::vector<std::string> files;
    for (const size_t threads : {1, 2, 3}) {
      options.threads = threads;
      ASSERT_TRUE(convert(*source, folder / "out.cmf", options));
      files.push_back(read_text(folder / "out.cmf"));
    }
    EXPECT_EQ(files[0], files[1]) << target;
    EXPECT_EQ(files[0], files[2]) << target;
  }
}

TEST(Convert, RecordsWhereItCameFromWithoutPathsOrTimes) {
  const TemporaryFolder folder;
  std::filesystem::path slashed = test_data("hf/tiny/qwen2");
  slashed += "/";
  ASSERT_TRUE(convert(*opened(slashed), folder / "out.cmf", to("q8")));
  const auto written = opened(folder / "out.cmf");
  EXPECT_EQ(
      json::dump(written->provenance),
      R"({"tool":"amphora test","source_format":"huggingface","source_file":"qwen2","layout":"canonical"})");
  EXPECT_EQ(written->header.find("quant_type")->text(), "Q8_ROW");
  std::vector<std::string> keys;
  for (const json::Member& member : written->header.members()) keys.push_back(member.key);
  EXPECT_THAT(keys, ElementsAre("format", "version", "arch", "quant_type", "provenance", "tokenizer_config",
                                "section_hashes"));
}

TEST(Convert, ReportsTheBitsThatItSpends) {
  const auto source = opened(test_data("hf/tiny/llama"));
  ConvertOptions options = to("q4t");
  options.dry_run = true;
  const auto report = convert(*source, "/nowhere/out.cmf", options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->elements, 176576u);  // the index of the sharded copy says so
  EXPECT_EQ(report->source_bytes, 706304u);
  EXPECT_DOUBLE_EQ(*report->nominal_bits, 4.5);
  // Two matrices of 512 x 64 in q8_row, 110592 elements in 18-byte groups of 32, 448 in f16.
  EXPECT_EQ(report->payload_bytes, 2u * (512 * 64 + 512 * 2) + 110592u / 32 * 18 + 448u * 2);
  EXPECT_NEAR(report->real_bits, 8.0 * static_cast<double>(report->payload_bytes) / 176576, 1e-12);
  EXPECT_THAT(report->files, IsEmpty());
  options.quant.target = *parse_quant_target("keep");
  EXPECT_FALSE(convert(*source, "/nowhere/out.cmf", options)->nominal_bits);
}

TEST(Convert, TellsItsProgressUpToTheEnd) {
  const TemporaryFolder folder;
  std::vector<std::pair<uint64_t, uint64_t>> told;
  const auto report = convert(*opened(test_data("hf/tiny/llama")), folder / "out.cmf", to("q8"),
                              [&](uint64_t done, uint64_t total) { told.emplace_back(done, total); });
  ASSERT_TRUE(report);
  ASSERT_FALSE(told.empty());
  EXPECT_EQ(told.back(), std::pair(report->payload_bytes, report->payload_bytes));
  EXPECT_TRUE(std::ranges::is_sorted(told));
}

struct Poison {
  const char* name;
  float value;
  const char* words;
};

TEST(Convert, NamesTheTensorAndIndexOfWhatIsNotFinite) {
  const Poison kPoisons[] = {
      {"NaN", std::numeric_limits<float>::quiet_NaN(), "NaN at flat index 77"},
      {"infinity", std::numeric_limits<float>::infinity(), "infinity at flat index 77"},
      {"minus infinity", -std::numeric_limits<float>::infinity(), "infinity at flat index 77"},
  };
  for (const Poison& poison : kPoisons) {
    ModelFolder model("qwen2");
    std::memcpy(model.tensor("model.layers.2.mlp.up_proj.weight").data.data() + 4 * 77, &poison.value, 4);
    model.write_weights();
    for (const char* target : {"f32", "f16", "bf16", "q8", "q8_2f", "q4", "q4t", "keep"}) {
      const TemporaryFolder folder;
      const auto report = convert(*opened(model.path()), folder / "out.cmf", to(target));
      ASSERT_FALSE(report) << poison.name << " " << target;
      EXPECT_EQ(report.error().fault, Fault::kRefused);
      EXPECT_EQ(report.error().place, "model.layers.2.mlp.up_proj.weight");
      EXPECT_THAT(report.error().message, HasSubstr(poison.words)) << target;
      EXPECT_THAT(names_in(folder.path()), IsEmpty()) << target;
    }
  }
}

TEST(Convert, RefusesWhatDoesNotFitF16) {
  ModelFolder model("qwen2");
  const float large = 70000;
  std::memcpy(model.tensor("model.norm.weight").data.data() + 4 * 5, &large, 4);
  model.write_weights();
  const TemporaryFolder folder;
  const auto report = convert(*opened(model.path()), folder / "out.cmf", to("q8"));
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().place, "model.norm.weight");
  EXPECT_THAT(report.error().message, HasSubstr("flat index 5 does not fit f16"));
  EXPECT_THAT(names_in(folder.path()), IsEmpty());
  EXPECT_TRUE(convert(*opened(model.path()), folder / "out.cmf", to("f32")));
}

TEST(Convert, KeepsAnOldFileWhenItRefuses) {
  ModelFolder model("qwen2");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::memcpy(model.tensor("model.norm.weight").data.data(), &nan, 4);
  model.write_weights();
  const TemporaryFolder folder;
  std::ofstream(folder / "out.cmf") << "old";
  EXPECT_FALSE(convert(*opened(model.path()), folder / "out.cmf", to("q8")));
  EXPECT_EQ(read_text(folder / "out.cmf"), "old");
  EXPECT_THAT(names_in(folder.path()), ElementsAre("out.cmf"));
}

TEST(Convert, RefusesADamagedTokenizer) {
  const ModelFolder model("llama");
  const std::string whole = model.text("tokenizer.json");
  for (const std::string& damaged : {whole.substr(0, 5000), std::string("{}"), whole + "}"}) {
    model.write("tokenizer.json", damaged);
    for (const bool dry_run : {false, true}) {
      const TemporaryFolder folder;
      ConvertOptions options = to("q8");
      options.dry_run = dry_run;
      const auto report = convert(*opened(model.path()), folder / "out.cmf", options);
      ASSERT_FALSE(report) << damaged.size();
      EXPECT_EQ(report.error().fault, Fault::kCorrupt);
      EXPECT_EQ(report.error().place, "tokenizer.json");
      EXPECT_THAT(report.error().message, HasSubstr("tokenizer.json, $"));
      EXPECT_THAT(names_in(folder.path()), IsEmpty());
    }
  }
}

TEST(Convert, KeepsATokenizerThatItCannotRunAndSaysSo) {
  const ModelFolder model("llama");
  model.edit("tokenizer.json", {{"normalizer", R"({"type":"Rot13"})"}});
  const TemporaryFolder folder;
  const auto source = opened(model.path());
  const auto report = convert(*source, folder / "out.cmf", to("q8"));
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_EQ(report->notes.size(), 1u);
  EXPECT_THAT(report->notes[0], HasSubstr("Rot13"));
  EXPECT_THAT(report->notes[0], HasSubstr("tokenizer.json, $.normalizer"));
  EXPECT_EQ(opened(folder / "out.cmf")->tokenizer_json, source->tokenizer_json);
}

TEST(Convert, NotesTokensBeyondTheModelsVocabulary) {
  const ModelFolder model("llama");
  model.write("tokenizer_config.json", "{}");
  const auto notes_with = [&](uint32_t last) {
    model.write("tokenizer.json",
                fmt::format(R"({{"model":{{"type":"BPE","vocab":{{"a":0,"b":{}}},"merges":[]}}}})", last));
    const TemporaryFolder folder;
    const auto report = convert(*opened(model.path()), folder / "out.cmf", to("q8"));
    EXPECT_TRUE(report) << report.error().message;
    return report ? report->notes : std::vector<std::string>();
  };
  EXPECT_THAT(notes_with(511), IsEmpty());
  EXPECT_THAT(notes_with(512),
              ElementsAre(HasSubstr("ids up to 512, but the model's vocabulary ends at 511")));
}

TEST(Convert, NotesAChatTemplateThatCannotBeParsed) {
  const ModelFolder model("llama");
  model.write("chat_template.jinja", "{{ bos_token }}\n{% for m in %}");
  const TemporaryFolder folder;
  const auto source = opened(model.path());
  const auto report = convert(*source, folder / "out.cmf", to("q8"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->notes, ElementsAre(AllOf(HasSubstr("the chat template cannot be used"),
                                               HasSubstr("line 2, column 13"))));
  EXPECT_EQ(opened(folder / "out.cmf")->tokenizer.chat_template, source->tokenizer.chat_template);
}

TEST(Convert, NotesRulesThatMatchNoTensor) {
  const auto source = opened(test_data("hf/tiny/llama"));
  ConvertOptions options = to("q8");
  options.dry_run = true;
  for (const char* rule : {"up_proj=q4", "no_such=f16", "mlp=q8"})
    options.quant.rules.push_back(*parse_quant_rule(rule));
  const auto report = convert(*source, "", options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_THAT(report->notes, ElementsAre("the rule 'no_such=f16' matches no tensor"));
}

TEST(Convert, RecordsASourceWhoseNameIsNotUtf8) {
  const ModelFolder model("llama");
  const TemporaryFolder folder;
  const auto source = folder / "caf\xE9";
  std::filesystem::copy(model.path(), source);
  const auto report = convert(*opened(source), folder / "out.cmf", to("q8"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(opened(folder / "out.cmf")->provenance.find("source_file")->text(), "caf\uFFFD");
}

TEST(Convert, RefusesToWriteIntoItsSource) {
  const ModelFolder model("llama");
  const auto source = opened(model.path());
  const std::string before = model.text("model.safetensors");
  for (const char* name : {"model.safetensors", "out.cmf"}) {
    const auto report = convert(*source, model / name, to("q8"));
    ASSERT_FALSE(report) << name;
    EXPECT_EQ(report.error().fault, Fault::kUsage) << name;
    EXPECT_THAT(report.error().message, HasSubstr("lies in the source"));
  }
  EXPECT_EQ(model.text("model.safetensors"), before);

  const TemporaryFolder folder;
  ASSERT_TRUE(convert(*source, folder / "a.cmf", to("f16")));
  std::filesystem::create_hard_link(folder / "a.cmf", folder / "b.cmf");
  EXPECT_EQ(convert(*opened(folder / "a.cmf"), folder / "a.cmf", to("q8")).error().fault, Fault::kUsage);
  EXPECT_EQ(convert(*opened(folder / "a.cmf"), folder / "b.cmf", to("q8")).error().fault, Fault::kUsage);
  EXPECT_TRUE(convert(*opened(folder / "a.cmf"), folder / "c.cmf", to("q8")));
  EXPECT_EQ(convert(*source, folder.path(), to("q8")).error().fault, Fault::kUsage);
  EXPECT_FALSE(convert(*source, folder / "no such folder" / "x.cmf", to("q8")));
}

TEST(Convert, CopiesAFileOfAnotherProgramWithAllThatItSays) {
  const TemporaryFolder folder;
  const auto source = opened(test_data("cmf/dense_q8.cmf"));
  for (const char* target : {"keep", "q8"}) {
    const auto out = folder / (std::string(target) + ".cmf");
    const auto report = convert(*source, out, to(target));
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_THAT(report->notes, ElementsAre(HasSubstr("it is carried as it is"))) << "no real tokenizer";
    expect_valid(out);
    const auto copy = opened(out);
    EXPECT_EQ(copy->tokenizer_json, source->tokenizer_json);
    ASSERT_EQ(copy->tensors.size(), source->tensors.size());
    for (size_t i = 0; i < copy->tensors.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(copy->tensors[i].stored, source->tensors[i].stored))
          << copy->tensors[i].name;
    EXPECT_EQ(json::dump(*copy->header.find("arch")), json::dump(*source->header.find("arch")));
    EXPECT_EQ(json::dump(*copy->header.find("tokenizer_config")),
              json::dump(*source->header.find("tokenizer_config")));
    EXPECT_EQ(copy->provenance.find("source_model")->text(), "src/qwen2");
    EXPECT_EQ(copy->provenance.find("source_format")->text(), "cmf");
  }
}

/// Everything of the header but what a conversion sets.
json::Value rest_of_header(const Package& package) {
  json::Value header = package.header;
  for (const char* key : {"quant_type", "provenance", "section_hashes", "shard"}) header.erase(key);
  return header;
}

TEST(Convert, CarriesMasksIndexAndSkills) {
  const TemporaryFolder folder;
  for (const char* name : {"py_masks.cmf", "masks_dense.cmf", "masks_loop.cmf", "masks_expert.cmf",
                           "moe_mask.cmf", "skill_two.cmf", "skill_sparse.cmf", "skill_file.cmf"}) {
    const auto source = opened(test_data("cmf") / name);
    for (const char* target : {"f16", "q8", "q4t", "keep"}) {
      const auto out = folder / "out.cmf";
      const auto report = convert(*source, out, to(target));
      ASSERT_TRUE(report) << name << " " << target << ": " << report.error().message;
      expect_valid(out);
      const auto written = opened(out);
      EXPECT_TRUE(std::ranges::equal(written->masks, source->masks)) << name;
      EXPECT_TRUE(std::ranges::equal(written->index, source->index)) << name;
      EXPECT_EQ(written->loop_masks, source->loop_masks) << name;
      EXPECT_EQ(json::dump(rest_of_header(*written)), json::dump(rest_of_header(*source))) << name;
      EXPECT_EQ(written->not_runnable, source->not_runnable) << name;
      ASSERT_EQ(written->tensors.size(), source->tensors.size());
      for (size_t i = 0; i < source->tensors.size(); ++i)
        EXPECT_EQ(written->tensors[i].name, source->tensors[i].name);
    }
  }
}

TEST(Convert, BuildsTheIndexOnRequest) {
  const TemporaryFolder folder;
  Package without = *opened(test_data("cmf/masks_loop.cmf"));
  const Bytes wanted = std::exchange(without.index, {});
  ASSERT_FALSE(wanted.empty());
  ConvertOptions options = to("keep");
  ASSERT_TRUE(convert(without, folder / "out.cmf", options));
  EXPECT_TRUE(opened(folder / "out.cmf")->index.empty());
  options.write_index = true;
  ASSERT_TRUE(convert(without, folder / "out.cmf", options));
  expect_valid(folder / "out.cmf");
  EXPECT_TRUE(std::ranges::equal(opened(folder / "out.cmf")->index, wanted));
  for (const bool dry_run : {true, false}) {
    options.dry_run = dry_run;
    const auto refused = convert(*opened(test_data("cmf/dense_q8.cmf")), folder / "no.cmf", options);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().fault, Fault::kRefused);
  }
  EXPECT_THAT(names_in(folder.path()), ElementsAre("out.cmf"));
}

TEST(Convert, CutsIntoShardsThatHoldTheSame) {
  const TemporaryFolder folder;
  const auto source = opened(test_data("hf/tiny/llama"));
  ConvertOptions options = to("f16");
  ASSERT_TRUE(convert(*source, folder / "whole.cmf", options));
  options.shard_max_bytes = 100000;  // the embedding and the head have 65536 each
  const auto report = convert(*source, folder / "cut.cmf", options);
  ASSERT_TRUE(report) << report.error().message;
  ASSERT_GE(report->files.size(), 4u);
  for (const OutputFile& file : report->files) {
    EXPECT_EQ(file.bytes, std::filesystem::file_size(file.path));
    expect_valid(file.path);
  }
  EXPECT_EQ(names_in(folder.path()).size(), report->files.size() + 1);
  const auto whole = opened(folder / "whole.cmf"), cut = opened(report->files[0].path);
  ASSERT_EQ(whole->tensors.size(), cut->tensors.size());
  for (size_t i = 0; i < whole->tensors.size(); ++i) {
    EXPECT_EQ(whole->tensors[i].name, cut->tensors[i].name);
    EXPECT_TRUE(std::ranges::equal(whole->tensors[i].stored, cut->tensors[i].stored));
  }
  EXPECT_EQ(cut->tokenizer_json, whole->tokenizer_json);
  // A shard must not take the place of a file that is being read.
  for (const OutputFile& file : report->files)
    EXPECT_EQ(convert(*cut, file.path, to("q8")).error().fault, Fault::kUsage);
  EXPECT_EQ(convert(*cut, folder / "cut.cmf", options).error().fault, Fault::kUsage);
  options.shard_max_bytes.reset();
  ASSERT_TRUE(convert(*cut, folder / "again.cmf", options));
  EXPECT_FALSE(opened(folder / "again.cmf")->header.find("shard"));
}

TEST(Convert, VbitKeepsItsBudgetAndItsPlan) {
  const TemporaryFolder folder;
  const auto source = opened(test_data("base-model"));
  for (const char* target : {"vbit", "vbit:5.5", "vbit_ro:4"}) {
    ConvertOptions options = to(target);
    options.dry_run = true;
    const auto dry = convert(*source, "", options);
    ASSERT_TRUE(dry) << target << ": " << dry.error().message;
    options.dry_run = false;
    std::vector<std::string> files;
    for (const size_t threads : {1, 3}) {
      options.threads = threads;
      const auto report = convert(*source, folder / "out.cmf", options);
      ASSERT_TRUE(report) << target << ": " << report.error().message;
      EXPECT_EQ(report->payload_bytes, dry->payload_bytes) << "the plan of a dry run is exact";
      for (size_t i = 0; i < report->tensors.size(); ++i)
        EXPECT_EQ(report->tensors[i].row_widths, dry->tensors[i].row_widths);
      expect_valid(folder / "out.cmf");
      files.push_back(read_text(folder / "out.cmf"));
    }
    EXPECT_EQ(files[0], files[1]) << target;
  }
}

TEST(Convert, EncodesVbitAgainOnlyForAGivenBudget) {
  const TemporaryFolder folder;
  const auto source = opened(test_data("cmf/py_vbit.cmf"));
  const auto verbatim_matrices = [&](const char* target) {
    const auto report = convert(*source, folder / "out.cmf", to(target));
    EXPECT_TRUE(report) << report.error().message;
    expect_valid(folder / "out.cmf");
    size_t copied = 0, all = 0;
    for (const PlannedTensor& planned : report->tensors) {
      if (planned.dtype != DType::kVbit) continue;
      ++all;
      copied += planned.verbatim;
    }
    EXPECT_GT(all, 0u);
    return copied == 0 ? 0 : copied == all ? 1 : -1;
  };
  EXPECT_EQ(verbatim_matrices("vbit"), 1);
  EXPECT_EQ(verbatim_matrices("keep"), 1);
  EXPECT_EQ(verbatim_matrices("vbit:3"), 0);
}

/// Ends as the program does on SIGTERM.
void end_cleanly(int) {
  remove_unfinished_files();
  ::_exit(0);
}

TEST(Convert, LeavesNothingWhenItIsKilled) {
  const auto source = opened(test_data("hf/tiny/llama"));
  for (int steps = 0; steps < 40; steps += 3) {  // after so many tensors
    const TemporaryFolder folder;
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      std::signal(SIGTERM, end_cleanly);
      int left = steps;
      const auto report = convert(*source, folder / "out.cmf", to("q8"), [&](uint64_t, uint64_t) {
        if (left-- == 0) std::raise(SIGTERM);
      });
      ::_exit(report ? 7 : 8);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    const bool finished = WEXITSTATUS(status) == 7;
    EXPECT_EQ(finished, steps >= 30) << "30 tensors, told one by one";
    if (finished) {
      EXPECT_THAT(names_in(folder.path()), ElementsAre("out.cmf")) << steps;
    } else {
      EXPECT_EQ(WEXITSTATUS(status), 0) << steps;
      EXPECT_THAT(names_in(folder.path()), IsEmpty()) << steps;
    }
  }
}

}  // namespace
}  // namespace amphora
