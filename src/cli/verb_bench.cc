// `bench`: how fast a model runs here.
#include <algorithm>

#include "base/read_bandwidth.h"
#include "base/stopwatch.h"
#include "cli/load.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "kernels/kernels.h"

namespace amphora::cli {
namespace {

struct BenchArguments {
  SessionArguments session;
  std::vector<size_t> prompts{128, 512};
  uint32_t generated = 64;
  uint32_t depth = 0;
  std::vector<size_t> threads;
  uint32_t repeat = 5;
};

struct Row {
  size_t threads;
  std::string_view kind;
  size_t tokens;
  std::vector<double> tokens_per_second;  // sorted
  // Weights streamed, at the median, and what memory gave in the same minute on as many threads; 0 for
  // prefill.
  double gigabytes_per_second, read_gigabytes_per_second;

  double median() const { return tokens_per_second[tokens_per_second.size() / 2]; }
  double share() const {
    return read_gigabytes_per_second > 0 ? gigabytes_per_second / read_gigabytes_per_second : 0;
  }
};

// Ids that any vocabulary has, not all equal: what they are makes no difference to the speed.
std::vector<TokenId> some_ids(size_t count, uint32_t vocabulary) {
  std::vector<TokenId> ids(count);
  for (size_t i = 0; i < count; ++i) ids[i] = static_cast<TokenId>((i * 7919 + 3) % vocabulary);
  return ids;
}

template <class Prepare, class Work>
Result<std::vector<double>> measure(uint32_t repeat, size_t tokens, const Prepare& prepare,
                                    const Work& work) {
  std::vector<double> speeds;
  for (uint32_t round = 0; round <= repeat; ++round) {
    AMPHORA_TRY(prepare());
    const SteadyClock::time_point start = SteadyClock::now();
    AMPHORA_TRY(work());
    const double seconds = seconds_since(start);
    if (round > 0) speeds.push_back(static_cast<double>(tokens) / seconds);  // the first round warms up
  }
  std::ranges::sort(speeds);
  return speeds;
}

Result<Row> bench_prefill(Session& session, size_t tokens, uint32_t repeat) {
  const std::vector<TokenId> ids = some_ids(tokens, session.model().spec().vocab_size);
  const auto prepare = [&]() -> Status {
    session.reset();
    return {};
  };
  const auto work = [&]() -> Status {
    AMPHORA_TRY(session.forward(ids));
    return {};
  };
  AMPHORA_ASSIGN(std::vector<double> speeds, measure(repeat, tokens, prepare, work));
  return Row{session.threads(), "prefill", tokens, std::move(speeds), 0, 0};
}

Result<Row> bench_decode(Session& session, uint32_t tokens, uint32_t depth, uint32_t repeat) {
  const std::vector<TokenId> context = some_ids(depth, session.model().spec().vocab_size);
  const ReadBandwidth memory;
  ThreadPool pool(session.threads());
  std::vector<double> read_speeds;
  const auto prepare = [&]() -> Status {
    session.reset();
    if (depth > 0) AMPHORA_TRY(session.prefill(context));
    read_speeds.push_back(memory.measure(pool) / 1e9);
    return {};
  };
  const auto work = [&]() -> Status {
    TokenId id = 1 % session.model().spec().vocab_size;
    for (uint32_t step = 0; step < tokens; ++step) {
      AMPHORA_ASSIGN(const auto logits, session.forward(std::span(&id, 1)));
      id = session.argmax(logits);
    }
    return {};
  };
  AMPHORA_ASSIGN(std::vector<double> speeds, measure(repeat, tokens, prepare, work));
  std::ranges::sort(read_speeds);
  Row row{session.threads(), "decode", tokens, std::move(speeds), 0, read_speeds[read_speeds.size() / 2]};
  row.gigabytes_per_second = row.median() * static_cast<double>(session.model().bytes_per_token()) / 1e9;
  return row;
}

void print_row(const Row& row) {
  print(fmt::format("{:>7} {:<8} {:>6} {:>10.1f} {:>10.1f} {:>10.1f}", row.threads, row.kind, row.tokens,
                    row.median(), row.tokens_per_second.front(), row.tokens_per_second.back()));
  if (row.gigabytes_per_second > 0)
    print(fmt::format(" {:>9.1f} {:>9.1f} {:>6.2f}", row.gigabytes_per_second, row.read_gigabytes_per_second,
                      row.share()));
  print("\n");
  flush_output();
}

json::Value row_value(const Row& row) {
  return json::Value::object({{"threads", count_value(row.threads)},
                              {"kind", text_value(row.kind)},
                              {"n", count_value(row.tokens)},
                              {"tps_median", json::Value::number(row.median())},
                              {"tps_min", json::Value::number(row.tokens_per_second.front())},
                              {"tps_max", json::Value::number(row.tokens_per_second.back())},
                              {"gbps", json::Value::number(row.gigabytes_per_second)},
                              {"read_gbps", json::Value::number(row.read_gigabytes_per_second)},
                              {"share", json::Value::number(row.share())}});
}

Result<int> bench(const BenchArguments& arguments, const Globals& globals) {
  std::vector<size_t> threads = arguments.threads;
  if (threads.empty()) threads.push_back(arguments.session.options.threads);
  std::vector<json::Value> rows;
  if (!globals.json) {
    print(fmt::format("{:>7} {:<8} {:>6} {:>10} {:>10} {:>10} {:>9} {:>9} {:>6}\n", "threads", "kind", "n",
                      "tok/s med", "min", "max", "GB/s", "memory", "share"));
  }
  SessionArguments session_arguments = arguments.session;
  if (session_arguments.options.context == 0) {
    session_arguments.options.context = static_cast<uint32_t>(
        std::max<size_t>(size_t{arguments.depth} + arguments.generated + 1,
                         arguments.prompts.empty() ? 0 : *std::ranges::max_element(arguments.prompts)));
  }
  for (const size_t count : threads) {
    session_arguments.options.threads = count;
    AMPHORA_ASSIGN(const LoadedModel loaded, load_model(globals, session_arguments));
    std::vector<Row> measured;
    for (const size_t tokens : arguments.prompts) {
      AMPHORA_ASSIGN(Row row, bench_prefill(*loaded.session, tokens, arguments.repeat));
      measured.push_back(std::move(row));
    }
    if (arguments.generated > 0) {
      AMPHORA_ASSIGN(Row row,
                     bench_decode(*loaded.session, arguments.generated, arguments.depth, arguments.repeat));
      measured.push_back(std::move(row));
    }
    for (const Row& row : measured) {
      if (globals.json) {
        rows.push_back(row_value(row));
      } else {
        print_row(row);
      }
    }
  }
  if (globals.json) print_json_line(json::Value::array(std::move(rows)));
  return 0;
}

Action declare_bench(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<BenchArguments>();
  app.add_option("MODEL", arguments->session.model, ".cmf file, GGUF file or Hugging Face directory")
      ->required();
  app.add_option("--prompt", arguments->prompts, "prompt lengths")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--gen", arguments->generated, "tokens to generate; 0: none")->capture_default_str();
  app.add_option("--depth", arguments->depth, "tokens of context before those that are generated")
      ->capture_default_str()
      ->check(CLI::Range(0, 1 << 24));
  app.add_option("--threads", arguments->threads, "thread counts (default: all that this process may use)")
      ->delimiter(',')
      ->check(CLI::Range(1, 1024));
  app.add_option("--repeat", arguments->repeat, "measured runs of each, after one that warms up")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  app.add_option("--kernels", arguments->session.options.kernels, "kernel variant (see 'doctor')");
  app.add_flag("--mmap{false}", arguments->session.options.copy_weights,
               "read all weights from the file's mapping");
  app.add_flag("--exact", arguments->session.options.exact, "reference numerics");
  return [arguments, &globals] { return bench(*arguments, globals); };
}

}  // namespace

const Verb kBench{"bench", "measure prefill and decode speed",
                  "amphora bench model.cmf --prompt 128 --gen 64 --threads 1,2", declare_bench};

}  // namespace amphora::cli
