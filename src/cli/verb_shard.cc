// `shard`: a CMF file or a set of shards becomes a set with a limit per shard.
#include "base/progress.h"
#include "cli/print.h"
#include "cli/shard_limit.h"
#include "cli/verb.h"
#include "cli/written_files.h"
#include "transform/compact.h"

namespace amphora::cli {
namespace {

struct ShardArguments {
  std::string model, out, limit;
};

Result<int> run_sharding(const ShardArguments& arguments, const Globals& globals) {
  AMPHORA_ASSIGN(const uint64_t limit, parse_shard_limit(arguments.limit));
  ProgressBar bar("shard", globals.quiet || globals.json);
  AMPHORA_ASSIGN(const auto files, compact(arguments.model, arguments.out, limit, bar.function()));
  print_written_files(files, globals);
  return 0;
}

Action declare_shard(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<ShardArguments>();
  app.add_option("MODEL", arguments->model, ".cmf file, or any shard of a set")->required();
  app.add_option("-o,--output", arguments->out,
                 "OUT.cmf: the shards are OUT-00001-of-….cmf; OUT.cmf itself if all fits into one")
      ->required()
      ->check(not_empty());
  declare_shard_limit(app, arguments->limit)->required();
  return [arguments, &globals] { return run_sharding(*arguments, globals); };
}

}  // namespace

const Verb kShard{"shard", "split a .cmf file into a set of shards",
                  "amphora shard model.cmf -o model.cmf --shard-max-gb 4", declare_shard};

}  // namespace amphora::cli
