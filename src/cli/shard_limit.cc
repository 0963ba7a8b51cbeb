// --shard-max-gb: from gigabytes as people write them to bytes.
#include "cli/shard_limit.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace amphora::cli {

CLI::Option* declare_shard_limit(CLI::App& app, std::string& text) {
  return app.add_option("--shard-max-gb", text, "most payload per shard, in 10^9 bytes; 0.5 is possible");
}

Result<uint64_t> parse_shard_limit(const std::string& text) {
  double gigabytes = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, gigabytes);
  const double bytes = std::round(gigabytes * 1e9);
  if (error != std::errc() || rest != end || !(bytes >= 1 && bytes <= 0x1p62))
    return fail(Fault::kUsage,
                fmt::format("--shard-max-gb: '{}' is not a positive number of gigabytes", text));
  return static_cast<uint64_t>(bytes);
}

}  // namespace amphora::cli
