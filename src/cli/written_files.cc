// The report of verbs that write CMF files from CMF files.
#include "cli/written_files.h"

#include "cli/print.h"

namespace amphora::cli {

void print_written_files(std::span<const OutputFile> files, const Globals& globals) {
  std::vector<json::Value> rows;
  for (const OutputFile& file : files) {
    const std::string path = file.path.string();
    std::error_code ignored;
    if (std::filesystem::exists(path + ".sig", ignored))
      print_note(globals, fmt::format("{}.sig does not sign the new file: sign it again", path));
    if (globals.json)
      rows.push_back(json::Value::object({{"file", text_value(path)}, {"bytes", count_value(file.bytes)}}));
    else if (!globals.quiet)
      print(fmt::format("{}: {}\n", printable(path), human_bytes(file.bytes)));
  }
  if (globals.json) print_json_line(json::Value::object({{"files", json::Value::array(std::move(rows))}}));
}

}  // namespace amphora::cli
