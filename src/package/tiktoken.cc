// Reads a file of ranks and finds its merges.
#include "package/tiktoken.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <unordered_map>

#include "base/base64.h"

namespace amphora::package {
namespace {

/// A line's token as text and its rank as text; empty if it is not of this form.
struct Line {
  std::string_view token, rank;
};
std::optional<Line> split_line(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == 0 || space == std::string_view::npos) return std::nullopt;
  return Line{line.substr(0, space), line.substr(space + 1)};
}

std::string_view first_line(std::string_view text) {
  std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> read() {
    while (offset_ < text_.size()) {
      const std::string_view rest = text_.substr(offset_);
      AMPHORA_TRY(read_line(first_line(rest)));
      offset_ += std::min(rest.find('\n'), rest.size() - 1) + 1;
      ++number_;
    }
    AMPHORA_TRY(check_bytes());
    return std::move(tokens_);
  }

 private:
  Status read_line(std::string_view line) {
    const auto parts = split_line(line);
    if (!parts) return corrupt("found no token and rank with one space between");
    // base64 has four characters for three bytes.
    if (parts->token.size() > (kMaxTiktokenBytes + 2) / 3 * 4) return too_long();
    const auto token = decode_base64(parts->token);
    if (!token || token->empty()) return corrupt("the token is not base64");
    if (token->size() > kMaxTiktokenBytes) return too_long();
    uint32_t rank = 0;
    const char* end = parts->rank.data() + parts->rank.size();
    const auto [rest, error] = std::from_chars(parts->rank.data(), end, rank);
    if (error != std::errc() || rest != end || parts->rank.empty())
      return corrupt("the rank is not a number");
    if (rank != tokens_.size())
      return corrupt(fmt::format("the rank is {}, wanted {}: ranks count up from 0", rank, tokens_.size()));
    if (const auto [first, added] = ranks_.emplace(*token, rank); !added)
      return corrupt(fmt::format("the token already has the rank {}", first->second));
    tokens_.push_back(*token);
    return {};
  }

  /// Without all bytes there would be texts that cannot be encoded.
  Status check_bytes() const {
    std::array<bool, 256> seen{};
    for (const std::string& token : tokens_)
      if (token.size() == 1) seen[static_cast<uint8_t>(token[0])] = true;
    for (size_t byte = 0; byte < seen.size(); ++byte)
      if (!seen[byte])
        return corrupt(fmt::format("the file ends without a token for the byte 0x{:02X}", byte));
    return {};
  }

  std::unexpected<Error> corrupt(std::string_view message) const {
    return fail_at(Fault::kCorrupt, "Tiktoken", fmt::format("line {}", number_), offset_,
                   fmt::format("line {}: {}", number_, message));
  }
  std::unexpected<Error> too_long() const {
    return fail_at(
        Fault::kRefused, "Tiktoken", fmt::format("line {}", number_), offset_,
        fmt::format("line {}: the token is longer than the limit of {} bytes", number_, kMaxTiktokenBytes));
  }

  std::string_view text_;
  uint64_t offset_ = 0, number_ = 1;
  std::vector<std::string> tokens_;
  std::unordered_map<std::string, uint32_t> ranks_;
};

}  // namespace

bool looks_like_tiktoken(std::string_view text) {
  const auto parts = split_line(first_line(text));
  return parts && parts->rank == "0" && decode_base64(parts->token).has_value();
}

Result<std::vector<std::string>> decode_tiktoken(std::string_view text) { return Reader(text).read(); }

std::vector<Merge> merges_of_ranks(const std::vector<std::string>& tokens) {
  std::unordered_map<std::string_view, uint32_t> ranks;
  ranks.reserve(tokens.size());
  for (uint32_t rank = 0; rank < tokens.size(); ++rank) ranks.emplace(tokens[rank], rank);
  std::vector<Merge> merges;
  for (const std::string_view token : tokens) {
    const size_t first = merges.size();
    for (size_t cut = 1; cut < token.size(); ++cut) {
      const auto left = ranks.find(token.substr(0, cut));
      if (left == ranks.end()) continue;
      const auto right = ranks.find(token.substr(cut));
      if (right != ranks.end()) merges.push_back({left->second, right->second});
    }
    std::sort(merges.begin() + static_cast<std::ptrdiff_t>(first), merges.end(),
              [](const Merge& a, const Merge& b) {
                return a.left != b.left ? a.left < b.left : a.right < b.right;
              });
  }
  return merges;
}

}  // namespace amphora::package
