// The report of verbs that write CMF files from CMF files.
#include "cli/written_files.h"

#include "cli/print.h"
#include "formats/cmf/signing.h"

namespace amphora::cli {

std::vector<std::string> signature_notes(std::span<const OutputFile> files) {
  std::vector<std::string> notes;
  for (const OutputFile& file : files) {
    const std::string signature = cmf::signature_path_of(file.path).string();
    std::error_code ignored;
    if (std::filesystem::exists(signature, ignored))
      notes.push_back(fmt::format("{} is older than the file that was written: sign that again", signature));
  }
  return notes;
}

void print_written_files(std::span<const OutputFile> files, const Globals& globals) {
  for (const std::string& note : signature_notes(files)) print_note(globals, note);
  std::vector<json::Value> rows;
  for (const OutputFile& file : files) {
    const std::string path = file.path.string();
    if (globals.json)
      rows.push_back(json::Value::object({{"file", text_value(path)}, {"bytes", count_value(file.bytes)}}));
    else if (!globals.quiet)
      print(fmt::format("{}: {}\n", printable(path), human_bytes(file.bytes)));
  }
  if (globals.json) print_json_line(json::Value::object({{"files", json::Value::array(std::move(rows))}}));
}

}  // namespace amphora::cli
