// The envelope: field order is file order (docs/formats/cmf.md §1).
#include "formats/cmf/envelope.h"

#include <algorithm>

#include "base/byte_reader.h"
#include "base/byte_writer.h"
#include "base/checked.h"

namespace amphora::cmf {
namespace {

std::string text_of(const Span& span) {
  return "offset " + std::to_string(span.offset) + ", length " + std::to_string(span.bytes);
}

Checked<void> check_place(const Envelope& envelope, Section section, uint64_t file_bytes) {
  const Span& place = envelope.place(section);
  const uint64_t field = place_field(section);
  const bool required = section == Section::kHeader || section == Section::kDirectory;
  if (required && place == Span{})
    return fault(Code::kMissing, section, field, "a required section is absent");
  if (section == Section::kData) {
    if (place.offset % kPage != 0)
      return fault(Code::kBounds, section, field,
                   "data_off " + std::to_string(place.offset) + " is not a multiple of 4096");
  } else if ((place.offset == 0) != (place.bytes == 0)) {
    return fault(Code::kBounds, section, field, text_of(place) + ": both or neither must be zero");
  }
  if (!lies_within(place.offset, place.bytes, file_bytes))
    return fault(
        Code::kBounds, section, field,
        text_of(place) + " passes the end of the file, which has " + std::to_string(file_bytes) + " bytes");
  if (place.bytes != 0 && place.offset < kEnvelopeBytes)
    return fault(Code::kBounds, section, field, text_of(place) + " overlaps the envelope");
  return {};
}

/// Data is a window that other sections may lie in; all others are disjoint.
Checked<void> check_disjoint(const Envelope& envelope) {
  for (size_t later = 0; later < kPlacedSections.size(); ++later)
    for (size_t earlier = 0; earlier < later; ++earlier) {
      if (kPlacedSections[later] == Section::kData || kPlacedSections[earlier] == Section::kData) continue;
      const Span &a = envelope.places[earlier], &b = envelope.places[later];
      if (a.bytes != 0 && b.bytes != 0 && a.offset < b.end() && b.offset < a.end())
        return fault(
            Code::kBounds, kPlacedSections[later], place_field(kPlacedSections[later]),
            text_of(b) + " overlaps the " + std::string(name_of(kPlacedSections[earlier])) + " section");
    }
  return {};
}

}  // namespace

Checked<Envelope> decode_envelope(Bytes file) {
  if (file.size() < kEnvelopeBytes)
    return fault(Code::kTruncated, Section::kEnvelope, file.size(),
                 "the file has " + std::to_string(file.size()) + " bytes, the envelope alone has 128");
  ByteReader in(file.first(kEnvelopeBytes));
  if (!std::ranges::equal(in.take(kMagic.size()), kMagic))
    return fault(Code::kInvalidMagic, Section::kEnvelope, 0,
                 "not a CMF file: the first bytes are not CMF\\x01");
  Envelope envelope;
  envelope.version = in.read<uint32_t>();
  envelope.flags = in.read<uint32_t>();
  envelope.features = in.read<uint32_t>();
  for (Span& place : envelope.places) {
    place.offset = in.read<uint64_t>();
    place.bytes = in.read<uint64_t>();
  }
  envelope.header_hash = in.read<uint64_t>();
  envelope.directory_hash = in.read<uint64_t>();

  if (envelope.version != kVersion)
    return fault(Code::kUnsupportedVersion, Section::kEnvelope, kVersionField,
                 "version " + std::to_string(envelope.version) + ", this program reads version 2");
  if (envelope.flags != 0) return fault(Code::kParse, Section::kEnvelope, kFlagsField, "flags are not zero");
  if ((envelope.features & ~kKnownFeatures) != 0)
    return fault(Code::kUnsupportedFeature, Section::kEnvelope, kFeaturesField,
                 "required_features " + std::to_string(envelope.features) +
                     " has bits that this program does not know");
  if ((envelope.features & kTensorDirectory) == 0)
    return fault(Code::kParse, Section::kEnvelope, kFeaturesField, "the TENSOR_DIR bit is not set");

  for (const Section section : kPlacedSections) AMPHORA_TRY(check_place(envelope, section, file.size()));
  AMPHORA_TRY(check_disjoint(envelope));
  const bool has_masks = envelope.place(Section::kMasks).bytes != 0;
  if (has_masks != ((envelope.features & kBinaryMasks) != 0))
    return fault(Code::kParse, Section::kEnvelope, kFeaturesField,
                 "the BINARY_MASKS bit and the masks section do not agree");
  if ((envelope.features & kLoopMasks) != 0 && !has_masks)
    return fault(Code::kParse, Section::kEnvelope, kFeaturesField, "LOOP_MASKS without a masks section");
  return envelope;
}

std::array<std::byte, kEnvelopeBytes> encode_envelope(const Envelope& envelope) {
  ByteWriter out;
  out.write_bytes(kMagic);
  out.write(envelope.version);
  out.write(envelope.flags);
  out.write(envelope.features);
  for (const Span& place : envelope.places) {
    out.write(place.offset);
    out.write(place.bytes);
  }
  out.write(envelope.header_hash);
  out.write(envelope.directory_hash);
  std::array<std::byte, kEnvelopeBytes> bytes{};
  std::ranges::copy(out.bytes(), bytes.begin());
  return bytes;
}

}  // namespace amphora::cmf
