// What the tests of this room share: file bytes, findings as text, and a small valid file.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "amphora/bytes.h"
#include "base/testing/test_data.h"
#include "formats/cmf/verify.h"
#include "formats/cmf/writer.h"

namespace amphora::cmf::testing {

using amphora::testing::read_text;

/// A parsed JSON file of expectations.
inline json::Value read_json(const std::filesystem::path& path) {
  auto value = json::parse(read_text(path));
  EXPECT_TRUE(value) << path << ": " << (value ? "" : value.error().message);
  return value ? *std::move(value) : json::Value();
}

inline std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder,
                                                   std::string_view extension) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == extension) paths.push_back(entry.path());
  std::ranges::sort(paths);
  EXPECT_FALSE(paths.empty()) << folder;
  return paths;
}

/// "error Bounds dir 656 model.norm.weight": all of a finding but its sentence.
inline std::string summary(const Finding& finding) {
  std::string text = std::string(name_of(finding.level())) + " " + std::string(name_of(finding.code)) + " " +
                     std::string(name_of(finding.section)) + " " + std::to_string(finding.offset);
  if (!finding.tensor.empty()) text += " " + finding.tensor;
  if (!finding.path.empty()) text += " " + finding.path;
  return text;
}

inline std::vector<std::string> summaries(const std::vector<Finding>& findings) {
  std::vector<std::string> texts;
  for (const Finding& finding : findings) texts.push_back(summary(finding));
  return texts;
}

inline json::Value small_header() {
  return *json::parse(
      R"({"format":"cmf","version":2,"arch":{"arch_name":"tiny","hidden_size":4,"intermediate_size":8,"num_layers":1,)"
      R"("num_attention_heads":1,"num_kv_heads":1,"head_dim":4,"vocab_size":3,"layer_types":["FullAttention"],)"
      R"("rms_norm_eps":1e-06,"max_position_embeddings":16},"quant_type":"Q8_ROW"})");
}

/// A file with a tensor of each kind of payload rule, gaps, and a tokenizer.
inline NewFile small_file(std::string_view tokenizer = R"({"model":{}})") {
  return {.header = small_header(),
          .tensors = {{"a", DType::kF32, {3}},
                      {"b", DType::kQ8Row, {2, 4}},
                      {"c", DType::kQ4Tiled, {1, 32}},
                      {"none", DType::kF16, {0}},
                      {"d", DType::kF16, {5}}},
          .tokenizer_json = as_bytes(tokenizer)};
}

/// Writes `file` with payloads that are valid for small_file().
inline Status write_small_file(const std::filesystem::path& path, const NewFile& file) {
  AMPHORA_ASSIGN(CmfWriter writer, CmfWriter::create(path, file));
  ByteVector payload(18, std::byte{0x21});
  AMPHORA_TRY(writer.write("a", Bytes(payload).first(12)));
  AMPHORA_TRY(writer.write("b", Bytes(payload).first(5)));
  AMPHORA_TRY(writer.write("b", Bytes(payload).first(7)));
  AMPHORA_TRY(writer.write("c", payload));
  AMPHORA_TRY(writer.write("d", Bytes(payload).first(10)));
  return writer.finish();
}

}  // namespace amphora::cmf::testing
