// Files: positioned reads, mappings, atomic replacement.
#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/checked.h"

namespace amphora {
namespace {

std::unexpected<Error> system_error(int error, std::string_view what, const std::filesystem::path& path) {
  // A name that is too long for the file system cannot be there.
  const Fault fault =
      error == ENOENT || error == ENOTDIR || error == ENAMETOOLONG ? Fault::kNotFound : Fault::kIo;
  return fail(fault, fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(error)));
}

// Temporary names that a signal handler has to unlink. Slots are claimed and released with atomics, so the
// handler may run at any instruction.
constexpr size_t kMaxUnfinished = 16;
constexpr size_t kMaxUnfinishedPath = 4096;
struct UnfinishedSlot {
  std::atomic<bool> claimed{false};
  std::atomic<bool> active{false};
  std::array<char, kMaxUnfinishedPath> path{};
};
std::array<UnfinishedSlot, kMaxUnfinished> unfinished_files;

std::string absolute_text(const std::filesystem::path& path) {
  std::error_code error;  // a current folder that is gone: the relative name is the best there is
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path.string() : absolute.string();
}

void remember_unfinished(const std::filesystem::path& path) {
  const std::string text = absolute_text(path);
  if (text.size() >= kMaxUnfinishedPath) return;
  for (UnfinishedSlot& slot : unfinished_files) {
    if (slot.claimed.exchange(true)) continue;
    std::memcpy(slot.path.data(), text.c_str(), text.size() + 1);
    slot.active.store(true);
    return;
  }
}

void forget_unfinished(const std::filesystem::path& path) {
  const std::string text = absolute_text(path);
  for (UnfinishedSlot& slot : unfinished_files) {
    if (!slot.active.load() || text != slot.path.data()) continue;
    slot.active.store(false);
    slot.claimed.store(false);
    return;
  }
}

std::filesystem::path folder_of(const std::filesystem::path& path) {
  const std::filesystem::path parent = path.parent_path();
  return parent.empty() ? std::filesystem::path(".") : parent;
}

// What is not a regular file (a folder, a device, a FIFO) is never replaced.
Status check_replaceable(const std::filesystem::path& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return {};
  const std::string_view what = S_ISDIR(status.st_mode) ? "a directory" : "not a regular file";
  return fail(Fault::kIo, fmt::format("cannot write {}: it is {}", path.string(), what));
}

// A pattern for mkostemps beside `path`. The name is shortened, so that a file name of the greatest length
// still leaves room for the rest.
constexpr int kTemporarySuffixBytes = 8;  // ".partial"
std::string temporary_name(const std::filesystem::path& path) {
  return (folder_of(path) / ("." + path.filename().string().substr(0, 200) + ".XXXXXX.partial")).string();
}

// Gives an unnamed file the name `path`, replacing what stands there.
Status name_file(int descriptor, const std::filesystem::path& path) {
  const std::string source = fmt::format("/proc/self/fd/{}", descriptor);
  if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
  if (errno != EEXIST) return system_error(errno, "give a file the name", path);
  // linkat does not replace: a second name that rename can move over the first.
  std::string temporary = temporary_name(path);
  const int placeholder = ::mkostemps(temporary.data(), kTemporarySuffixBytes, O_CLOEXEC);
  if (placeholder < 0) return system_error(errno, "create a file beside", path);
  ::close(placeholder);
  ::unlink(temporary.c_str());
  if (::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, temporary.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    return system_error(errno, "create a file beside", path);
  }
  if (::rename(temporary.c_str(), path.c_str()) == 0) return {};
  const int error = errno;
  ::unlink(temporary.c_str());
  return system_error(error, "rename a file to", path);
}

Status write_all(int descriptor, uint64_t offset, Bytes bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return system_error(errno, "write", path);
    }
    bytes = bytes.subspan(static_cast<size_t>(written));
    offset += static_cast<uint64_t>(written);
  }
  return {};
}

}  // namespace

Result<File> File::open(const std::filesystem::path& path) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer; for regular files it means nothing.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error(errno, "open", path);
  struct stat status{};
  if (::fstat(descriptor, &status) != 0) {
    const int error = errno;
    ::close(descriptor);
    return system_error(error, "read the size of", path);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor);
    return fail(Fault::kIo, fmt::format("cannot open {}: not a regular file", path.string()));
  }
  return File(descriptor, static_cast<uint64_t>(status.st_size), path);
}

File::File(int descriptor, uint64_t size, std::filesystem::path path)
    : descriptor_(descriptor), size_(size), path_(std::move(path)) {}
File::File(File&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_), path_(std::move(other.path_)) {}
File& File::operator=(File&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(path_, other.path_);
  return *this;
}
File::~File() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status File::read_at(uint64_t offset, MutableBytes out) const {
  if (!lies_within(offset, out.size(), size_)) {
    return fail_at(Fault::kTruncated, "Truncated", {}, size_,
                   fmt::format("{} ends at byte {}, wanted {} bytes from {}", path_.string(), size_,
                               out.size(), offset));
  }
  while (!out.empty()) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      return system_error(errno, "read", path_);
    }
    if (got == 0)
      return fail_at(Fault::kTruncated, "Truncated", {}, offset,
                     path_.string() + " became shorter while being read");
    out = out.subspan(static_cast<size_t>(got));
    offset += static_cast<uint64_t>(got);
  }
  return {};
}

