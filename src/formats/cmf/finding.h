// What can be wrong with a CMF file, and where (docs/formats/cmf.md §1 "Errors", §8).
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

#include "amphora/result.h"

namespace amphora::cmf {

/// One code per kind of fault; the last five are notes, which leave a file valid.
enum class Code : uint8_t {
  kInvalidMagic,
  kUnsupportedVersion,
  kUnsupportedFeature,
  kTruncated,
  kBounds,
  kParse,
  kHash,
  kMissing,
  kShard,
  kSkill,
  kNoHash,
  kStrayHash,
  kFeatureBit,
  kDeadBytes,
  kLayout,
};

enum class Section : uint8_t {
  kEnvelope,
  kHeader,
  kDirectory,
  kData,
  kMasks,
  kVocabulary,
  kIndex,
  kSignature
};

enum class Level : uint8_t { kError, kNote };

std::string_view name_of(Code code);  ///< "Bounds"
std::string_view name_of(
    Section section);  ///< "envelope", "header", "dir", "data", "masks", "vocab", "index", "sig"
std::string_view name_of(Level level);  ///< "error", "note"
Level level_of(Code code);
Fault fault_of(Code code);

struct Finding {
  Code code = Code::kParse;
  Section section = Section::kEnvelope;
  uint64_t offset = 0;  ///< absolute, first byte of the faulty field
  std::string message;
  std::string tensor = {};  ///< name of the tensor concerned, or empty
  std::string path = {};    ///< JSON path, or empty
  Level level() const { return level_of(code); }
};

/// What the decoders of this room return; the public functions turn the finding into the program's common
/// error.
template <class T>
using Checked = std::expected<T, Finding>;

std::unexpected<Finding> fault(Code code, Section section, uint64_t offset, std::string message);
std::unexpected<Finding> tensor_fault(Code code, Section section, uint64_t offset, std::string_view tensor,
                                      std::string message);
std::unexpected<Finding> json_fault(Code code, Section section, uint64_t offset, std::string path,
                                    std::string message);

/// The finding as the program's common error: its place is the section and, if there is one, the tensor or
/// JSON path.
Error to_error(const Finding& finding);

}  // namespace amphora::cmf
