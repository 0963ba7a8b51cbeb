// `convert`: a model of another ecosystem, or another CMF file, becomes a .cmf file.
#include <filesystem>
#include <map>

#include "amphora/model.h"
#include "amphora/package.h"
#include "base/progress.h"
#include "base/thread_pool.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "package/convert.h"
#include "quant/codec.h"

namespace amphora::cli {
namespace {

struct Arguments {
  std::string source, out, quant = "q8";
  std::vector<std::string> rules;
  size_t threads = 0;
  bool dry_run = false, no_fallback = false;
};

Result<ConvertOptions> options_of(const Arguments& arguments) {
  ConvertOptions options;
  AMPHORA_ASSIGN(options.quant.target, parse_quant_target(arguments.quant));
  for (const std::string& text : arguments.rules) {
    AMPHORA_ASSIGN(QuantRule rule, parse_quant_rule(text));
    options.quant.rules.push_back(std::move(rule));
  }
  options.quant.no_fallback = arguments.no_fallback;
  options.threads = arguments.threads > 0 ? arguments.threads : available_threads();
  options.dry_run = arguments.dry_run;
  options.tool = "amphora " AMPHORA_VERSION;
  return options;
}

struct Share {
  uint64_t tensors = 0, bytes = 0;
};

json::Value report_value(const ConversionReport& report, const std::vector<std::string>& notes,
                         const Arguments& arguments) {
  std::vector<json::Value> note_values;
  for (const std::string& note : notes) note_values.push_back(text_value(note));
  std::vector<json::Value> rows;
  for (const PlannedTensor& tensor : report.tensors) {
    std::vector<json::Value> shape;
    for (const uint64_t dimension : tensor.source->shape) shape.push_back(count_value(dimension));
    rows.push_back(json::Value::object({{"name", text_value(tensor.source->name)},
                                        {"shape", json::Value::array(std::move(shape))},
                                        {"source", text_value(tensor.source->stored_type)},
                                        {"dtype", text_value(quant::name_of(tensor.dtype))},
                                        {"nbytes", count_value(tensor.bytes)},
                                        {"fallback", json::Value::boolean(tensor.fallback)}}));
  }
  return json::Value::object(
      {{"file", arguments.dry_run ? json::Value() : text_value(arguments.out)},
       {"file_bytes", count_value(report.file_bytes)},
       {"source_bytes", count_value(report.source_bytes)},
       {"payload_bytes", count_value(report.payload_bytes)},
       {"weights", count_value(report.elements)},
       {"nominal_bits", report.nominal_bits ? json::Value::number(*report.nominal_bits) : json::Value()},
       {"real_bits", json::Value::number(report.real_bits)},
       {"notes", json::Value::array(std::move(note_values))},
       {"tensors", json::Value::array(std::move(rows))}});
}

void print_report(const ConversionReport& report, const Arguments& arguments, const Globals& globals) {
  std::map<std::string, Share> by_type;
  for (const PlannedTensor& tensor : report.tensors) {
    Share& share = by_type[fmt::format("{} -> {}{}", tensor.source->stored_type, quant::name_of(tensor.dtype),
                                       tensor.fallback ? " (fallback)" : "")];
    ++share.tensors;
    share.bytes += tensor.bytes;
    const bool single_rows = arguments.dry_run || globals.verbose || tensor.fallback;
    if (!single_rows) continue;
    print(fmt::format("{:<56} [{}] {} -> {}{} {}\n", tensor.source->name,
                      fmt::join(tensor.source->shape, ", "), tensor.source->stored_type,
                      quant::name_of(tensor.dtype), tensor.fallback ? " (fallback)" : "",
                      human_bytes(tensor.bytes)));
  }
  for (const auto& [types, share] : by_type) {
    print(fmt::format("{:<28} {:>5} tensors {:>9}\n", types, share.tensors, human_bytes(share.bytes)));
  }
  print(fmt::format("{} weights, {} -> {}, {:.2f} bits per weight{}\n", report.elements,
                    human_bytes(report.source_bytes), human_bytes(report.payload_bytes), report.real_bits,
                    report.nominal_bits ? fmt::format(" ({:.2f} nominal)", *report.nominal_bits) : ""));
  if (!arguments.dry_run)
    print(fmt::format("{}: {}\n", printable(arguments.out), human_bytes(report.file_bytes)));
}

// The written file is judged, not its source: that may hold types which only a conversion makes runnable.
Status note_what_cannot_run(const std::string& path, std::vector<std::string>& notes) {
  AMPHORA_ASSIGN(const auto written, open_package(path));
  if (const auto model = Model::load(written); !model) notes.push_back(describe(model.error()));
  return {};
}

Result<int> run_conversion(const Arguments& arguments, const Globals& globals) {
  if (arguments.out.empty() && !arguments.dry_run) return fail(Fault::kUsage, "-o OUT.cmf is missing");
  AMPHORA_ASSIGN(const ConvertOptions options, options_of(arguments));
  AMPHORA_ASSIGN(const auto package, open_package(arguments.source));
  std::vector<std::string> notes = package->notes;
  ProgressBar bar("convert", globals.quiet || globals.json);
  AMPHORA_ASSIGN(const ConversionReport report, convert(*package, arguments.out, options, bar.function()));
  notes.insert(notes.end(), report.notes.begin(), report.notes.end());
  if (!arguments.dry_run) AMPHORA_TRY(note_what_cannot_run(arguments.out, notes));
  for (const std::string& note : notes) print_note(globals, note);
  if (globals.json) {
    print_json_line(report_value(report, notes, arguments));
  } else if (!globals.quiet) {
    print_report(report, arguments, globals);
  }
  return 0;
}

Action declare(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("SOURCE", arguments->source, "Hugging Face directory, GGUF file or .cmf file")->required();
  app.add_option("-o,--output", arguments->out, "the .cmf file to write");
  app.add_option("--quant", arguments->quant, "f32, f16, bf16, q8, q8_2f, q4, q4t or keep")
      ->capture_default_str();
  app.add_option("--quant-rule", arguments->rules,
                 "REGEX=TYPE for tensors in whose name REGEX is found; may be given several times, the last "
                 "match wins")
      ->allow_extra_args(false);
  app.add_flag("--no-fallback", arguments->no_fallback,
               "refuse where a type cannot carry a tensor, instead of using q8_2f");
  app.add_flag("--dry-run", arguments->dry_run, "print the plan and write nothing");
  app.add_option("--threads", arguments->threads, "threads (default: all that this process may use)")
      ->check(CLI::Range(1, 1024));
  return [arguments, &globals] { return run_conversion(*arguments, globals); };
}

}  // namespace

const Verb kConvert{"convert", "pack a model into a .cmf file",
                    "amphora convert model.gguf -o model.cmf --quant q8", declare};

}  // namespace amphora::cli
