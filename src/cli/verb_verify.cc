// `verify`: the whole chain of checks of a file, a finding per line.
#include <filesystem>

#include "base/progress.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "crypto/hex.h"
#include "formats/cmf/signing.h"
#include "formats/cmf/verify.h"

namespace amphora::cli {
namespace {

struct VerifyArguments {
  std::vector<std::string> files;
  bool strong = false;
  std::string public_key;
};

json::Value finding_value(const cmf::Finding& finding) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? json::Value() : text_value(text);
  };
  return json::Value::object({{"level", text_value(name_of(finding.level()))},
                              {"code", text_value(name_of(finding.code))},
                              {"section", text_value(name_of(finding.section))},
                              {"offset", count_value(finding.offset)},
                              {"tensor", text_or_null(finding.tensor)},
                              {"path", text_or_null(finding.path)},
                              {"message", text_value(finding.message)}});
}

json::Value report_value(const std::string& file, const cmf::VerifyReport& report) {
  std::vector<json::Value> findings;
  for (const cmf::Finding& finding : report.findings) findings.push_back(finding_value(finding));
  return json::Value::object(
      {{"file", text_value(file)},
       {"format", text_value("cmf")},
       {"valid", json::Value::boolean(report.valid())},
       {"findings", json::Value::array(std::move(findings))},
       {"signature", text_value(name_of(report.signature))},
       {"public_key", report.signer ? text_value(crypto::to_hex(*report.signer)) : json::Value()}});
}

// The status of a file that was judged: its first error decides.
int status_of(const cmf::VerifyReport& report) {
  for (const cmf::Finding& finding : report.findings) {
    if (finding.level() == cmf::Level::kError) return exit_status(fault_of(finding.code));
  }
  return 0;
}

void print_report(const std::string& file, const cmf::VerifyReport& report, bool quiet) {
  for (const cmf::Finding& finding : report.findings) {
    if (quiet && finding.level() == cmf::Level::kNote) continue;
    const Error error = to_error(finding);
    print(fmt::format("{}: {}: {}\n", printable(file), name_of(finding.level()), describe(error)));
  }
  const std::string signer = report.signer ? ", by " + crypto::to_hex(*report.signer) : "";
  const bool unsupported = status_of(report) == exit_status(Fault::kUnsupported);
  print(fmt::format("{}: {}, signature: {}{}\n", printable(file),
                    report.valid() ? "valid"
                    : unsupported  ? "UNSUPPORTED"
                                   : "INVALID",
                    name_of(report.signature), signer));
}

// Of several files: one that is invalid decides, then one that is unsupported, then one that cannot be read.
int worse(int a, int b) {
  const int invalid = exit_status(Fault::kCorrupt);
  return a == invalid || b == invalid ? invalid : std::max(a, b);
}

Result<int> verify_files(const VerifyArguments& arguments, const Globals& globals) {
  cmf::VerifyOptions options{.strong = arguments.strong};
  if (!arguments.public_key.empty()) {
    AMPHORA_ASSIGN(options.public_key, cmf::load_public_key(arguments.public_key));
  }
  int worst = 0;
  for (const std::string& file : arguments.files) {
    ProgressBar bar("verify " + std::filesystem::path(file).filename().string(),
                    globals.quiet || globals.json);
    options.progress = bar.function();
    const auto report = cmf::verify(file, options);
    if (!report) {
      if (arguments.files.size() == 1) return std::unexpected(report.error());
      print_error(fmt::format("amphora verify: {}\n", describe(report.error())));
      worst = worse(worst, exit_status(report.error().fault));
      continue;
    }
    if (globals.json) {
      print_json_line(report_value(file, *report));
    } else {
      print_report(file, *report, globals.quiet);
    }
    worst = worse(worst, status_of(*report));
  }
  return worst;
}

Action declare_verify(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<VerifyArguments>();
  app.add_option("FILE", arguments->files, "files to check")->required();
  app.add_flag("--strong", arguments->strong, "also demand a good signature beside each file");
  app.add_option("--public-key", arguments->public_key,
                 "demand a good signature by this key: 64 hexadecimal digits, or a file that holds them")
      ->check([](const std::string& text) { return std::string(text.empty() ? "no key given" : ""); });
  return [arguments, &globals] { return verify_files(*arguments, globals); };
}

}  // namespace

const Verb kVerify{"verify", "check everything that a file says about itself", "amphora verify model.cmf",
                   declare_verify};

}  // namespace amphora::cli
