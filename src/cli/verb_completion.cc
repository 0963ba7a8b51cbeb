// `completion`: scripts that teach shells the verbs and options, made from the same declarations as the help.

#include <fmt/format.h>

#include <vector>

#include "cli/print.h"
#include "cli/verb.h"

namespace amphora::cli {
namespace {

struct VerbWords {
  std::string name, summary;
  std::vector<std::string> options;  // with their dashes
};

std::vector<VerbWords> words_of(const CLI::App& app) {
  std::vector<VerbWords> verbs;
  for (const CLI::App* sub : app.get_subcommands(nullptr)) {
    VerbWords verb{sub->get_name(), sub->get_description(), {}};
    for (const CLI::Option* option : sub->get_options()) {
      for (const std::string& name : option->get_snames()) verb.options.push_back("-" + name);
      for (const std::string& name : option->get_lnames()) verb.options.push_back("--" + name);
    }
    verbs.push_back(std::move(verb));
  }
  return verbs;
}

std::string names_of(const std::vector<VerbWords>& verbs) {
  std::vector<std::string> names;
  for (const VerbWords& verb : verbs) names.push_back(verb.name);
  return fmt::format("{}", fmt::join(names, " "));
}

// Inside single quotes of fish and PowerShell; neither summary holds more than apostrophes.
std::string quoted(std::string_view text, std::string_view apostrophe) {
  std::string result = "'";
  for (const char c : text) c == '\'' ? result += apostrophe : result += c;
  return result + "'";
}

// zsh runs bash's completion through its own compatibility layer.
std::string bash_script(const std::vector<VerbWords>& verbs, bool zsh) {
  std::string script = "# amphora completion; load it with: ";
  script += zsh ? "source <(amphora completion zsh)\nautoload -U +X bashcompinit && bashcompinit\n"
                : "source <(amphora completion bash)\n";
  script += "_amphora() {\n  local word=${COMP_WORDS[COMP_CWORD]} words\n  if (( COMP_CWORD == 1 )); then\n";
  script += fmt::format("    words='{} --help --version'\n  else\n    case ${{COMP_WORDS[1]}} in\n",
                        names_of(verbs));
  for (const VerbWords& verb : verbs) {
    const bool help = verb.name == "help";
    script += fmt::format("      {}) words='{}' ;;\n", verb.name,
                          help ? names_of(verbs) : fmt::format("{}", fmt::join(verb.options, " ")));
  }
  script += "    esac\n    [[ $word == -* || ${COMP_WORDS[1]} == help ]] || words=\n  fi\n";
  script += "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n}\n";
  script += "complete -o default -o bashdefault -F _amphora amphora\n";
  return script;
}

std::string fish_script(const std::vector<VerbWords>& verbs) {
  std::string script = "# amphora completion; load it with: amphora completion fish | source\n";
  for (const VerbWords& verb : verbs) {
    script += fmt::format("complete -c amphora -n __fish_use_subcommand -a {} -d {}\n", verb.name,
                          quoted(verb.summary, "\\'"));
    for (const std::string& option : verb.options) {
      const bool is_long = option.starts_with("--");
      script += fmt::format("complete -c amphora -n '__fish_seen_subcommand_from {}' {} {}\n", verb.name,
                            is_long ? "-l" : "-s", option.substr(is_long ? 2 : 1));
    }
  }
  return script;
}

std::string powershell_script(const std::vector<VerbWords>& verbs) {
  std::string script =
      "# amphora completion; load it with: amphora completion powershell | Out-String | Invoke-Expression\n";
  script += "Register-ArgumentCompleter -Native -CommandName amphora -ScriptBlock {\n";
  script += "  param($word, $ast, $cursor)\n  $words = @{\n";
  const auto list = [](const std::vector<std::string>& items) {
    std::vector<std::string> parts;
    for (const std::string& item : items) parts.push_back(quoted(item, "''"));
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  std::vector<std::string> names;
  for (const VerbWords& verb : verbs) {
    names.push_back(verb.name);
    script += fmt::format("    {} = @({})\n", quoted(verb.name, "''"), list(verb.options));
  }
  script += "  }\n  $parts = $ast.CommandElements\n";
  script +=
      fmt::format("  $candidates = if ($parts.Count -lt 2 -or ($parts.Count -eq 2 -and $word)) {{ @({}) }} ",
                  list(names));
  script += "else { $words[[string]$parts[1]] }\n";
  script += "  $candidates | Where-Object { $_ -like \"$word*\" } | ForEach-Object {\n";
  script += "    [System.Management.Automation.CompletionResult]::new($_)\n  }\n}\n";
  return script;
}

/// The script for "bash", "zsh", "fish" or "powershell"; kUsage for another shell.
Result<std::string> completion_script(const CLI::App& app, std::string_view shell) {
  const std::vector<VerbWords> verbs = words_of(app);
  if (shell == "bash") return bash_script(verbs, false);
  if (shell == "zsh") return bash_script(verbs, true);
  if (shell == "fish") return fish_script(verbs);
  if (shell == "powershell") return powershell_script(verbs);
  return fail(Fault::kUsage,
              fmt::format("no completion for '{}'; there is bash, zsh, fish and powershell", shell));
}

Action declare_completion(CLI::App& app, const Globals&) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh, fish or powershell")->required();
  return [shell, &app]() -> Result<int> {
    AMPHORA_ASSIGN(const std::string script, completion_script(*app.get_parent(), *shell));
    print(script);
    return 0;
  };
}

}  // namespace

const Verb kCompletion{"completion", "a shell's completion script", "amphora completion bash",
                       declare_completion};

}  // namespace amphora::cli
