// Files of ranks as tiktoken has them: one token a line, base64, a space, its rank.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"
#include "package/piece_merges.h"

namespace amphora::package {

/// A token is at most this long; published files have none above 128 bytes.
inline constexpr size_t kMaxTiktokenBytes = 512;

/// Whether a text begins as such a file does: a line of base64, a space and the rank 0.
bool looks_like_tiktoken(std::string_view text);

/// The tokens by rank. Refused, each with its line and the line's offset: what is not base64, a token twice,
/// ranks that do not count up from 0, tokens of more than kMaxTiktokenBytes; and a file without each of the
/// 256 single bytes.
Result<std::vector<std::string>> decode_tiktoken(std::string_view text);

/// All pairs of tokens that make a token, in the order in which tiktoken merges: by the rank of what they
/// make.
std::vector<Merge> merges_of_ranks(const std::vector<std::string>& tokens);

}  // namespace amphora::package
