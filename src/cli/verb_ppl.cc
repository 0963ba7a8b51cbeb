// `ppl`: perplexity of a text.
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/progress.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "engine/divergence.h"
#include "engine/importance_collector.h"
#include "package/importance.h"

namespace amphora::cli {
namespace {

struct PplArguments {
  SessionArguments session;
  std::string file, tokens_file, importance_out, reference;
  uint32_t stride = 0;
};

Result<std::vector<TokenId>> read_ids(const PplArguments& arguments, const LoadedModel& loaded) {
  if (!arguments.tokens_file.empty()) {
    AMPHORA_ASSIGN(const std::string text, read_text(arguments.tokens_file));
    return parse_token_ids(text);
  }
  AMPHORA_ASSIGN(const std::string text, read_text(arguments.file));
  AMPHORA_ASSIGN(const auto vocabulary, Vocabulary::load(loaded.package));
  return vocabulary->encode_text(text);
}

/// Opened before the model runs: what cannot be written is refused before the work, not after it.
Result<std::optional<AtomicFile>> create_importance_file(const PplArguments& arguments,
                                                         const Package& package) {
  const std::string& path = arguments.importance_out;
  if (path.empty()) return std::nullopt;
  std::vector<std::filesystem::path> inputs = {arguments.file, arguments.tokens_file, arguments.reference};
  for (const PackageTensor& tensor : package.tensors) inputs.push_back(tensor.file);
  std::error_code absent;
  for (const std::filesystem::path& input : inputs)
    if (!input.empty() && std::filesystem::equivalent(path, input, absent))
      return fail(Fault::kUsage, fmt::format("--imatrix-out would replace {}, which is being read", path));
  AMPHORA_ASSIGN(AtomicFile file, AtomicFile::create(path));
  return file;
}

/// The model to compare with, opened before anything runs; empty if there is none.
Result<LoadedModel> load_reference(const PplArguments& arguments, const Globals& globals) {
  if (arguments.reference.empty()) return LoadedModel{};
  SessionArguments of_reference = arguments.session;
  of_reference.model = arguments.reference;
  of_reference.options.task.clear();
  of_reference.route_stats.clear();
  return load_model(globals, of_reference);
}

/// Runs the same ids through MODEL and, as the truth, through the model to compare with.
Result<std::optional<Divergence>> compare(const LoadedModel& reference, const Globals& globals,
                                          Session& candidate, std::span<const TokenId> ids,
                                          const InterruptScope& interrupt) {
  if (!reference.session) return std::nullopt;
  ProgressBar bar("compare (tokens)", globals.quiet || globals.json);
  PerplexityOptions options;
  options.progress = bar.function();
  options.interrupt = interrupt.token();
  AMPHORA_ASSIGN(const Divergence found, divergence(*reference.session, candidate, ids, options));
  return found;
}

json::Value result_value(const Perplexity& result, const std::optional<Divergence>& found) {
  json::Value value = json::Value::object({{"tokens", count_value(result.tokens)},
                                           {"nll_mean", json::Value::number(result.nll_mean)},
                                           {"ppl", json::Value::number(result.ppl)},
                                           {"ppl_stderr", json::Value::number(result.ppl_stderr)}});
  if (found)
    value.set("compare", json::Value::object({{"positions", count_value(found->positions)},
                                              {"kl_mean", json::Value::number(found->kl_mean)},
                                              {"kl_99", json::Value::number(found->kl_99)},
                                              {"top1_agreement", json::Value::number(found->top1_agreement)},
                                              {"ppl_ratio", json::Value::number(found->ppl_ratio)}}));
  return value;
}

void print_result(const Perplexity& result, const std::optional<Divergence>& found) {
  print(fmt::format("perplexity {:.6f} ± {:.6f} over {} tokens (mean nll {:.8f})\n", result.ppl,
                    result.ppl_stderr, result.tokens, result.nll_mean));
  if (found)
    print(fmt::format(
        "against the other model: perplexity ratio {:.6f}, KL mean {:.6f} and 99 % {:.6f} "
        "nats, same first token at {:.2f} % of {} positions\n",
        found->ppl_ratio, found->kl_mean, found->kl_99, 100 * found->top1_agreement, found->positions));
}

Result<Perplexity> measure(const PplArguments& arguments, const Globals& globals, Session& session,
                           std::span<const TokenId> ids, const InterruptScope& interrupt) {
  ProgressBar bar("ppl (tokens)", globals.quiet || globals.json);
  PerplexityOptions options;
  options.stride = arguments.stride;
  options.progress = bar.function();
  options.interrupt = interrupt.token();
  return perplexity(session, ids, options);
}

Result<int> show_perplexity(const PplArguments& arguments, const Globals& globals) {
  if (arguments.file.empty() == arguments.tokens_file.empty())
    return fail(Fault::kUsage, "give either a FILE or --tokens-file");
  if (!arguments.reference.empty() && arguments.stride != 0)
    return fail(Fault::kUsage, "--compare runs windows that do not overlap: leave --stride out");
  AMPHORA_ASSIGN(const LoadedModel loaded, load_model(globals, arguments.session));
  AMPHORA_ASSIGN(const LoadedModel reference, load_reference(arguments, globals));
  AMPHORA_ASSIGN(const std::vector<TokenId> ids, read_ids(arguments, loaded));
  AMPHORA_ASSIGN(auto importance_file, create_importance_file(arguments, *loaded.package));
  ImportanceCollector collector(*loaded.package);
  if (importance_file) loaded.session->observe_inputs(&collector);
  const InterruptScope interrupt;
  const auto measured = measure(arguments, globals, *loaded.session, ids, interrupt);
  if (interrupt.token().stop_requested()) return kInterruptedStatus;
  AMPHORA_ASSIGN(const Perplexity result, measured);
  AMPHORA_TRY(save_route_stats(arguments.session, *loaded.session));
  loaded.session->observe_inputs(nullptr);
  if (importance_file) {
    AMPHORA_TRY(write_importance(collector.importance(), *importance_file));
    AMPHORA_TRY(importance_file->commit());
  }
  const auto compared = compare(reference, globals, *loaded.session, ids, interrupt);
  if (interrupt.token().stop_requested()) return kInterruptedStatus;
  AMPHORA_ASSIGN(const std::optional<Divergence> found, compared);
  if (globals.json)
    print_json_line(result_value(result, found));
  else
    print_result(result, found);
  return 0;
}

Action declare_ppl(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<PplArguments>();
  arguments->session.declare(app);
  app.add_option("FILE", arguments->file, "the text ('-': standard input)");
  app.add_option("--tokens-file", arguments->tokens_file, "token ids instead of a text");
  app.add_option(
      "--imatrix-out", arguments->importance_out,
      "write how much each input column of every matrix counts in this text, for 'convert --imatrix'");
  app.add_option("--compare", arguments->reference,
                 "another model of the same vocabulary, taken as the truth: how far is MODEL from it?")
      ->check([](const std::string& path) { return std::string(path.empty() ? "no model given" : ""); });
  app.add_option("--stride", arguments->stride, "from one window's start to the next (default: the context)");
  return [arguments, &globals] { return show_perplexity(*arguments, globals); };
}

}  // namespace

const Verb kPerplexity{"ppl", "perplexity of a text", "amphora ppl model.cmf text.txt", declare_ppl};

}  // namespace amphora::cli
