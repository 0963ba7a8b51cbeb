// Extended grapheme clusters.
#include "text/tokenizer/grapheme.h"

#include "text/tokenizer/character_classes.h"
#include "unicode/utf8.h"

namespace amphora::text {
namespace {

enum class Jamo { kNone, kLeading, kVowel, kTrailing, kOpenSyllable, kClosedSyllable };

bool lies_in(char32_t c, char32_t first, char32_t last) { return c >= first && c <= last; }

Jamo jamo_of(char32_t c) {
  if (c < 0x1100) return Jamo::kNone;
  if (lies_in(c, 0x1100, 0x115F) || lies_in(c, 0xA960, 0xA97C)) return Jamo::kLeading;
  if (lies_in(c, 0x1160, 0x11A7) || lies_in(c, 0xD7B0, 0xD7C6)) return Jamo::kVowel;
  if (lies_in(c, 0x11A8, 0x11FF) || lies_in(c, 0xD7CB, 0xD7FB)) return Jamo::kTrailing;
  constexpr char32_t kTrailingCount = 28;
  if (!lies_in(c, 0xAC00, 0xD7A3)) return Jamo::kNone;
  return (c - 0xAC00) % kTrailingCount == 0 ? Jamo::kOpenSyllable : Jamo::kClosedSyllable;
}

bool joins_syllable(Jamo left, Jamo right) {
  switch (left) {
    case Jamo::kLeading: return right != Jamo::kNone && right != Jamo::kTrailing;
    case Jamo::kVowel:
    case Jamo::kOpenSyllable: return right == Jamo::kVowel || right == Jamo::kTrailing;
    case Jamo::kTrailing:
    case Jamo::kClosedSyllable: return right == Jamo::kTrailing;
    case Jamo::kNone: break;
  }
  return false;
}

// The end of a cluster so far.
class Cluster {
 public:
  explicit Cluster(char32_t first) { append(first); }

  bool takes(char32_t c) const {
    const ClusterClass kind = cluster_class(c);
    if (last_ == '\r' && c == '\n') return true;
    if (last_class_ == ClusterClass::kControl || kind == ClusterClass::kControl) return false;
    switch (kind) {
      case ClusterClass::kExtend:
      case ClusterClass::kNonJoiner:
      case ClusterClass::kJoiner:
      case ClusterClass::kLinker:
      case ClusterClass::kSpacingMark: return true;
      case ClusterClass::kConsonant:
        if (in_conjunct_ && linked_) return true;
        break;
      case ClusterClass::kPictographic:
        if (in_pictogram_ && last_class_ == ClusterClass::kJoiner) return true;
        break;
      default: break;
    }
    return last_class_ == ClusterClass::kPrepend || joins_syllable(jamo_of(last_), jamo_of(c));
  }

  void append(char32_t c) {
    const ClusterClass kind = cluster_class(c);
    const bool extends = kind == ClusterClass::kExtend || kind == ClusterClass::kLinker;
    // The joiner ends a run of marks behind a pictographic character: nothing but another one may follow.
    in_pictogram_ = kind == ClusterClass::kPictographic ||
                    (in_pictogram_ && last_class_ != ClusterClass::kJoiner &&
                     (extends || kind == ClusterClass::kNonJoiner || kind == ClusterClass::kJoiner));
    if (kind == ClusterClass::kConsonant) {
      in_conjunct_ = true;
      linked_ = false;
    } else {
      in_conjunct_ = in_conjunct_ && (extends || kind == ClusterClass::kJoiner);
      linked_ = in_conjunct_ && (linked_ || kind == ClusterClass::kLinker);
    }
    last_ = c;
    last_class_ = kind;
  }

 private:
  char32_t last_ = 0;
  ClusterClass last_class_ = ClusterClass::kOther;
  bool in_pictogram_ = false;  // a pictographic character, marks and perhaps a joiner stand last
  bool in_conjunct_ = false;   // a consonant and what may stand between it and the next stand last
  bool linked_ = false;        // … with a linker among it
};

}  // namespace

size_t cluster_bytes(std::string_view text, size_t offset) {
  size_t end = offset + unicode::sequence_bytes(text[offset]);
  // ASCII before ASCII is by far the most frequent case; only a carriage return joins.
  if (end < text.size() && static_cast<uint8_t>(text[offset] | text[end]) < 0x80 && text[offset] != '\r')
    return 1;
  Cluster cluster(unicode::decode_utf8(text, offset).code_point);
  while (end < text.size()) {
    const unicode::Decoded next = unicode::decode_utf8(text, end);
    if (!cluster.takes(next.code_point)) break;
    cluster.append(next.code_point);
    end += next.bytes;
  }
  return end - offset;
}

}  // namespace amphora::text
