// The choice of a reader by content.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "amphora/package.h"
#include "base/byte_reader.h"
#include "base/file.h"
#include "package/cmf_package.h"
#include "package/gguf_package.h"
#include "package/hf_package.h"
#include "package/open_options.h"

namespace amphora {
namespace {

constexpr std::array kGgufMagic = {std::byte{'G'}, std::byte{'G'}, std::byte{'U'}, std::byte{'F'}};
constexpr std::array kCmfMagic = {std::byte{0x43}, std::byte{0x4D}, std::byte{0x46}, std::byte{0x01}};

/// Whether the file starts as a safetensors file does: a header length that fits, then `{`.
bool looks_like_safetensors(Bytes start, uint64_t file_bytes) {
  if (start.size() < 9 || start[8] != std::byte{'{'}) return false;
  const auto header_bytes = load_little_endian<uint64_t>(start.data());
  return header_bytes <= file_bytes - 8;
}

Result<std::shared_ptr<const Package>> open_file(const std::filesystem::path& path,
                                                 const package::OpenOptions& options) {
  AMPHORA_ASSIGN(const File file, File::open(path));
  std::array<std::byte, 16> buffer{};
  const MutableBytes start = MutableBytes(buffer).first(std::min<uint64_t>(buffer.size(), file.size()));
  AMPHORA_TRY(file.read_at(0, start));
  if (start.size() < kCmfMagic.size())
    return fail(Fault::kTruncated,
                fmt::format("{}: only {} bytes, not a model file", path.string(), file.size()));
  if (std::ranges::equal(start.first(4), kGgufMagic)) return open_gguf_package(path, options);
  if (std::ranges::equal(start.first(4), kCmfMagic)) {
    if (options.assumed != nullptr)
      return package::idle_assumption("a .cmf file keeps the tokenizer that it was given");
    return open_cmf_package(path);
  }
  if (looks_like_safetensors(start, file.size())) {
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
    return fail(
        Fault::kUnsupported,
        fmt::format("{} is one safetensors file and says nothing about the model: open its directory, {}",
                    path.string(), folder.string()));
  }
  return fail(Fault::kCorrupt,
              fmt::format("{} is neither a CMF nor a GGUF file (it starts with {:02x} {:02x} {:02x} "
                          "{:02x})",
                          path.string(), std::to_integer<int>(start[0]), std::to_integer<int>(start[1]),
                          std::to_integer<int>(start[2]), std::to_integer<int>(start[3])));
}

}  // namespace

Result<std::shared_ptr<const Package>> open_package(const std::filesystem::path& path) {
  return package::open_package(path, {});
}

namespace package {

Result<std::shared_ptr<const Package>> open_package(const std::filesystem::path& path,
                                                    const OpenOptions& options) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found)
    return fail(Fault::kNotFound, fmt::format("{}: no such file or directory", path.string()));
  if (error) return fail(Fault::kIo, fmt::format("{}: {}", path.string(), error.message()));
  if (std::filesystem::is_directory(status)) return open_hugging_face_package(path, options);
  if (!std::filesystem::is_regular_file(status))
    return fail(Fault::kUnsupported, fmt::format("{} is neither a file nor a directory", path.string()));
  return open_file(path, options);
}

std::unexpected<Error> idle_assumption(std::string_view reason) {
  return fail(Fault::kUsage, fmt::format("--assume-pretokenizer: there is nothing to assume: {}", reason));
}

void record_assumption(const PreTokenizer& assumed, Package& package) {
  package.notes.push_back(note_of_assumption(assumed));
  if (!package.provenance.is_object()) package.provenance = json::Value::object();
  package.provenance.set(kAssumedPreTokenizer, json::Value::string(std::string(assumed.name)));
}

}  // namespace package
}  // namespace amphora
