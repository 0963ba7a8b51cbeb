// Extended grapheme clusters (Unicode annex 29), for the normalizer Precompiled.
#pragma once

#include <cstddef>
#include <string_view>

namespace amphora::text {

/// Bytes of the cluster that begins at `offset` of a well-formed text, which must not lie behind its last
/// character. Sequences of regional indicators are not paired: see ClusterClass.
size_t cluster_bytes(std::string_view text, size_t offset);

}  // namespace amphora::text
