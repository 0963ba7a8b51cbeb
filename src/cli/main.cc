// The program `amphora`: finds the verb, runs it, turns faults into the exit status.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <exception>
#include <new>

#include "base/log.h"
#include "cli/completion.h"
#include "cli/interrupt.h"
#include "cli/print.h"
#include "cli/verb.h"

namespace amphora::cli {
namespace {

constexpr std::array<const Verb*, 12> kVerbs = {&kConvert, &kRun,        &kInfo,       &kTensors,
                                                &kVerify,  &kTokenize,   &kDetokenize, &kRender,
                                                &kLogits,  &kPerplexity, &kBench,      &kDoctor};

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
  const Verb* nearest = *std::ranges::min_element(
      kVerbs, {}, [&](const Verb* verb) { return edit_distance(word, verb->name); });
  fmt::print(stderr, "amphora: no verb '{}'; did you mean '{}'? 'amphora help' lists them all\n", word,
             nearest->name);
  return exit_status(Fault::kUsage);
}

struct Declared {
  const Verb* verb;
  CLI::App* app;
  Action action;
};

int run(int argc, char** argv) {
  CLI::App app{"amphora: a language model in one verifiable file, and its runtime"};
  app.name("amphora");
  app.set_version_flag("--version", "amphora " AMPHORA_VERSION);
  app.set_help_flag("-h,--help", "this text");
  app.require_subcommand(0, 1);
  app.footer(
      "'amphora help VERB' shows a verb's options. Exit status: 0 done, 1 the answer is no, 2 wrong usage,\n"
      "3 file system or network trouble, 4 valid but unsupported here, 130 interrupted.");

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
  std::string help_verb;
  CLI::App* help = app.add_subcommand("help", "this text, or a verb's");
  help->add_option("VERB", help_verb, "the verb");
  std::string shell;
  CLI::App* completion = app.add_subcommand("completion", "a shell's completion script, on stdout");
  completion->add_option("SHELL", shell, "bash, zsh, fish or powershell")->required();

  const std::string overview = app.help();  // before parsing: afterwards it is the chosen verb's

  if (argc > 1 && argv[1][0] != '-' && find_verb(argv[1]) == nullptr && argv[1] != help->get_name() &&
      argv[1] != completion->get_name())
    return unknown_verb(argv[1]);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);  // --help and --version print on stdout
  } catch (const CLI::ParseError& error) {
    const auto chosen = app.get_subcommands();
    const std::string verb = chosen.empty() ? "" : " " + chosen.front()->get_name();
    fmt::print(stderr, "amphora{}: {}; see 'amphora{} --help'\n", verb, error.what(), verb);
    return exit_status(Fault::kUsage);
  }

  const auto chosen = app.get_subcommands();
  if (chosen.empty() || (chosen.front() == help && help_verb.empty())) {
    print(overview);
    return chosen.empty() ? exit_status(Fault::kUsage) : 0;
  }
  if (chosen.front() == help) {
    if (find_verb(help_verb) == nullptr) return unknown_verb(help_verb);
    print(app.get_subcommand(help_verb)->help(app.get_name()));
    return 0;
  }

  if (chosen.front() == completion) {
    const auto script = completion_script(app, shell);
    if (!script) {
      fmt::print(stderr, "amphora completion: {}\n", describe(script.error()));
      return exit_status(script.error().fault);
    }
    print(*script);
    return 0;
  }

  const char* const no_color = std::getenv("NO_COLOR");
  set_up_logging(globals.quiet     ? LogLevel::kQuiet
                 : globals.verbose ? LogLevel::kVerbose
                                   : LogLevel::kNormal,
                 no_color == nullptr || no_color[0] == '\0');
  const auto found = std::ranges::find(declared, chosen.front(), &Declared::app);
  const Result<int> status = found->action();
  if (!status) {
    std::fflush(stdout);
    fmt::print(stderr, "amphora {}: {}\n", found->verb->name, describe(status.error()));
    return exit_status(status.error().fault);
  }
  if (std::fflush(stdout) != 0) {
    fmt::print(stderr, "amphora {}: cannot write the output\n", found->verb->name);
    return exit_status(Fault::kIo);
  }
  return *status;
}

}  // namespace
}  // namespace amphora::cli

int main(int argc, char** argv) {
  amphora::cli::watch_for_interrupts();
  try {
    return amphora::cli::run(argc, argv);
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "amphora: out of memory\n");
  } catch (const std::exception& exception) {
    fmt::print(stderr, "amphora: internal error: {}\n", exception.what());
  }
  return 1;
}