Result<size_t> File::read_some(uint64_t offset, MutableBytes out) const {
  while (true) {
    const ssize_t got = ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset));
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return system_error(errno, "read", path_);
  }
}

Result<std::shared_ptr<const MappedFile>> MappedFile::open(const std::filesystem::path& path) {
  AMPHORA_ASSIGN(const File file, File::open(path));
  Bytes bytes;
  if (file.size() > 0) {
    void* address =
        ::mmap(nullptr, static_cast<size_t>(file.size()), PROT_READ, MAP_SHARED, file.descriptor_, 0);
    if (address == MAP_FAILED) return system_error(errno, "map", path);
    bytes = Bytes(static_cast<const std::byte*>(address), static_cast<size_t>(file.size()));
  }
  return std::shared_ptr<const MappedFile>(new MappedFile(bytes, path));
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

Result<AtomicFile> AtomicFile::create(const std::filesystem::path& path) {
  AMPHORA_TRY(check_replaceable(path));
  // A file without a name: whatever ends the program, the system takes the file back.
  const std::filesystem::path folder = folder_of(path);
  const int unnamed = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, static_cast<mode_t>(0666));
  if (unnamed >= 0) return AtomicFile(unnamed, {}, path);
  if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
    return system_error(errno, "create a file in", folder);

  // File systems that cannot do this (EISDIR: kernels that do not know the flag) get a temporary name.
  std::string temporary = temporary_name(path);
  const int descriptor = ::mkostemps(temporary.data(), kTemporarySuffixBytes, O_CLOEXEC);
  if (descriptor < 0) return system_error(errno, "create a file beside", path);
  remember_unfinished(temporary);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  if (::fchmod(descriptor, static_cast<mode_t>(0666) & ~mask) != 0) {
    const int error = errno;
    const AtomicFile abandoned(descriptor, temporary, path);
    return system_error(error, "set the mode of", temporary);
  }
  return AtomicFile(descriptor, std::move(temporary), path);
}

AtomicFile::AtomicFile(int descriptor, std::filesystem::path temporary, std::filesystem::path path)
    : descriptor_(descriptor), temporary_(std::move(temporary)), path_(std::move(path)) {}
AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      temporary_(std::move(other.temporary_)),
      path_(std::move(other.path_)),
      appended_(other.appended_) {}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (temporary_.empty()) return;
  ::unlink(temporary_.c_str());
  forget_unfinished(temporary_);
}

Status AtomicFile::write_at(uint64_t offset, Bytes bytes) {
  return write_all(descriptor_, offset, bytes, path_);
}

Status AtomicFile::append(Bytes bytes) {
  AMPHORA_TRY(write_at(appended_, bytes));
  appended_ += bytes.size();
  return {};
}

Status AtomicFile::commit() {
  AMPHORA_TRY(check_replaceable(path_));
  if (::fsync(descriptor_) != 0) return system_error(errno, "flush", path_);
  if (temporary_.empty()) {
    AMPHORA_TRY(name_file(descriptor_, path_));
  } else {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0)
      return system_error(errno, "rename a file to", path_);
    forget_unfinished(temporary_);
  }
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0) return system_error(errno, "close", path_);
  const std::filesystem::path folder = folder_of(path_);
  const int folder_descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_descriptor < 0) return system_error(errno, "open the folder", folder);
  const int flushed = ::fsync(folder_descriptor);
  const int error = errno;
  ::close(folder_descriptor);
  // Some file systems have no fsync for folders and say so: the rename is as durable there as it gets.
  if (flushed != 0 && error != EINVAL && error != EROFS)
    return system_error(error, "flush the folder", folder);
  return {};
}

void remove_unfinished_files() noexcept {
  for (UnfinishedSlot& slot : unfinished_files) {
    if (slot.active.load()) ::unlink(slot.path.data());
  }
}

Result<std::string> read_small_file(const std::filesystem::path& path, uint64_t limit_bytes) {
  AMPHORA_ASSIGN(const File file, File::open(path));
  const auto too_large = [&](uint64_t bytes) {
    return fail(Fault::kRefused,
                fmt::format("{} has {} bytes, more than the limit of {}", path.string(), bytes, limit_bytes));
  };
  if (file.size() > limit_bytes) return too_large(file.size());
  // Read to the end, wherever the stated size lies: files under /proc state 0.
  constexpr size_t kBlock = 4096;
  std::string text;
  while (true) {
    const size_t known = text.size();
    text.resize(std::max<size_t>(known, static_cast<size_t>(file.size())) + kBlock);
    AMPHORA_ASSIGN(const size_t got,
                   file.read_some(known, std::as_writable_bytes(std::span(text).subspan(known))));
    text.resize(known + got);
    if (text.size() > limit_bytes) return too_large(text.size());
    if (got == 0) return text;
  }
}

Status write_file(const std::filesystem::path& path, Bytes bytes) {
  AMPHORA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  AMPHORA_TRY(file.append(bytes));
  return file.commit();
}

}  // namespace amphora
