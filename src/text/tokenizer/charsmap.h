// SentencePiece's compiled table of replacements ("precompiled_charsmap").
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"

namespace amphora::text {

/// A double array (Darts) from texts to their replacements. Layout of the blob, little-endian: u32 bytes of
/// the array, the array's u32 units, the replacements as UTF-8, each ended by a zero byte. Checked when it is
/// opened: no lookup can leave the array or the replacements.
class Charsmap {
 public:
  /// kCorrupt if the blob is cut short or a node that can be reached points outside.
  static Result<Charsmap> open(std::string_view blob);

  /// The replacement of the shortest mapped text that `text` begins with.
  std::optional<std::string_view> find_shortest(std::string_view text) const;
  /// The longest mapped text that `text` begins with.
  struct Match {
    size_t bytes;
    std::string_view replacement;
  };
  std::optional<Match> find_longest(std::string_view text) const;

 private:
  static bool has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
  static uint32_t label(uint32_t unit) { return unit & 0x800000FF; }
  static uint32_t offset(uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); }
  static uint32_t value(uint32_t unit) { return unit & 0x7FFFFFFF; }
  Status check_nodes() const;
  Status check_node(uint32_t base, bool leaf) const;
  std::string_view replacement_at(uint32_t place) const;

  std::vector<uint32_t> units_;
  std::string replacements_;
};

}  // namespace amphora::text
