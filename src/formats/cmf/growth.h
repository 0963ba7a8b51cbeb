// Appends tensors to a CMF file without moving a byte of it (docs/formats/cmf.md §9 "Adding a skill"). A
// crash at any instant leaves the old file or the new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "amphora/bytes.h"
#include "amphora/json.h"
#include "amphora/result.h"
#include "formats/cmf/cmf_file.h"
#include "formats/cmf/writer.h"

namespace amphora::cmf {

/// A tensor to append; the payload must stay valid during the growth.
struct AppendedTensor {
  NewTensor tensor;
  Bytes payload;
};

/// What a file shall hold in addition.
struct Growth {
  /// The whole new header: the file's own, changed. A promise of the canonical layout in it is dropped;
  /// everything else is written as it stands. `section_hashes` must be those of the old header.
  json::Value header;
  std::vector<AppendedTensor> tensors = {};  ///< behind the old ones in the directory, in this order
};

/// Where a growth writes: a file, or what a test puts in its place. A write_at() that fails may have written
/// any part of its bytes, and none of it is safe until a sync() behind it has succeeded.
class GrowthStorage {
 public:
  GrowthStorage() = default;
  GrowthStorage(const GrowthStorage&) = delete;
  GrowthStorage& operator=(const GrowthStorage&) = delete;
  virtual ~GrowthStorage() = default;
  virtual Status write_at(uint64_t offset, Bytes bytes) = 0;
  virtual Status sync() = 0;
  virtual Status truncate(uint64_t bytes) = 0;
};

/// The bytes of a growth, checked, with their places behind the old file's last byte.
struct GrowthPlan {
  struct Part {
    uint64_t offset;
    Bytes bytes;  ///< of the growth
  };
  std::vector<Part> payloads;
  ByteVector directory;
  std::string header_text;
  Envelope envelope;      ///< the new one; says where directory and header lie
  Envelope old_envelope;  ///< of the file as it is
  uint64_t old_file_bytes = 0;
};

/// Lays a growth out. Refuses whatever a reader or `verify` would refuse in the grown file.
Result<GrowthPlan> plan_growth(const CmfFile& file, const Growth& growth);

/// Writes tensors, directory and header, all of them behind the old end, and syncs; then the envelope in one
/// write of 128 bytes, and syncs. The envelope's write is taken to be atomic on the medium: it lies in the
/// file's first sector. A write that fails is undone as far as the storage lets it be.
Status write_growth(const GrowthPlan& plan, GrowthStorage& storage);

/// Grows the file at `path`, which `file` was opened from, in place; its mode stays, its old signature is no
/// longer valid. Refused (kRefused) if another growth is at work on it or if it has changed since it was
/// opened. `file` keeps its view of the old tensors.
Status grow(const std::filesystem::path& path, const CmfFile& file, const Growth& growth);

}  // namespace amphora::cmf
