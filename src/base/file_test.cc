// Tests of files: reads stay inside, writes appear whole or not at all.
#include "base/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>

#include "base/testing/test_data.h"

namespace amphora {
namespace {

using testing::TemporaryFolder;

size_t entries(const std::filesystem::path& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

TEST(AtomicFile, TakesItsNameOnlyAtCommit) {
  const TemporaryFolder folder;
  auto file = AtomicFile::create(folder / "out");
  ASSERT_TRUE(file);
  ASSERT_TRUE(file->append(as_bytes("hello ")));
  ASSERT_TRUE(file->append(as_bytes("world")));
  ASSERT_TRUE(file->write_at(0, as_bytes("J")));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ(read_small_file(folder / "out", 100).value(), "Jello world");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(ReadSmallFile, ReadsToTheEndWhateverTheStatedSizeAndNoFurtherThanTheLimit) {
  const auto text = read_small_file("/proc/version", 4096);  // states a size of 0
  ASSERT_TRUE(text);
  EXPECT_TRUE(text->starts_with("Linux version ")) << *text;
  const auto refused = read_small_file("/proc/version", 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().fault, Fault::kRefused);
  EXPECT_EQ(read_small_file("/proc/self/mem", 4096).error().fault, Fault::kIo);
}

TEST(AtomicFile, LeavesTheOldFileAndNothingElseWhenDropped) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "out", as_bytes("old")));
  {
    auto file = AtomicFile::create(folder / "out");
    ASSERT_TRUE(file && file->append(as_bytes("new")));
  }
  EXPECT_EQ(read_small_file(folder / "out", 100).value(), "old");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(AtomicFile, LeavesNothingWhenTheProgramIsKilled) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    auto file = AtomicFile::create(folder / "out");
    remove_unfinished_files();
    _exit(file ? 0 : 1);  // no destructors
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(entries(folder.path()), 0u);
}

TEST(AtomicFile, TakesNamesOfAnyKind) {
  const TemporaryFolder folder;
  const std::string names[] = {"модель.cmf", "模型 🏺.slm", "a b'c.gguf", std::string(250, 'x')};
  for (const std::string& name : names) {
    ASSERT_TRUE(write_file(folder / name, as_bytes(name))) << name;
    EXPECT_EQ(read_small_file(folder / name, 1000).value(), name);
  }
}

TEST(AtomicFile, HasTheModeThatTheUmaskAllows) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "new", as_bytes("x")));
  ASSERT_TRUE(write_file(folder / "new", as_bytes("y")));
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const auto mode = std::filesystem::status(folder / "new").permissions();
  EXPECT_EQ(static_cast<unsigned>(mode), 0666u & ~mask);
}

TEST(AtomicFile, SaysWhatIsWrongWithThePlace) {
  const TemporaryFolder folder;
  EXPECT_EQ(AtomicFile::create(folder / "missing/out").error().fault, Fault::kNotFound);
  EXPECT_EQ(AtomicFile::create(folder.path()).error().fault, Fault::kIo);
}

TEST(AtomicFile, NeverReplacesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  const std::filesystem::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(AtomicFile::create(pipe).error().fault, Fault::kIo);
  std::filesystem::remove(pipe);
  auto file = AtomicFile::create(pipe);
  ASSERT_TRUE(file);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(file->commit().error().fault, Fault::kIo);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(File, DoesNotWaitForTheWriterOfAPipe) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(File::open(folder / "pipe").error().fault, Fault::kIo);
}

TEST(File, RefusesReadsPastTheEndWithoutWrapping) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "f", as_bytes("0123456789")));
  const auto file = File::open(folder / "f");
  ASSERT_TRUE(file);
  std::byte bytes[4];
  EXPECT_TRUE(file->read_at(6, bytes));
  EXPECT_EQ(as_text(bytes), "6789");
  for (const uint64_t offset : {uint64_t{7}, uint64_t{11}, ~uint64_t{0}, ~uint64_t{0} - 3}) {
    const auto status = file->read_at(offset, bytes);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().fault, Fault::kTruncated);
  }
}

TEST(File, TellsMissingFromUnreadable) {
  const TemporaryFolder folder;
  EXPECT_EQ(File::open(folder / "none").error().fault, Fault::kNotFound);
  EXPECT_EQ(File::open(folder.path()).error().fault, Fault::kIo);
  EXPECT_EQ(MappedFile::open(folder / "none").error().fault, Fault::kNotFound);
  EXPECT_EQ(read_small_file(folder / "none", 10).error().fault, Fault::kNotFound);
}

TEST(File, MapsEmptyFilesToo) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "empty", {}));
  const auto mapped = MappedFile::open(folder / "empty");
  ASSERT_TRUE(mapped);
  EXPECT_TRUE((*mapped)->bytes().empty());
}

TEST(File, RefusesASmallFileAboveItsLimitBeforeReadingIt) {
  const TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder / "f", as_bytes("0123456789")));
  EXPECT_TRUE(read_small_file(folder / "f", 10));
  EXPECT_EQ(read_small_file(folder / "f", 9).error().fault, Fault::kRefused);
}

}  // namespace
}  // namespace amphora
