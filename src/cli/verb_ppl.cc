// `ppl`: perplexity of a text.
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/progress.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "engine/importance_collector.h"
#include "package/importance.h"

namespace amphora::cli {
namespace {

struct Arguments {
  SessionArguments session;
  std::string file, tokens_file, importance_out;
  uint32_t stride = 0;
};

Result<std::vector<TokenId>> read_ids(const Arguments& arguments, const LoadedModel& loaded) {
  if (!arguments.tokens_file.empty()) {
    AMPHORA_ASSIGN(const std::string text, read_text(arguments.tokens_file));
    return parse_token_ids(text);
  }
  AMPHORA_ASSIGN(const std::string text, read_text(arguments.file));
  AMPHORA_ASSIGN(const auto vocabulary, Vocabulary::load(loaded.package));
  return vocabulary->encode_text(text);
}

/// Opened before the model runs: what cannot be written is refused before the work, not after it.
Result<std::optional<AtomicFile>> create_importance_file(const std::string& path, const Package& package) {
  if (path.empty()) return std::nullopt;
  std::error_code absent;
  for (const PackageTensor& tensor : package.tensors)
    if (std::filesystem::equivalent(path, tensor.file, absent))
      return fail(Fault::kUsage, fmt::format("--imatrix-out would replace the model's file {}", path));
  AMPHORA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  return file;
}

Result<int> show_perplexity(const Arguments& arguments, const Globals& globals) {
  if (arguments.file.empty() == arguments.tokens_file.empty()) {
    return fail(Fault::kUsage, "give either a FILE or --tokens-file");
  }
  AMPHORA_ASSIGN(const LoadedModel loaded, load_model(globals, arguments.session));
  AMPHORA_ASSIGN(const std::vector<TokenId> ids, read_ids(arguments, loaded));
  AMPHORA_ASSIGN(auto importance_file, create_importance_file(arguments.importance_out, *loaded.package));
  ImportanceCollector collector(*loaded.package);
  if (importance_file) loaded.session->observe_inputs(&collector);
  ProgressBar bar("ppl (tokens)", globals.quiet || globals.json);
  const InterruptScope interrupt;
  PerplexityOptions options;
  options.stride = arguments.stride;
  options.progress = bar.function();
  options.interrupt = interrupt.token();
  const auto measured = perplexity(*loaded.session, ids, options);
  if (interrupt.token().stop_requested()) return kInterruptedStatus;
  AMPHORA_ASSIGN(const Perplexity result, measured);
  if (importance_file) {
    AMPHORA_TRY(write_importance(collector.importance(), *importance_file));
    AMPHORA_TRY(importance_file->commit());
  }
  if (globals.json) {
    print_json_line(json::Value::object({{"tokens", count_value(result.tokens)},
                                         {"nll_mean", json::Value::number(result.nll_mean)},
                                         {"ppl", json::Value::number(result.ppl)},
                                         {"ppl_stderr", json::Value::number(result.ppl_stderr)}}));
  } else {
    print(fmt::format("perplexity {:.6f} ± {:.6f} over {} tokens (mean nll {:.8f})\n", result.ppl,
                      result.ppl_stderr, result.tokens, result.nll_mean));
  }
  return 0;
}

Action declare(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<Arguments>();
  arguments->session.declare(app);
  app.add_option("FILE", arguments->file, "the text ('-': standard input)");
  app.add_option("--tokens-file", arguments->tokens_file, "token ids instead of a text");
  app.add_option(
      "--imatrix-out", arguments->importance_out,
      "write how much each input column of every matrix counts in this text, for 'convert --imatrix'");
  app.add_option("--stride", arguments->stride, "from one window's start to the next (default: the context)");
  return [arguments, &globals] { return show_perplexity(*arguments, globals); };
}

}  // namespace

const Verb kPerplexity{"ppl", "perplexity of a text", "amphora ppl model.cmf text.txt", declare};

}  // namespace amphora::cli
