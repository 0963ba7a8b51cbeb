// Files: positioned reads, read-only mappings, and writes that appear whole or not at all.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/result.h"

namespace amphora {

/// A file that is open for reading.
class File {
 public:
  static Result<File> open(const std::filesystem::path& path);
  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  ~File();

  uint64_t size() const { return size_; }
  const std::filesystem::path& path() const { return path_; }
  /// Fills `out` from `offset`; a file that ends before is kTruncated.
  Status read_at(uint64_t offset, MutableBytes out) const;
  /// Reads what is there at `offset`, which may be less than `out` holds or nothing, and says how much.
  Result<size_t> read_some(uint64_t offset, MutableBytes out) const;

 private:
  friend class MappedFile;
  File(int descriptor, uint64_t size, std::filesystem::path path);
  int descriptor_;
  uint64_t size_;
  std::filesystem::path path_;
};

/// A whole file mapped read-only. The bytes stay valid as long as the object; a file that someone cuts while
/// it is mapped ends the program at the next touch of the missing part, as with every mapping.
class MappedFile {
 public:
  static Result<std::shared_ptr<const MappedFile>> open(const std::filesystem::path& path);
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  Bytes bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }

 private:
  MappedFile(Bytes bytes, std::filesystem::path path) : bytes_(bytes), path_(std::move(path)) {}
  Bytes bytes_;
  std::filesystem::path path_;
};

/// A new file that takes its name only when commit() has succeeded: fsynced, then named (atomically in place
/// of an older file), then the folder fsynced. Until then it has no name at all, so a program that is killed
/// leaves nothing; on file systems without unnamed files it has a temporary name in the same folder, which
/// the destructor and remove_unfinished_files() remove.
class AtomicFile {
 public:
  static Result<AtomicFile> create(const std::filesystem::path& path);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&&) = delete;
  ~AtomicFile();

  Status write_at(uint64_t offset, Bytes bytes);
  /// Appends at the end of what append() has written so far.
  Status append(Bytes bytes);
  uint64_t appended() const { return appended_; }
  Status commit();

 private:
  AtomicFile(int descriptor, std::filesystem::path temporary, std::filesystem::path path);
  int descriptor_;
  std::filesystem::path temporary_;  // empty: the file has no name yet
  std::filesystem::path path_;
  uint64_t appended_ = 0;
};

/// Unlinks the temporary files of every AtomicFile that is still open. Async-signal-safe: for a handler of
/// SIGINT and SIGTERM that then ends the process.
void remove_unfinished_files() noexcept;

/// The whole of a file that is expected to be small; more than `limit_bytes` is refused before anything is
/// read.
Result<std::string> read_small_file(const std::filesystem::path& path, uint64_t limit_bytes);

/// Writes a whole file as AtomicFile does.
Status write_file(const std::filesystem::path& path, Bytes bytes);

}  // namespace amphora
