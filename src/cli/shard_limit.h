// The option --shard-max-gb of verbs that write sets of shards.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "amphora/result.h"

namespace amphora::cli {

/// Declares `--shard-max-gb` on `app`: stored payload per shard in units of 10^9 bytes, maybe fractional.
CLI::Option* declare_shard_limit(CLI::App& app, std::string& text);

/// The option's text in bytes, rounded to the nearest. Not a number, or less than one byte: kUsage.
Result<uint64_t> parse_shard_limit(const std::string& text);

}  // namespace amphora::cli
