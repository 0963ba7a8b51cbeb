// New files: the canonical layout byte for byte, determinism, and what is refused.
#include "formats/cmf/writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/byte_reader.h"
#include "formats/cmf/cmf_file.h"
#include "formats/cmf/testing/files.h"

namespace amphora::cmf {
namespace {

using amphora::testing::TemporaryFolder;
using amphora::testing::test_data;
using testing::read_text;
using testing::small_file;
using testing::write_small_file;

NewFile copy_of(const CmfFile& file) {
  NewFile copy{.header = file.header(),
               .tensors = {},
               .tokenizer_json = as_bytes(file.tokenizer_json()),
               .masks = file.section(Section::kMasks),
               .index = file.section(Section::kIndex),
               .loop_masks = (file.envelope().features & kLoopMasks) != 0};
  for (const TensorRecord& tensor : file.tensors())
    copy.tensors.push_back({std::string(tensor.name), tensor.dtype, tensor.shape, tensor.bytes});
  return copy;
}

/// Writes a compact copy, payloads in portions of `portion` bytes.
Status rewrite(const CmfFile& file, const std::filesystem::path& path, size_t portion) {
  AMPHORA_ASSIGN(CmfWriter writer, CmfWriter::create(path, copy_of(file)));
  for (const TensorRecord& tensor : file.tensors()) {
    const Bytes payload = file.payload(tensor);
    for (size_t at = 0; at < payload.size(); at += portion)
      AMPHORA_TRY(writer.write(tensor.name, payload.subspan(at, std::min(portion, payload.size() - at))));
  }
  return writer.finish();
}

TEST(CmfWriter, RewritesEveryCanonicalFileToTheSameBytes) {
  const char* const kFiles[][2] = {// source, the reference writer's canonical copy of it
                                   {"config_u8", "config_u8"},
                                   {"empty_optional", "empty_optional"},
                                   {"encode", "encode"},
                                   {"grown_2", "grown_compact"},
                                   {"index_only", "index_only"},
                                   {"ladders", "ladders"},
                                   {"masks_expert", "masks_expert"},
                                   {"masks_loop", "masks_loop"},
                                   {"masks_plain", "masks_plain"},
                                   {"names", "names"},
                                   {"no_tensors", "no_tensors"},
                                   {"overlays", "overlays"},
                                   {"shapes", "shapes"},
                                   {"skill_file", "skill_file"},
                                   {"vbit_widths", "vbit_widths"},
                                   {"unknown_keys_rewritten", "unknown_keys_rewritten"}};
  const TemporaryFolder folder;
  for (const auto& [source, wanted] : kFiles) {
    SCOPED_TRACE(source);
    const std::filesystem::path golden = test_data("cmf_strict/golden");
    const auto file = CmfFile::open(golden / (std::string(source) + ".cmf"));
    ASSERT_TRUE(file);
    for (const size_t portion : {size_t{17}, size_t{1} << 20}) {
      const auto status = rewrite(*file, folder / "copy.cmf", portion);
      ASSERT_TRUE(status) << status.error().place << ": " << status.error().message;
      EXPECT_TRUE(read_text(folder / "copy.cmf") == read_text(golden / (std::string(wanted) + ".cmf")));
    }
  }
}

TEST(CmfWriter, SizeIsKnownBeforeThePayloads) {
  const TemporaryFolder folder;
  const auto file = small_file();
  const auto writer = CmfWriter::create(folder / "a.cmf", file);
  ASSERT_TRUE(writer);
  ASSERT_TRUE(write_small_file(folder / "b.cmf", file));
  EXPECT_EQ(writer->file_bytes(), std::filesystem::file_size(folder / "b.cmf"));
}

TEST(CmfWriter, PlacesLargePayloadsOnPages) {
  const TemporaryFolder folder;
  const NewFile file{
      .header = testing::small_header(),
      .tensors = {
          {"small", DType::kF32, {1}}, {"below", DType::kF32, {4095}}, {"large", DType::kF32, {4096}}}};
  auto writer = CmfWriter::create(folder / "a.cmf", file);
  ASSERT_TRUE(writer);
  const ByteVector zeros(16384);
  ASSERT_TRUE(writer->write("small", Bytes(zeros).first(4)));
  ASSERT_TRUE(writer->write("below", Bytes(zeros).first(16380)));
  ASSERT_TRUE(writer->write("large", zeros));
  ASSERT_TRUE(writer->finish());
  const auto opened = CmfFile::open(folder / "a.cmf");
  ASSERT_TRUE(opened);
  const uint64_t data = opened->envelope().place(Section::kData).offset;
  EXPECT_EQ(opened->find("small")->offset - data, 0u);
  EXPECT_EQ(opened->find("below")->offset - data, 64u);
  EXPECT_EQ(opened->find("large")->offset - data, 20480u);  // 64 + 16380 rounded up to a page
}

TEST(CmfWriter, RefusesWhatAReaderWouldRefuse) {
  struct Refusal {
    const char* name;
    std::function<void(NewFile&)> damage;
    const char* place;
  };
  const Refusal kRefusals[] = {
      {"no arch", [](NewFile& file) { file.header.erase("arch"); }, "header $.arch"},
      {"empty name", [](NewFile& file) { file.tensors[0].name = ""; }, ""},
      {"name twice", [](NewFile& file) { file.tensors[1].name = "a"; }, "a"},
      {"name not UTF-8", [](NewFile& file) { file.tensors[0].name = "\xFF"; }, "\xFF"},
      {"seven dimensions", [](NewFile& file) { file.tensors[0].shape.assign(7, 1); }, "a"},
      {"dimension of 2^32", [](NewFile& file) { file.tensors[0].shape = {uint64_t{1} << 32}; }, "a"},
      {"2^63 elements or more", [](NewFile& file) { file.tensors[0].shape = {1u << 31, 1u << 31, 2}; }, "a"},
      {"q4_tiled of 33 columns", [](NewFile& file) { file.tensors[2].shape = {1, 33}; }, "c"},
      {"size that is not the shape's", [](NewFile& file) { file.tensors[0].bytes = 13; }, "a"},
      {"vbit without a size", [](NewFile& file) { file.tensors[2].dtype = DType::kVbit; }, "c"},
      {"u8 for weights", [](NewFile& file) { file.tensors[0].dtype = DType::kU8; }, "a"},
      {"masks that are none", [](NewFile& file) { file.masks = as_bytes("masks"); }, "masks"},
      {"index that is none", [](NewFile& file) { file.index = as_bytes("index"); }, "index"},
      {"loop masks without masks", [](NewFile& file) { file.loop_masks = true; }, "masks"},
  };
  const TemporaryFolder folder;
  for (const Refusal& refusal : kRefusals) {
    NewFile file = small_file();
    refusal.damage(file);
    const auto writer = CmfWriter::create(folder / "a.cmf", file);
    ASSERT_FALSE(writer) << refusal.name;
    EXPECT_EQ(writer.error().place, refusal.place) << refusal.name;
    EXPECT_FALSE(writer.error().message.empty()) << refusal.name;
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CmfWriter, RefusesPayloadsOutOfOrderTooLongOrTooShort) {
  const TemporaryFolder folder;
  const ByteVector payload(18);
  {
    auto writer = CmfWriter::create(folder / "a.cmf", small_file());
    ASSERT_TRUE(writer);
    EXPECT_FALSE(writer->write("b", payload));                   // a comes first
    EXPECT_FALSE(writer->write("a", Bytes(payload).first(13)));  // a has 12 bytes
    ASSERT_TRUE(writer->write("a", Bytes(payload).first(11)));
    EXPECT_FALSE(writer->write("b", payload));  // a lacks a byte
    const Status finished = writer->finish();
    ASSERT_FALSE(finished);
    EXPECT_EQ(finished.error().place, "a");
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(CmfWriter, IsWholeWhenSealedAndNamedWhenCommitted) {
  const TemporaryFolder folder;
  const NewFile file{.header = testing::small_header(), .tensors = {{"a", DType::kF32, {1}}}};
  auto writer = CmfWriter::create(folder / "a.cmf", file);
  ASSERT_TRUE(writer);
  EXPECT_FALSE(writer->complete());
  EXPECT_FALSE(writer->seal());
  ASSERT_TRUE(writer->write("a", ByteVector(4)));
  EXPECT_TRUE(writer->complete());
  ASSERT_TRUE(writer->seal());
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  ASSERT_TRUE(writer->commit());
  EXPECT_TRUE(verify(folder / "a.cmf")->findings.empty());
}

TEST(CmfWriter, KeepsTheOldFileUntilTheNewOneIsWhole) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_small_file(folder / "a.cmf", small_file()));
  const std::string before = read_text(folder / "a.cmf");
  {
    auto writer = CmfWriter::create(folder / "a.cmf", small_file("{}"));
    ASSERT_TRUE(writer);
    ASSERT_TRUE(writer->write("a", ByteVector(12)));
  }
  EXPECT_EQ(read_text(folder / "a.cmf"), before);
  ASSERT_TRUE(write_small_file(folder / "a.cmf", small_file("{}")));
  EXPECT_NE(read_text(folder / "a.cmf"), before);
}

TEST(CmfWriter, KeepsUnknownKeysAndTheTextOfNumbers) {
  NewFile file = small_file();
  file.header.set("x", *json::parse(R"({"n":1.50,"e":1e+2,"big":9007199254740993,"none":null})"));
  const TemporaryFolder folder;
  ASSERT_TRUE(write_small_file(folder / "a.cmf", file));
  const auto opened = CmfFile::open(folder / "a.cmf");
  ASSERT_TRUE(opened);
  EXPECT_THAT(as_text(opened->section(Section::kHeader)),
              ::testing::HasSubstr(R"("x":{"n":1.50,"e":1e+2,"big":9007199254740993,"none":null})"));
}

TEST(CmfWriter, SetsSectionHashesForTheSectionsThatTheFileHas) {
  NewFile file = small_file();
  file.header.set("section_hashes", *json::parse(R"({"masks":"0000000000000000","x":1})"));
  const TemporaryFolder folder;
  ASSERT_TRUE(write_small_file(folder / "a.cmf", file));
  const auto opened = CmfFile::open(folder / "a.cmf");
  ASSERT_TRUE(opened);
  const json::Value& hashes = *opened->header().find("section_hashes");
  EXPECT_FALSE(hashes.find("masks"));
  EXPECT_TRUE(hashes.find("vocab"));
  EXPECT_TRUE(hashes.find("x"));
  EXPECT_TRUE(verify(folder / "a.cmf")->findings.empty());
}

TEST(CmfWriter, NamesTheCommonestMatrixTypeAsReadersInTheFieldKnowIt) {
  const NewTensor norm{"n", DType::kF16, {32}}, tiled{"t", DType::kQ4Tiled, {1, 32}},
      row{"r", DType::kQ8Row, {1, 32}};
  EXPECT_EQ(quant_type_of({}), "F16");
  EXPECT_EQ(quant_type_of(std::vector{norm, norm, row}), "Q8_ROW");
  EXPECT_EQ(quant_type_of(std::vector{tiled, row, tiled}), "Q4_BLOCK");
  EXPECT_EQ(quant_type_of(std::vector{NewTensor{"b", DType::kBF16, {2, 2}}}), "BF16");
  EXPECT_EQ(quant_type_of(std::vector{NewTensor{"f", DType::kF32, {2, 2}}}), "F32");
  EXPECT_EQ(quant_type_of(std::vector{NewTensor{"v", DType::kVbitRo, {1, 32}}}), "VBIT");
  EXPECT_EQ(quant_type_of(std::vector{NewTensor{"q", DType::kQ82F, {1, 32}}}), "Q8_2F");
}

}  // namespace
}  // namespace amphora::cmf
