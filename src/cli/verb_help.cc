// `help`: all verbs, or one verb's options.
#include "cli/print.h"
#include "cli/verb.h"

namespace amphora::cli {
namespace {

// App::help() of the whole program would show the verb that was chosen, which is this one.
std::string help_of(const CLI::App& app, const std::string& before) {
  return app.get_formatter()->make_help(&app, before, CLI::AppFormatMode::Normal);
}

Action declare_help(CLI::App& app, const Globals&) {
  auto verb = std::make_shared<std::string>();
  app.add_option("VERB", *verb, "the verb (without one: a list of all)");
  return [verb, &app]() -> Result<int> {
    const CLI::App& program = *app.get_parent();
    if (verb->empty()) {
      print(help_of(program, program.get_name()));
      return 0;
    }
    for (const CLI::App* candidate : program.get_subcommands(nullptr)) {
      if (candidate->get_name() != *verb) continue;
      print(help_of(*candidate, program.get_name() + " " + candidate->get_name()));
      return 0;
    }
    return fail(Fault::kUsage, fmt::format("there is no verb '{}'", *verb));
  };
}

}  // namespace

const Verb kHelp{"help", "this list, or a verb's options", "amphora help convert", declare_help};

}  // namespace amphora::cli
