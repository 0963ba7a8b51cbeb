// The 128 bytes at the start of a CMF file and the places of its sections (docs/formats/cmf.md §1).
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <string_view>

#include "amphora/bytes.h"
#include "formats/cmf/finding.h"

namespace amphora::cmf {

inline constexpr std::array<std::byte, 4> kMagic = {std::byte{'C'}, std::byte{'M'}, std::byte{'F'},
                                                    std::byte{1}};
inline constexpr uint64_t kEnvelopeBytes = 128;
inline constexpr uint64_t kPage =
    4096;  ///< alignment of the data section and, in new files, of large tensors
inline constexpr uint32_t kVersion = 2;

/// Bits of required_features.
inline constexpr uint32_t kTensorDirectory = 1u << 0;
inline constexpr uint32_t kBinaryMasks = 1u << 1;
inline constexpr uint32_t kQuant2F = 1u << 2;
inline constexpr uint32_t kLoopMasks = 1u << 5;
inline constexpr uint32_t kSkillFile = 1u << 6;
inline constexpr uint32_t kKnownFeatures =
    kTensorDirectory | kBinaryMasks | kQuant2F | kLoopMasks | kSkillFile;

struct FeatureName {
  uint32_t bit;
  std::string_view name;
};
/// Every known bit, by its name in the format page.
inline constexpr std::array<FeatureName, 5> kFeatureNames = {{{kTensorDirectory, "TENSOR_DIR"},
                                                              {kBinaryMasks, "BINARY_MASKS"},
                                                              {kQuant2F, "QUANT_2F"},
                                                              {kLoopMasks, "LOOP_MASKS"},
                                                              {kSkillFile, "SKILL_FILE"}}};

/// A run of bytes of the file.
struct Span {
  uint64_t offset = 0, bytes = 0;
  uint64_t end() const { return offset + bytes; }  ///< of a span that lies in a file: cannot wrap
  bool operator==(const Span&) const = default;
};

/// The sections that the envelope places, in its order.
inline constexpr std::array<Section, 6> kPlacedSections = {Section::kHeader,     Section::kDirectory,
                                                           Section::kData,       Section::kMasks,
                                                           Section::kVocabulary, Section::kIndex};

/// Offsets of the envelope's fields.
inline constexpr uint64_t kVersionField = 0x04, kFlagsField = 0x08, kFeaturesField = 0x0C;
inline constexpr uint64_t kHeaderHashField = 0x70, kDirectoryHashField = 0x78;
/// The position of a section in kPlacedSections; only those have one.
constexpr size_t place_index(Section section) {
  const auto index = static_cast<size_t>(section) - static_cast<size_t>(Section::kHeader);
  assert(index < kPlacedSections.size() && kPlacedSections[index] == section);
  return index < kPlacedSections.size() ? index : 0;
}
/// The `off` field of a section; its `len` field is 8 bytes behind.
constexpr uint64_t place_field(Section section) { return 0x10 + 16 * place_index(section); }

struct Envelope {
  uint32_t version = kVersion, flags = 0, features = kTensorDirectory;
  std::array<Span, kPlacedSections.size()> places;  ///< in the order of kPlacedSections
  uint64_t header_hash = 0, directory_hash = 0;     ///< 0: not recorded

  const Span& place(Section section) const { return places[place_index(section)]; }
  Span& place(Section section) { return places[place_index(section)]; }
};

/// Reads the envelope and checks every section's place against the file's size and the other sections.
Checked<Envelope> decode_envelope(Bytes file);

std::array<std::byte, kEnvelopeBytes> encode_envelope(const Envelope& envelope);

}  // namespace amphora::cmf
