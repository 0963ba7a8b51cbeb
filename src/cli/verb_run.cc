// `run`: one answer, or a chat on the terminal.
#include <unistd.h>

#include <charconv>
#include <iostream>
#include <random>

#include "base/stopwatch.h"
#include "cli/interrupt.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "formats/cmf/cmf_set.h"
#include "formats/cmf/verify.h"
#include "text/chat.h"
#include "unicode/utf8.h"

namespace amphora::cli {
namespace {

struct RunArguments {
  SessionArguments session;
  std::optional<std::string> prompt;  // an empty one is a prompt too
  std::string prompt_file, system, chat_template, seed, save_state, load_state;
  std::vector<std::string> stop;
  bool raw = false, verify = false, stats = false, parse_special = false, ignore_eos = false;
  std::optional<uint32_t> max_tokens, drafts;
  std::string speculative = "off";
  SamplingOptions sampling;

  SpeculationOptions speculation() const {
    if (speculative == "mtp") return {Drafter::kMtp, drafts};
    if (speculative == "ngram") return {Drafter::kNgram, drafts};
    return {};
  }
};

struct Runner {
  const RunArguments& arguments;
  const Globals& globals;
  SteadyClock::time_point started;
  LoadedModel loaded;
  std::shared_ptr<const Vocabulary> vocabulary;
  std::optional<ChatFormat> chat;
  GenerateOptions options;
};

json::Value message_value(std::string_view role, std::string_view content) {
  return json::Value::object({{"role", text_value(role)}, {"content", text_value(content)}});
}

// What cannot be said in UTF-8 is refused: replacing it would answer another question.
Status check_utf8(std::string_view what, std::string_view text) {
  if (unicode::is_utf8(text)) return {};
  return fail(Fault::kUsage, fmt::format("{} is not UTF-8", what));
}

Result<std::optional<uint64_t>> parse_seed(std::string_view text) {
  if (text.empty()) return std::nullopt;
  uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (error == std::errc() && end == text.data() + text.size()) return seed;
  return fail(Fault::kUsage, fmt::format("'{}' is not a seed: a number from 0 to {}", text, ~uint64_t{0}));
}

Status check_file(const std::filesystem::path& path) {
  AMPHORA_ASSIGN(const cmf::VerifyReport report, cmf::verify(path));
  for (const cmf::Finding& finding : report.findings) {
    if (finding.level() == cmf::Level::kError) return std::unexpected(to_error(finding));
  }
  return {};
}

// A shard runs with its siblings, so they are checked too.
Status check_before_running(const RunArguments& arguments) {
  const std::filesystem::path named = arguments.session.model;
  AMPHORA_TRY(check_file(named));
  AMPHORA_ASSIGN(const cmf::CmfSet set, cmf::CmfSet::open(named));
  for (const cmf::CmfFile& file : set.files())
    if (set.path_of(file) != named) AMPHORA_TRY(check_file(set.path_of(file)));
  return {};
}

// Whether the state can be saved is asked before the work that is to be saved.
Status take_up_state(const RunArguments& arguments, Session& session) {
  if (!arguments.save_state.empty()) {
    AMPHORA_TRY(check_state(session.model()));
    std::error_code ignored;
    if (std::filesystem::equivalent(arguments.save_state, arguments.session.model, ignored))
      return fail(Fault::kUsage, "--save-state names the model itself");
  }
  return arguments.load_state.empty() ? Status{} : load_state(session, arguments.load_state);
}

// The template that the user names, or the model's own. A file without one runs raw, and says so.
Result<std::optional<ChatFormat>> choose_chat_format(const Runner& runner, bool needs_chat) {
  const RunArguments& arguments = runner.arguments;
  if (arguments.raw) {
    if (needs_chat) return fail(Fault::kUsage, "--raw needs a prompt: -p or -f");
    return std::nullopt;
  }
  if (!arguments.chat_template.empty()) {
    AMPHORA_ASSIGN(ChatFormat format, named_chat_format(runner.vocabulary, arguments.chat_template));
    return std::optional(std::move(format));
  }
  if (!runner.loaded.package->tokenizer.chat_template && !needs_chat) {
    if (!arguments.system.empty()) {
      return fail(Fault::kUsage,
                  "--system needs a chat template, and the model has none; see --chat-template");
    }
    print_note(runner.globals, "the model has no chat template: the prompt is completed as it stands");
    return std::nullopt;
  }
  auto format = ChatFormat::create(runner.vocabulary);
  if (!format) {
    if (runner.loaded.package->tokenizer.chat_template)
      format.error().message +=
          "; --raw completes without the model's template, --chat-template chatml|FILE uses another";
    return std::unexpected(format.error());
  }
  return std::optional(*std::move(format));
}

void print_piece(const Runner& runner, const GeneratedPiece& piece) {
  if (runner.globals.json) {
    json::Value line = json::Value::object();
    if (piece.id) line.set("id", count_value(*piece.id));
    line.set("text", text_value(piece.text));
    print_json_line(line);
    return;
  }
  print(piece.text);
  flush_output();
}

void print_statistics(const Runner& runner, const GenerateResult& result, double first_token_seconds) {
  const MemoryUse memory = runner.loaded.session->memory();
  print_error(fmt::format(
      "prompt {} tokens{} at {:.1f} tok/s · {} tokens at {:.1f} tok/s · first token after {:.0f} ms · peak "
      "RSS {} "
      "(weights mapped {}, copied {}, cache {}, scratch {}) · {} threads, {} kernels · seed {}{}\n",
      result.prompt_tokens, result.cached_tokens > 0 ? fmt::format(" ({} kept)", result.cached_tokens) : "",
      result.prefill_tokens_per_second(), result.ids.size(), result.decode_tokens_per_second(),
      first_token_seconds * 1e3, human_bytes(peak_resident_bytes()), human_bytes(memory.weights_mapped),
      human_bytes(memory.weights_copied), human_bytes(memory.kv_used), human_bytes(memory.scratch),
      runner.loaded.session->threads(), runner.loaded.session->kernels(), runner.options.sampling.seed,
      runner.options.speculation.drafter == Drafter::kNone
          ? ""
          : fmt::format(" · {} of {} guesses right", result.accepted, result.drafted)));
}

void print_summary(const GenerateResult& result, double first_token_seconds) {
  print_json_line(json::Value::object(
      {{"done", json::Value::boolean(true)},
       {"text", text_value(result.text)},
       {"finish", text_value(name_of(result.finish))},
       {"prompt_tokens", count_value(result.prompt_tokens)},
       {"tokens", count_value(result.ids.size())},
       {"drafted", count_value(result.drafted)},
       {"accepted", count_value(result.accepted)},
       {"prefill_tps", json::Value::number(result.prefill_tokens_per_second())},
       {"decode_tps", json::Value::number(result.decode_tokens_per_second())},
       {"ttft_ms", json::Value::number(first_token_seconds * 1e3)},
       {"peak_rss_mb", json::Value::number(static_cast<double>(peak_resident_bytes()) / 1e6)}}));
}

// Generates once; `since` is when the user's waiting began.
Result<GenerateResult> answer(Runner& runner, std::span<const TokenId> ids, SteadyClock::time_point since) {
  std::optional<double> first_token_seconds;
  const InterruptScope interrupt;
  runner.options.interrupt = interrupt.token();
  AMPHORA_ASSIGN(GenerateResult result, generate(*runner.loaded.session, *runner.vocabulary, ids,
                                                 runner.options, [&](const GeneratedPiece& piece) {
                                                   if (!first_token_seconds)
                                                     first_token_seconds = seconds_since(since);
                                                   print_piece(runner, piece);
                                                 }));
  if (runner.globals.json) {
    print_summary(result, first_token_seconds.value_or(seconds_since(since)));
  } else {
    print("\n");
    flush_output();
    if (runner.arguments.stats)
      print_statistics(runner, result, first_token_seconds.value_or(seconds_since(since)));
  }
  return result;
}

Result<int> run_once(Runner& runner, const std::string& prompt) {
  std::vector<TokenId> ids;
  if (runner.chat) {
    text::ChatRequest request;
    std::vector<json::Value> messages;
    if (!runner.arguments.system.empty())
      messages.push_back(message_value("system", runner.arguments.system));
    messages.push_back(message_value("user", prompt));
    request.messages = json::Value::array(std::move(messages));
    AMPHORA_ASSIGN(ids, runner.chat->encode(request));
  } else {
    AMPHORA_ASSIGN(ids, runner.vocabulary->encode_text(prompt, runner.arguments.parse_special));
  }
  AMPHORA_ASSIGN(const GenerateResult result, answer(runner, ids, runner.started));
  return result.finish == Finish::kInterrupted ? kInterruptedStatus : 0;
}

Result<int> run_chat(Runner& runner) {
  const bool terminal = ::isatty(STDIN_FILENO) == 1 && !runner.globals.json;
  if (terminal) {
    print_error(fmt::format("Chat with {}: an empty line or Ctrl-D ends it, Ctrl-C stops an answer.\n",
                            printable(runner.loaded.package->path.filename().string())));
  }
  text::ChatRequest request;
  std::vector<json::Value> messages;
  if (!runner.arguments.system.empty()) messages.push_back(message_value("system", runner.arguments.system));
  std::string line;
  while (true) {
    if (terminal) print_error("> ");
    if (!std::getline(std::cin, line) || (terminal && line.empty())) break;
    if (line.empty()) continue;
    if (const Status status = check_utf8("the message", line); !status) {
      print_error(fmt::format("amphora run: {}\n", describe(status.error())));
      continue;
    }
    const SteadyClock::time_point since = SteadyClock::now();
    messages.push_back(message_value("user", line));
    request.messages = json::Value::array(messages);
    AMPHORA_ASSIGN(const std::vector<TokenId> ids, runner.chat->encode(request));
    AMPHORA_ASSIGN(const GenerateResult result, answer(runner, ids, since));
    messages.push_back(message_value("assistant", result.text));
  }
  return 0;
}

Result<int> run(const RunArguments& arguments, const Globals& globals) {
  Runner runner{.arguments = arguments,
                .globals = globals,
                .started = SteadyClock::now(),
                .loaded = {},
                .vocabulary = {},
                .chat = {},
                .options = {}};
  if (arguments.prompt && !arguments.prompt_file.empty())
    return fail(Fault::kUsage, "give -p or -f, not both");
  if (arguments.raw && !arguments.system.empty())
    return fail(Fault::kUsage, "--system needs a chat template, which --raw switches off");
  if (arguments.raw && !arguments.chat_template.empty())
    return fail(Fault::kUsage, "--chat-template and --raw contradict each other");
  AMPHORA_TRY(check_sampling(arguments.sampling));
  const bool needs_chat = !arguments.prompt && arguments.prompt_file.empty();
  std::string prompt = arguments.prompt.value_or("");
  if (!arguments.prompt_file.empty()) {
    AMPHORA_ASSIGN(prompt, read_text(arguments.prompt_file));
  }
  AMPHORA_TRY(check_utf8("the prompt", prompt));
  AMPHORA_TRY(check_utf8("the system message", arguments.system));
  AMPHORA_ASSIGN(const std::optional<uint64_t> seed, parse_seed(arguments.seed));
  if (arguments.verify) AMPHORA_TRY(check_before_running(arguments));
  AMPHORA_ASSIGN(runner.loaded, load_model(globals, arguments.session));
  AMPHORA_TRY(take_up_state(arguments, *runner.loaded.session));
  AMPHORA_ASSIGN(runner.vocabulary, Vocabulary::load(runner.loaded.package));
  AMPHORA_ASSIGN(runner.chat, choose_chat_format(runner, needs_chat));
  if (runner.chat && arguments.parse_special)
    return fail(Fault::kUsage, "--parse-special needs --raw: in a chat, what users write is ordinary text");

  runner.options.max_tokens = arguments.max_tokens;
  runner.options.stop = arguments.stop;
  runner.options.ignore_eos = arguments.ignore_eos;
  runner.options.sampling = arguments.sampling;
  runner.options.sampling.seed = seed ? *seed : uint64_t{std::random_device()()};
  runner.options.speculation = arguments.speculation();
  AMPHORA_TRY(check_speculation(runner.options.speculation, *runner.loaded.model));
  AMPHORA_ASSIGN(const int status, needs_chat ? run_chat(runner) : run_once(runner, prompt));
  AMPHORA_TRY(save_route_stats(arguments.session, *runner.loaded.session));
  if (!arguments.save_state.empty()) AMPHORA_TRY(save_state(*runner.loaded.session, arguments.save_state));
  return status;
}

Action declare_run(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<RunArguments>();
  arguments->session.declare(app);
  app.add_option("-p,--prompt", arguments->prompt, "the prompt (without -p and -f: a chat on the terminal)");
  app.add_option("-f,--file", arguments->prompt_file, "a file with the prompt ('-': standard input)");
  app.add_option("--system", arguments->system, "the system message");
  app.add_flag("--raw", arguments->raw, "complete the prompt as it stands, without a chat template");
  app.add_flag("--parse-special", arguments->parse_special,
               "with --raw: special tokens in the prompt count as such");
  app.add_option("--chat-template", arguments->chat_template,
                 "'chatml' or a template file, instead of the model's own")
      ->check(not_empty());
  app.add_option("--max-tokens", arguments->max_tokens,
                 "at most so many tokens (default: to the context's end)");
  app.add_option("--temp", arguments->sampling.temperature, "temperature; 0 takes the likeliest token")
      ->capture_default_str();
  app.add_option("--top-k", arguments->sampling.top_k, "keep the k likeliest; 0: all")->capture_default_str();
  app.add_option("--top-p", arguments->sampling.top_p, "keep the fewest that reach this probability")
      ->capture_default_str();
  app.add_option("--min-p", arguments->sampling.min_p, "drop what is below this share of the likeliest")
      ->capture_default_str();
  app.add_option("--repeat-penalty", arguments->sampling.repeat_penalty,
                 "against repeating recent tokens; 1: off")
      ->capture_default_str();
  app.add_option("--seed", arguments->seed, "seed of the sampler (default: random, shown by --stats)");
  app.add_option("--stop", arguments->stop, "end where this text begins (may be given several times)")
      ->allow_extra_args(false);
  app.add_option("--speculative", arguments->speculative,
                 "guess ahead with the model's own predictor (mtp) or from earlier text (ngram): the same "
                 "output, faster where the guesses are right")
      ->check(CLI::IsMember({"mtp", "ngram", "off"}))
      ->capture_default_str();
  app.add_option("--drafts", arguments->drafts, "tokens guessed at a time (default: 2 for mtp, 7 for ngram)")
      ->check(CLI::Range(0u, kMostDrafts));
  app.add_flag("--ignore-eos", arguments->ignore_eos, "go on after the end-of-sequence token");
  app.add_option("--load-state", arguments->load_state,
                 "begin with the state in this file: what the prompt has in common with it is not run again")
      ->check(not_empty());
  app.add_option("--save-state", arguments->save_state, "write the state to this file at the end")
      ->check(not_empty());
  app.add_flag("--verify", arguments->verify, "check all of the file's hashes first");
  app.add_flag("--stats", arguments->stats, "tokens, speed and memory on stderr at the end");
  return [arguments, &globals] { return run(*arguments, globals); };
}

}  // namespace

const Verb kRun{"run", "answer a prompt, or chat",
                "amphora run model.cmf -p 'The capital of France is' --raw --max-tokens 20", declare_run};

}  // namespace amphora::cli
