// What tests of every room need: the path of test data, random numbers with a fixed seed, a temporary folder.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

namespace amphora::testing {

/// A folder that is removed, with all that is in it, at the end of its scope.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "amphora-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

/// All bytes of a file that must be there.
inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Normally distributed floats, mean 0; the same on every machine for one seed (no std::normal_distribution:
/// its sequence is the library's choice).
inline std::vector<float> random_floats(uint64_t seed, size_t count, float deviation = 1.0f) {
  std::mt19937_64 engine(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    double sum = 0;  // twelve uniforms: mean 6, variance 1
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(engine() >> 11) * 0x1p-53;
    value = static_cast<float>(sum - 6.0) * deviation;
  }
  return values;
}

#ifdef AMPHORA_TEST_DATA
inline std::filesystem::path test_data(std::string_view name) {
  return std::filesystem::path(AMPHORA_TEST_DATA) / name;
}
#endif

}  // namespace amphora::testing
