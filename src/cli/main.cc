// The program `amphora`: finds the verb, runs it, turns faults into the exit status.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/log.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/verb.h"

namespace amphora::cli {
namespace {

constexpr std::array<const Verb*, 20> kVerbs = {
    &kConvert, &kRun,        &kInfo,  &kTensors, &kVerify,     &kDiff,       &kSign,
    &kKeygen,  &kCompact,    &kShard, &kSkill,   &kTokenize,   &kDetokenize, &kRender,
    &kLogits,  &kPerplexity, &kBench, &kDoctor,  &kCompletion, &kHelp};

// How many single-character edits lie between two words.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

const Verb* find_verb(std::string_view name) {
  const auto found = std::ranges::find(kVerbs, name, &Verb::name);
  return found == kVerbs.end() ? nullptr : *found;
}

int unknown_verb(std::string_view word) {
  constexpr size_t kMostEdits = 3;
  const auto distance = [&](const Verb* verb) { return edit_distance(word, verb->name); };
  std::string hint;
  if (word.size() < 32) {
    const Verb* nearest = *std::ranges::min_element(kVerbs, {}, distance);
    if (distance(nearest) <= kMostEdits) hint = fmt::format("; did you mean '{}'?", nearest->name);
  }
  print_error(fmt::format("amphora: no verb '{}'{}; 'amphora help' lists them all\n",
                          printable(word.substr(0, 64)), hint));
  return exit_status(Fault::kUsage);
}

struct Declared {
  const Verb* verb;
  CLI::App* app;
  Action action;
};

// The status of a run whose results have all been printed.
int finished(int status) {
  if (!output_failed()) return status;
  print_error("amphora: cannot write the output\n");
  return exit_status(Fault::kIo);
}

int run(int argc, char** argv) {
  CLI::App app{"amphora: a language model in one verifiable file, and its runtime"};
  app.name("amphora");
  app.set_version_flag("--version", "amphora " AMPHORA_VERSION);
  app.set_help_flag("-h,--help", "this text");
  app.require_subcommand(0, 1);
  app.footer(
      "'amphora help VERB' shows a verb's options. Exit status: 0 done, 1 the answer is no,\n"
      "2 wrong usage, 3 trouble with files or memory, 4 valid but unsupported here,\n"
      "130 interrupted.");

  Globals globals;
  std::vector<Declared> declared;
  for (const Verb* verb : kVerbs) {
    CLI::App* sub = app.add_subcommand(std::string(verb->name), std::string(verb->summary));
    sub->set_help_flag("-h,--help", "this text");
    sub->footer(fmt::format("Example: {}", verb->example));
    sub->add_flag("--json", globals.json, "machine-readable output on stdout");
    sub->add_flag("-q,--quiet", globals.quiet, "no progress, no notes");
    sub->add_flag("-v,--verbose", globals.verbose, "say more on stderr");
    declared.push_back({verb, sub, verb->declare(*sub, globals)});
  }

  if (argc > 1 && argv[1][0] != '-' && find_verb(argv[1]) == nullptr) return unknown_verb(argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion& version) {
    print(fmt::format("{}\n", version.what()));
    return finished(0);
  } catch (const CLI::Success&) {
    print(app.help());
    return finished(0);
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string verb = chosen.empty() ? "" : " " + chosen.front()->get_name();
    print_error(fmt::format("amphora{}: {}; see 'amphora{} --help'\n", verb, printable(error.what()), verb));
    return exit_status(Fault::kUsage);
  }

  const auto chosen = app.get_subcommands();
  if (chosen.empty()) {
    print(app.help());
    return exit_status(Fault::kUsage);
  }
  const char* const no_color = std::getenv("NO_COLOR");
  set_up_logging(globals.quiet     ? LogLevel::kQuiet
                 : globals.verbose ? LogLevel::kVerbose
                                   : LogLevel::kNormal,
                 no_color == nullptr || no_color[0] == '\0');
  const auto found = std::ranges::find(declared, chosen.front(), &Declared::app);
  const Result<int> status = found->action();
  if (!status) {
    print_error(fmt::format("amphora {}: {}\n", found->verb->name, describe(status.error())));
    return exit_status(status.error().fault);
  }
  return finished(*status);
}

}  // namespace
}  // namespace amphora::cli

int main(int argc, char** argv) {
  try {
    amphora::cli::watch_for_interrupts();
    return amphora::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    amphora::cli::print_error("amphora: out of memory\n");
    return amphora::exit_status(amphora::Fault::kIo);
  } catch (const std::system_error& error) {
    amphora::cli::print_error(fmt::format("amphora: the system refuses: {}\n", error.what()));
    return amphora::exit_status(amphora::Fault::kIo);
  } catch (const std::exception& exception) {
    amphora::cli::print_error(fmt::format("amphora: internal error: {}\n", exception.what()));
    return 1;
  }
}
