// A Hugging Face directory to damage: a copy of one of the tiny models, with its weights in memory.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_writer.h"
#include "base/testing/test_data.h"
#include "formats/safetensors/directory.h"
#include "package/testing/config.h"

namespace amphora::testing {

struct StoredTensor {
  std::string name;
  std::string type;  ///< as a safetensors header spells it
  std::vector<uint64_t> shape;
  std::string data;
};

/// The bytes of a .safetensors file.
inline std::string safetensors_of(const std::vector<StoredTensor>& tensors) {
  json::Value header = json::Value::object();
  std::string data;
  for (const StoredTensor& tensor : tensors) {
    json::Value entry = json::Value::object();
    entry.set("dtype", json::Value::string(tensor.type));
    std::vector<json::Value> shape;
    for (const uint64_t dimension : tensor.shape) shape.push_back(json::Value::unsigned_integer(dimension));
    entry.set("shape", json::Value::array(std::move(shape)));
    entry.set("data_offsets",
              json::Value::array({json::Value::unsigned_integer(data.size()),
                                  json::Value::unsigned_integer(data.size() + tensor.data.size())}));
    header.set(tensor.name, std::move(entry));
    data += tensor.data;
  }
  const std::string text = json::dump(header);
  ByteWriter out;
  out.write(uint64_t{text.size()});
  out.write_bytes(as_bytes(text));
  out.write_bytes(as_bytes(data));
  return std::string(as_text(out.bytes()));
}

inline std::vector<StoredTensor> tensors_of(const std::filesystem::path& file) {
  const std::string bytes = read_text(file);
  const auto directory = safetensors::decode_directory(as_bytes(bytes));
  EXPECT_TRUE(directory) << file;
  std::vector<StoredTensor> tensors;
  if (directory)
    for (const auto& tensor : directory->tensors)
      tensors.push_back({tensor.name, std::string(safetensors::info(tensor.type).name), tensor.shape,
                         std::string(as_text(tensor.data))});
  return tensors;
}

class ModelFolder {
 public:
  explicit ModelFolder(std::string_view name) {
    for (const auto& entry : std::filesystem::directory_iterator(test_data("hf/tiny") / name)) {
      const std::string file = entry.path().filename().string();
      if (file == "golden.json" || file == "tensors.json" || file == "README.md") continue;
      std::filesystem::copy_file(entry.path(), folder_ / file);
    }
    if (std::filesystem::exists(folder_ / kWeights)) tensors = tensors_of(folder_ / kWeights);
  }

  static constexpr std::string_view kWeights = "model.safetensors";
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path operator/(std::string_view name) const { return folder_ / name; }

  void write(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void remove(std::string_view name) const { std::filesystem::remove(folder_ / name); }
  std::string text(std::string_view name) const { return read_text(folder_ / name); }
  void edit(std::string_view name, const std::vector<std::pair<std::string, std::string>>& members) const {
    write(name, edited(text(name), members));
  }
  /// Writes `tensors` as model.safetensors.
  void write_weights() const { write(kWeights, safetensors_of(tensors)); }
  StoredTensor& tensor(std::string_view name) {
    for (StoredTensor& candidate : tensors)
      if (candidate.name == name) return candidate;
    ADD_FAILURE() << name;
    return tensors.front();
  }

  std::vector<StoredTensor> tensors;  ///< of model.safetensors; empty for a sharded model

 private:
  TemporaryFolder folder_;
};

/// All of a tensor's values.
template <class Tensor>
std::vector<float> values_of(const Tensor& tensor) {
  std::vector<float> values(tensor.elements());
  const auto read = tensor.read(0, values);
  EXPECT_TRUE(read) << tensor.name;
  return values;
}

}  // namespace amphora::testing
