// `convert`: a model of another ecosystem, or another CMF file, becomes a .cmf file.
#include <algorithm>
#include <compare>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>

#include "amphora/model.h"
#include "amphora/package.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "cli/print.h"
#include "cli/shard_limit.h"
#include "cli/verb.h"
#include "cli/written_files.h"
#include "package/convert.h"
#include "package/open_options.h"
#include "quant/codec.h"

namespace amphora::cli {
namespace {

struct ConvertArguments {
  std::string source, out, quant = "q8", encoder, importance, route_stats, shard_max_gb, pre_tokenizer;
  std::vector<std::string> rules;
  size_t threads = 0;
  bool dry_run = false, no_fallback = false, write_index = false;
};

/// What the options point to.
struct Inputs {
  std::optional<Importance> importance;
  std::optional<RouteStats> route_stats;
};

Result<Inputs> read_inputs(const ConvertArguments& arguments) {
  Inputs inputs;
  if (!arguments.importance.empty()) {
    AMPHORA_ASSIGN(inputs.importance, load_importance(arguments.importance));
  }
  if (!arguments.route_stats.empty()) {
    AMPHORA_ASSIGN(inputs.route_stats, load_route_stats(arguments.route_stats));
  }
  return inputs;
}

Result<ConvertOptions> options_of(const ConvertArguments& arguments, const Inputs& inputs) {
  ConvertOptions options;
  AMPHORA_ASSIGN(options.quant.target, parse_quant_target(arguments.quant));
  for (const std::string& text : arguments.rules) {
    AMPHORA_ASSIGN(QuantRule rule, parse_quant_rule(text));
    options.quant.rules.push_back(std::move(rule));
  }
  options.quant.no_fallback = arguments.no_fallback;
  if (arguments.encoder == "plain") options.encoder = quant::Encoder::kPlain;
  if (arguments.encoder == "search") options.encoder = quant::Encoder::kSearch;
  if (inputs.importance) options.importance = &*inputs.importance;
  if (inputs.route_stats) options.route_stats = &*inputs.route_stats;
  if (!arguments.shard_max_gb.empty()) {
    AMPHORA_ASSIGN(options.shard_max_bytes, parse_shard_limit(arguments.shard_max_gb));
  }
  options.write_index = arguments.write_index;
  options.threads = arguments.threads > 0 ? arguments.threads : available_threads();
  options.dry_run = arguments.dry_run;
  options.tool = "amphora " AMPHORA_VERSION;
  return options;
}

/// The tensors that became one type from another.
struct Share {
  uint64_t tensors = 0, weights = 0, bytes = 0;
  double nominal_bits = 0;  ///< of all weights together

