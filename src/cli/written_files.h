// How verbs that write CMF files from CMF files say what they have written.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "package/cmf_output.h"

namespace amphora::cli {

/// A note for each file beside which there is a `.sig`, made before the file was written.
std::vector<std::string> signature_notes(std::span<const OutputFile> files);

/// Prints a line per file, or `{"files":[{"file","bytes"}]}`; notes each `.sig` beside a file that was signed
/// before it was replaced.
void print_written_files(std::span<const OutputFile> files, const Globals& globals);

}  // namespace amphora::cli
