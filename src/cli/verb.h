// What a verb of the command line is: a name, a help text and a function that declares its options.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "amphora/json.h"
#include "amphora/result.h"

namespace amphora::cli {

/// Options that every verb has.
struct Globals {
  bool json = false;     ///< --json: one JSON document (or lines) on stdout, nothing else there
  bool quiet = false;    ///< -q: no progress, no notes
  bool verbose = false;  ///< -v
};

/// Does the verb's work and gives the exit status: 0, or 1 where the answer is "no" and has been printed.
using Action = std::function<Result<int>()>;

/// Refuses an option whose value is empty: a shell variable that is not set should not count as "not given".
inline CLI::Validator not_empty() {
  return CLI::Validator(
      [](std::string& value) { return value.empty() ? std::string("is empty") : std::string(); }, "");
}

struct Verb {
  std::string_view name;
  std::string_view summary;
  std::string_view example;
  /// Declares the options on `app` and returns the action that reads them after parsing.
  Action (*declare)(CLI::App& app, const Globals& globals);
};

extern const Verb kConvert, kRun, kInfo, kTensors, kVerify, kDiff, kSign, kKeygen, kCompact, kShard, kSkill,
    kTokenize, kDetokenize, kRender, kLogits, kPerplexity, kBench, kDoctor, kCompletion, kHelp;

}  // namespace amphora::cli
