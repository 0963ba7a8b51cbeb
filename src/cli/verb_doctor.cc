// `doctor`: what this machine and this build are.
#include <openssl/crypto.h>
#include <spdlog/version.h>
#include <utf8proc.h>

#include <algorithm>
#include <fstream>
#include <vector>

#include "base/read_bandwidth.h"
#include "base/thread_pool.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "kernels/kernels.h"

namespace amphora::cli {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("model name")) return line.substr(std::min(line.find(':') + 2, line.size()));
  }
  return "unknown";
}

std::vector<std::string> processor_features() {
  std::vector<std::string> features;
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("sse4.2")) features.emplace_back("sse4.2");
  if (__builtin_cpu_supports("avx2")) features.emplace_back("avx2");
  if (__builtin_cpu_supports("fma")) features.emplace_back("fma");
  if (__builtin_cpu_supports("avx512f")) features.emplace_back("avx512f");
  if (__builtin_cpu_supports("avx512bw")) features.emplace_back("avx512bw");
  if (__builtin_cpu_supports("avx512vnni")) features.emplace_back("avx512vnni");
#endif
  return features;
}

// GB/s, the best of three passes.
double read_bandwidth(const ReadBandwidth& memory, size_t threads) {
  ThreadPool pool(threads);
  double best = 0;
  for (int pass = 0; pass < 3; ++pass) best = std::max(best, memory.measure(pool));
  return best / 1e9;
}

struct Fact {
  std::string name;
  std::string value;
};

std::vector<Fact> gather(bool measure) {
  std::vector<Fact> facts;
  facts.push_back({"version", AMPHORA_VERSION});
  facts.push_back({"processor", processor_name()});
  facts.push_back({"features", fmt::format("{}", fmt::join(processor_features(), " "))});
  facts.push_back({"threads", std::to_string(available_threads())});
  std::vector<std::string> variants;
  for (const kernels::Variant* variant : kernels::variants()) {
    variants.push_back(
        fmt::format("{}{}", kernels::name_of(*variant), kernels::runs_here(*variant) ? "" : " (not here)"));
  }
  facts.push_back({"kernels", std::string(kernels::name_of(kernels::best_variant()))});
  facts.push_back({"kernel_variants", fmt::format("{}", fmt::join(variants, ", "))});
  if (measure) {
    const ReadBandwidth memory;
    facts.push_back({"read_gbps_1_thread", fmt::format("{:.1f}", read_bandwidth(memory, 1))});
    facts.push_back(
        {"read_gbps_all_threads", fmt::format("{:.1f}", read_bandwidth(memory, available_threads()))});
  }
#if defined(__clang__)
  facts.push_back({"compiler", "clang " __clang_version__});
#else
  facts.push_back({"compiler", "g++ " __VERSION__});
#endif
#if defined(NDEBUG)
  facts.push_back({"build", "release"});
#else
  facts.push_back({"build", "debug"});
#endif
  facts.push_back(
      {"unicode", fmt::format("{} (utf8proc {})", utf8proc_unicode_version(), utf8proc_version())});
  facts.push_back({"openssl", OpenSSL_version(OPENSSL_VERSION)});
  facts.push_back(
      {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)});
  facts.push_back({"spdlog", fmt::format("{}.{}.{}", SPDLOG_VER_MAJOR, SPDLOG_VER_MINOR, SPDLOG_VER_PATCH)});
  return facts;
}

Action declare_doctor(CLI::App& app, const Globals& globals) {
  auto skip = std::make_shared<bool>(false);
  app.add_flag("--no-measure", *skip, "do not measure the memory's bandwidth");
  return [skip, &globals]() -> Result<int> {
    json::Value document = json::Value::object();
    for (const Fact& fact : gather(!*skip)) {
      if (globals.json) {
        document.set(fact.name, text_value(fact.value));
      } else {
        print(fmt::format("{:<22} {}\n", fact.name, fact.value));
      }
    }
    if (globals.json) print_json_line(document);
    return 0;
  };
}

}  // namespace

const Verb kDoctor{"doctor", "what this machine and this build are", "amphora doctor", declare_doctor};

}  // namespace amphora::cli