  double nominal_bits_per_weight() const {
    return weights == 0 ? 0 : nominal_bits / static_cast<double>(weights);
  }
  double real_bits_per_weight() const {
    return weights == 0 ? 0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(weights);
  }
  double of(uint64_t all_bytes) const {
    return all_bytes == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(all_bytes);
  }
};

struct ShareKey {
  std::string source, dtype;
  bool fallback = false;
  auto operator<=>(const ShareKey&) const = default;
};

std::map<ShareKey, Share> shares_of(const ConversionReport& report) {
  std::map<ShareKey, Share> shares;
  for (const PlannedTensor& tensor : report.tensors) {
    Share& share =
        shares[{tensor.source->stored_type, std::string(quant::name_of(tensor.dtype)), tensor.fallback}];
    ++share.tensors;
    share.weights += tensor.source->elements();
    share.bytes += tensor.bytes;
    share.nominal_bits += tensor.nominal_bits * static_cast<double>(tensor.source->elements());
  }
  return shares;
}

json::Value shares_value(const ConversionReport& report) {
  std::vector<json::Value> rows;
  for (const auto& [key, share] : shares_of(report))
    rows.push_back(
        json::Value::object({{"source", text_value(key.source)},
                             {"dtype", text_value(key.dtype)},
                             {"fallback", json::Value::boolean(key.fallback)},
                             {"tensors", count_value(share.tensors)},
                             {"weights", count_value(share.weights)},
                             {"nbytes", count_value(share.bytes)},
                             {"share", json::Value::number(share.of(report.payload_bytes))},
                             {"nominal_bits", json::Value::number(share.nominal_bits_per_weight())},
                             {"real_bits", json::Value::number(share.real_bits_per_weight())}}));
  return json::Value::array(std::move(rows));
}

json::Value tensors_value(const ConversionReport& report) {
  std::vector<json::Value> rows;
  for (const PlannedTensor& tensor : report.tensors) {
    rows.push_back(json::Value::object({{"name", text_value(tensor.source->name)},
                                        {"shape", shape_value(tensor.source->shape)},
                                        {"source", text_value(tensor.source->stored_type)},
                                        {"dtype", text_value(quant::name_of(tensor.dtype))},
                                        {"nbytes", count_value(tensor.bytes)},
                                        {"fallback", json::Value::boolean(tensor.fallback)}}));
  }
  return json::Value::array(std::move(rows));
}

uint64_t file_bytes_of(const ConversionReport& report) {
  uint64_t bytes = 0;
  for (const OutputFile& file : report.files) bytes += file.bytes;
  return bytes;
}

json::Value report_value(const ConversionReport& report, const std::vector<std::string>& notes) {
  std::vector<json::Value> note_values, files;
  for (const std::string& note : notes) note_values.push_back(text_value(note));
  for (const OutputFile& file : report.files) files.push_back(text_value(file.path.string()));
  return json::Value::object(
      {{"file", files.empty() ? json::Value() : files.front()},
       {"files", json::Value::array(std::move(files))},
       {"file_bytes", count_value(file_bytes_of(report))},
       {"source_bytes", count_value(report.source_bytes)},
       {"payload_bytes", count_value(report.payload_bytes)},
       {"weights", count_value(report.elements)},
       {"nominal_bits", report.nominal_bits ? json::Value::number(*report.nominal_bits) : json::Value()},
       {"real_bits", json::Value::number(report.real_bits)},
       {"notes", json::Value::array(std::move(note_values))},
       {"types", shares_value(report)},
       {"tensors", tensors_value(report)}});
}

void print_tensors(const ConversionReport& report, bool all) {
  for (const PlannedTensor& tensor : report.tensors)
    if (all || tensor.fallback)
      print(fmt::format("{:<56} [{}] {} -> {}{} {}\n", tensor.source->name,
                        fmt::join(tensor.source->shape, ", "), tensor.source->stored_type,
                        quant::name_of(tensor.dtype), tensor.fallback ? " (fallback)" : "",
                        human_bytes(tensor.bytes)));
}

void print_report(const ConversionReport& report, const ConvertArguments& arguments, const Globals& globals) {
  print_tensors(report, arguments.dry_run || globals.verbose);
  print(fmt::format("{:<28} {:>7} {:>9} {:>6} {:>8} {:>6}\n", "type", "tensors", "bytes", "share", "nominal",
                    "bits"));
  for (const auto& [key, share] : shares_of(report))
    print(fmt::format("{:<28} {:>7} {:>9} {:>4.1f} % {:>8.2f} {:>6.2f}\n",
                      fmt::format("{} -> {}{}", key.source, key.dtype, key.fallback ? " (fallback)" : ""),
                      share.tensors, human_bytes(share.bytes), 100 * share.of(report.payload_bytes),
                      share.nominal_bits_per_weight(), share.real_bits_per_weight()));
  print(fmt::format("{} weights, {} -> {}, {:.2f} bits per weight{}\n", report.elements,
                    human_bytes(report.source_bytes), human_bytes(report.payload_bytes), report.real_bits,
                    report.nominal_bits ? fmt::format(" ({:.2f} nominal)", *report.nominal_bits) : ""));
  for (const OutputFile& file : report.files)
    print(fmt::format("{}: {}\n", printable(file.path.string()), human_bytes(file.bytes)));
}

// The written file is judged, not its source: that may hold types which only a conversion makes runnable.
Status note_what_cannot_run(const std::filesystem::path& path, std::vector<std::string>& notes) {
  AMPHORA_ASSIGN(const auto written, open_package(path));
  if (const auto model = Model::load(written); !model) notes.push_back(describe(model.error()));
  return {};
}

Result<int> run_conversion(const ConvertArguments& arguments, const Globals& globals) {
  if (arguments.out.empty() && !arguments.dry_run) return fail(Fault::kUsage, "-o OUT.cmf is missing");
  AMPHORA_ASSIGN(const Inputs inputs, read_inputs(arguments));
  AMPHORA_ASSIGN(ConvertOptions options, options_of(arguments, inputs));
  package::OpenOptions opening;
  if (!arguments.pre_tokenizer.empty()) {
    AMPHORA_ASSIGN(opening.assumed, package::choose_pre_tokenizer(arguments.pre_tokenizer));
  }
  AMPHORA_ASSIGN(const auto package, package::open_package(arguments.source, opening));
  std::vector<std::string> notes = package->notes;
  const bool quiet = globals.quiet || globals.json;
  ProgressBar planning("measure rows", quiet), writing("convert", quiet);
  options.plan_progress = planning.function();
  AMPHORA_ASSIGN(const ConversionReport report,
                 convert(*package, arguments.out, options, writing.function()));
  notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  if (!report.files.empty()) AMPHORA_TRY(note_what_cannot_run(report.files.front().path, notes));
  std::ranges::move(signature_notes(report.files), std::back_inserter(notes));
  for (const std::string& note : notes) print_note(globals, note);
  if (globals.json) {
    print_json_line(report_value(report, notes));
  } else if (!globals.quiet) {
    print_report(report, arguments, globals);
  }
  return 0;
}

Action declare_convert(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<ConvertArguments>();
  app.add_option("SOURCE", arguments->source, "Hugging Face directory, GGUF file or .cmf file")->required();
  app.add_option("-o,--output", arguments->out, "the .cmf file to write")->check(not_empty());
  app.add_option(
         "--quant", arguments->quant,
         "f32, f16, bf16, q8, q8_2f, q4, q4t, q4tp, vbit[:bits], q1, q1s, q1t or keep; or a type's name "
         "in the format")
      ->capture_default_str();
  app.add_option("--quant-rule", arguments->rules,
                 "REGEX=TYPE for tensors in whose name REGEX is found; may be given several times, the last "
                 "match wins")
      ->allow_extra_args(false);
  app.add_option(
         "--encoder", arguments->encoder,
         "plain, or search for the scales with the least error where a type has one (default: search)")
      ->check(CLI::IsMember({"plain", "search"}));
  app.add_option("--imatrix", arguments->importance,
                 "importance of each input column, from 'ppl --imatrix-out', for the search");
  app.add_option("--route-stats", arguments->route_stats,
                 "how often each expert was chosen (JSON, layer to counts), for the widths of vbit");
  app.add_option("--assume-pretokenizer", arguments->pre_tokenizer,
                 "how the tokenizer cuts text, where the source describes it in a way that is not known: " +
                     package::known_pre_tokenizers())
      ->check(not_empty());
  app.add_flag("--no-fallback", arguments->no_fallback,
               "refuse where a type cannot carry a tensor, instead of using q8_2f");
  declare_shard_limit(app, arguments->shard_max_gb);
  app.add_flag("--write-index", arguments->write_index, "build a sparse index from the task masks");
  app.add_flag("--dry-run", arguments->dry_run, "print the plan and write nothing");
  app.add_option("--threads", arguments->threads, "threads (default: all that this process may use)")
      ->check(CLI::Range(1, 1024));
  return [arguments, &globals] { return run_conversion(*arguments, globals); };
}

}  // namespace

const Verb kConvert{"convert", "pack a model into a .cmf file",
                    "amphora convert model.gguf -o model.cmf --quant q8", declare_convert};

}  // namespace amphora::cli
