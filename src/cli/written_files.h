// How verbs that write CMF files from CMF files say what they have written.
#pragma once

#include <span>

#include "cli/verb.h"
#include "package/cmf_output.h"

namespace amphora::cli {

/// Prints a line per file, or `{"files":[{"file","bytes"}]}`; notes each `.sig` beside a file that was signed
/// before it was replaced.
void print_written_files(std::span<const OutputFile> files, const Globals& globals);

}  // namespace amphora::cli
