// `completion`: scripts that teach shells the verbs and options, made from the same declarations as the help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>

#include "amphora/result.h"

namespace amphora::cli {

/// The script for "bash", "zsh", "fish" or "powershell"; kUsage for another shell.
Result<std::string> completion_script(const CLI::App& app, std::string_view shell);

}  // namespace amphora::cli
