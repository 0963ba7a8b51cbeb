// Signatures of CMF files: keys in files, and the text of a `.sig`.
#include "formats/cmf/signing.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "amphora/json.h"
#include "base/page_advice.h"
#include "crypto/hex.h"

namespace amphora::cmf {
namespace {

constexpr uint64_t kSignedPortion = uint64_t{16} << 20;
constexpr size_t kMaxKeyFileBytes = 1024;
constexpr size_t kKeyDigits = 2 * crypto::kEd25519KeyBytes;
constexpr mode_t kOwnerOnly = S_IRUSR | S_IWUSR;

std::unexpected<Error> system_error(std::string_view what, const std::filesystem::path& path) {
  const int error = errno;
  return fail(error == ENOENT || error == ENOTDIR ? Fault::kNotFound : Fault::kIo,
              "cannot " + std::string(what) + " " + path.string() + ": " + std::strerror(error));
}

/// A descriptor that is closed at the end of its scope.
struct Descriptor {
  explicit Descriptor(int opened) : number(opened) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number >= 0) ::close(number);
  }
  int number;
};

/// Text that may be a secret: wiped at the end of its scope.
struct KeyText {
  KeyText() = default;
  KeyText(const KeyText&) = delete;
  KeyText& operator=(const KeyText&) = delete;
  ~KeyText() { crypto::wipe(std::as_writable_bytes(std::span(characters))); }
  std::string_view view() const { return {characters.data(), used}; }

  std::array<char, kMaxKeyFileBytes> characters{};
  size_t used = 0;
};

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

/// 64 digits of either case and nothing else.
bool read_digits(std::string_view text, std::span<std::byte, crypto::kEd25519KeyBytes> out) {
  if (text.size() != kKeyDigits) return false;
  KeyText lower;
  lower.used = text.size();
  std::ranges::transform(text, lower.characters.begin(), [](char digit) {
    return digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
  });
  return crypto::from_hex(lower.view(), out);
}

std::unexpected<Error> no_key(const std::filesystem::path& path) {
  return fail(Fault::kRefused, path.string() + " is no key file: it should hold 64 hexadecimal digits");
}

/// The whole of a key file. `secret`: only its owner may have access.
Status read_key_text(const std::filesystem::path& path, bool secret, KeyText& text) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer; for regular files it means nothing.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (file.number < 0 || ::fstat(file.number, &status) != 0) return system_error("open", path);
  if (!S_ISREG(status.st_mode))
    return fail(Fault::kIo, "cannot read " + path.string() + ": not a regular file");
  if (secret && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    return fail(Fault::kRefused,
                path.string() + " is open to others than its owner; 'chmod 600' it, or make a new key");
  if (static_cast<uint64_t>(status.st_size) > kMaxKeyFileBytes) return no_key(path);
  while (text.used < text.characters.size()) {
    const ssize_t got =
        ::read(file.number, text.characters.data() + text.used, text.characters.size() - text.used);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("read", path);
    if (got == 0) break;
    text.used += static_cast<size_t>(got);
  }
  return {};
}

/// Fills a new file. The mode is given once more, since a umask may have taken even the owner's rights.
Status fill_key_file(const Descriptor& file, std::string_view text, const std::filesystem::path& path) {
  if (::fchmod(file.number, kOwnerOnly) != 0) return system_error("set the mode of", path);
  const ssize_t written = ::write(file.number, text.data(), text.size());
  if (written < 0) return system_error("write", path);
  if (static_cast<size_t>(written) != text.size())
    return fail(Fault::kIo, "cannot write " + path.string() + ": no space");
  if (::fsync(file.number) != 0) return system_error("flush", path);
  return {};
}

Status write_key_file(const std::filesystem::path& path, std::string_view text) {
  const Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kOwnerOnly));
  if (file.number < 0 && errno == EEXIST)
    return fail(Fault::kRefused, path.string() + " exists already: a key is never overwritten");
  if (file.number < 0) return system_error("create", path);
  Status filled = fill_key_file(file, text, path);
  if (!filled) ::unlink(path.c_str());
  return filled;
}

void write_digits(Bytes bytes, KeyText& text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (const std::byte byte : bytes) {
    text.characters[text.used++] = kDigits[std::to_integer<size_t>(byte >> 4)];
    text.characters[text.used++] = kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
}

}  // namespace

Result<crypto::Ed25519Key> load_signing_key(const std::filesystem::path& path) {
  KeyText text;
  AMPHORA_TRY(read_key_text(path, /*secret=*/true, text));
  crypto::Ed25519Seed seed;
  if (!read_digits(trimmed(text.view()), seed.bytes)) return no_key(path);
  return crypto::Ed25519Key::from_seed(seed);
}

Result<crypto::Ed25519Key> create_signing_key(const std::filesystem::path& path) {
  AMPHORA_ASSIGN(const crypto::Ed25519Seed seed, crypto::Ed25519Seed::generate());
  AMPHORA_ASSIGN(crypto::Ed25519Key key, crypto::Ed25519Key::from_seed(seed));
  KeyText text;
  write_digits(seed.bytes, text);
  text.characters[text.used++] = '\n';
  AMPHORA_TRY(write_key_file(path, text.view()));
  return key;
}

Result<crypto::Ed25519PublicKey> load_public_key(const std::string& digits_or_path) {
  crypto::Ed25519PublicKey key{};
  if (read_digits(digits_or_path, key)) return key;
  KeyText text;
  AMPHORA_TRY(read_key_text(digits_or_path, /*secret=*/false, text));
  if (!read_digits(trimmed(text.view()), key)) return no_key(digits_or_path);
  return key;
}

Result<crypto::Sha256Digest> digest_of(Bytes file, const DigestOptions& options) {
  crypto::Sha256 hash;
  for (uint64_t done = 0; done < file.size();) {
    const uint64_t count = std::min(kSignedPortion, file.size() - done);
    hash.update(file.subspan(done, count));
    if (options.release_pages) release_pages(file.subspan(done, count));
    done += count;
    if (options.progress) options.progress(done, file.size());
  }
  return hash.finish();
}

Result<Signature> sign(Bytes file, const crypto::Ed25519Key& key, const DigestOptions& options) {
  AMPHORA_ASSIGN(const crypto::Sha256Digest digest, digest_of(file, options));
  AMPHORA_ASSIGN(const crypto::Ed25519Signature signature, key.sign(digest));
  const auto hex = [](Bytes bytes) { return json::Value::string(crypto::to_hex(bytes)); };
  return Signature{digest,
                   json::dump_pretty(json::Value::object({{"alg", json::Value::string("ed25519-sha256")},
                                                          {"pubkey", hex(key.public_key())},
                                                          {"sha256", hex(digest)},
                                                          {"sig", hex(signature)}}))};
}

std::filesystem::path signature_path_of(const std::filesystem::path& path) {
  std::filesystem::path signature = path;
  return signature += ".sig";
}

}  // namespace amphora::cmf
