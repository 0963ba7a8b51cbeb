// `compact`: a CMF file or a set of shards becomes one file in the canonical layout.
#include "base/progress.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "cli/written_files.h"
#include "transform/compact.h"

namespace amphora::cli {
namespace {

struct CompactArguments {
  std::string model, out;
};

Result<int> run_compaction(const CompactArguments& arguments, const Globals& globals) {
  ProgressBar bar("compact", globals.quiet || globals.json);
  AMPHORA_ASSIGN(const auto files, compact(arguments.model, arguments.out, std::nullopt, bar.function()));
  print_written_files(files, globals);
  return 0;
}

Action declare_compact(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<CompactArguments>();
  app.add_option("MODEL", arguments->model, ".cmf file, or any shard of a set")->required();
  app.add_option("-o,--output", arguments->out, "the .cmf file to write; may be MODEL if that is one file")
      ->required()
      ->check(not_empty());
  return [arguments, &globals] { return run_compaction(*arguments, globals); };
}

}  // namespace

const Verb kCompact{"compact", "rewrite a .cmf file or a set of shards as one file, without dead bytes",
                    "amphora compact model-00001-of-00003.cmf -o model.cmf", declare_compact};

}  // namespace amphora::cli
