// `tensors`: one row per tensor of a CMF file, with statistics of the decoded values on request.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/name_pattern.h"
#include "cli/print.h"
#include "cli/verb.h"
#include "crypto/hash64.h"
#include "crypto/hex.h"
#include "crypto/sha256.h"
#include "formats/cmf/cmf_file.h"
#include "quant/codec.h"

namespace amphora::cli {
namespace {

constexpr uint64_t kBlockElements = uint64_t{1} << 18;

struct Statistics {
  double sum = 0, sum_of_squares = 0;
  double least = std::numeric_limits<double>::infinity(), greatest = -std::numeric_limits<double>::infinity();
  uint64_t f32_hash64 = 0;
  std::vector<float> first_values;
};

struct TensorsArguments {
  std::string file;
  std::string filter;
  bool stats = false;
  bool sha256 = false;
  uint64_t values = 0;
};

/// What a row says beyond the directory's record, as far as it has been asked for.
struct Extras {
  std::optional<Statistics> statistics;
  std::optional<std::string> sha256;  ///< of the payload, 64 hex digits
};

Result<Statistics> measure(const cmf::CmfFile& file, const cmf::TensorRecord& tensor, uint64_t value_count) {
  const quant::Codec* codec = quant::find_codec(tensor.dtype);
  if (!codec->can_decode()) {
    return fail_at(Fault::kUnsupported, {}, std::string(tensor.name), tensor.offset,
                   fmt::format("this version does not decode {}", codec->name));
  }
  Statistics statistics;
  crypto::Hash64 hash;
  std::vector<float> block(static_cast<size_t>(std::min(tensor.elements(), kBlockElements)));
  for (uint64_t first = 0; first < tensor.elements(); first += kBlockElements) {
    const std::span<float> values(block.data(),
                                  static_cast<size_t>(std::min(kBlockElements, tensor.elements() - first)));
    codec->decode(file.payload(tensor), tensor.shape, first, values);
    for (const float value : values) {
      statistics.sum += value;
      statistics.sum_of_squares += double{value} * value;
      statistics.least = std::min<double>(statistics.least, value);
      statistics.greatest = std::max<double>(statistics.greatest, value);
      if (statistics.first_values.size() < value_count) statistics.first_values.push_back(value);
    }
    hash.update(
        std::as_bytes(std::span<const float>(values)));  // little-endian hosts only, as the whole runtime
  }
  statistics.f32_hash64 = hash.value();
  return statistics;
}

Result<std::string> digest(Bytes payload) {
  constexpr uint64_t kPortion = uint64_t{16} << 20;
  crypto::Sha256 hash;
  for (uint64_t done = 0; done < payload.size(); done += kPortion)
    hash.update(payload.subspan(done, std::min<uint64_t>(kPortion, payload.size() - done)));
  AMPHORA_ASSIGN(const crypto::Sha256Digest digest, hash.finish());
  return crypto::to_hex(digest);
}

// JSON has no NaN and no infinities; null says that a sum is not a number.
json::Value number_or_null(double value) {
  return std::isfinite(value) ? json::Value::number(value) : json::Value();
}

void add_statistics(json::Value& row, const Statistics& statistics) {
  row.set("sum", number_or_null(statistics.sum));
  row.set("sumsq", number_or_null(statistics.sum_of_squares));
  row.set("min", number_or_null(statistics.least));
  row.set("max", number_or_null(statistics.greatest));
  row.set("f32_hash64", text_value(hex64(statistics.f32_hash64)));
  if (statistics.first_values.empty()) return;
  std::vector<json::Value> values;
  for (const float value : statistics.first_values)
    values.push_back(std::isfinite(value) ? json::Value::number(value) : json::Value());
  row.set("values", json::Value::array(std::move(values)));
}

json::Value row_value(const cmf::TensorRecord& tensor, uint64_t data_offset, const Extras& extras) {
  json::Value row = json::Value::object({{"name", text_value(tensor.name)},
                                         {"dtype", text_value(quant::name_of(tensor.dtype))},
                                         {"shape", shape_value(tensor.shape)},
                                         {"off", count_value(tensor.offset - data_offset)},
                                         {"nbytes", count_value(tensor.bytes)},
                                         {"hash", text_value(hex64(tensor.hash))}});
  if (extras.sha256) row.set("sha256", text_value(*extras.sha256));
  if (extras.statistics) add_statistics(row, *extras.statistics);
  return row;
}

void print_row(const cmf::TensorRecord& tensor, const Extras& extras) {
  const std::optional<Statistics>& statistics = extras.statistics;
  std::string line = fmt::format("{:<52} {:<8} [{}] {}", printable(tensor.name), quant::name_of(tensor.dtype),
                                 fmt::join(tensor.shape, ", "), human_bytes(tensor.bytes));
  if (extras.sha256) line += "  sha256 " + *extras.sha256;
  if (statistics) {
    line += fmt::format("  min {:.6g} max {:.6g} sum {:.9g} sumsq {:.9g} f32_hash64 {}", statistics->least,
                        statistics->greatest, statistics->sum, statistics->sum_of_squares,
                        hex64(statistics->f32_hash64));
    if (!statistics->first_values.empty())
      line += fmt::format("  values {}", fmt::join(statistics->first_values, " "));
  }
  print(line + "\n");
}

Result<int> list_tensors(const TensorsArguments& arguments, const Globals& globals) {
  AMPHORA_ASSIGN(const cmf::CmfFile file, cmf::CmfFile::open(arguments.file));
  AMPHORA_ASSIGN(const NamePattern filter, NamePattern::compile(arguments.filter));
  const uint64_t data_offset = file.envelope().place(cmf::Section::kData).offset;
  std::vector<json::Value> rows;
  uint64_t shown = 0, bytes = 0;
  for (const cmf::TensorRecord& tensor : file.tensors()) {
    if (!filter.found_in(tensor.name)) continue;
    Extras extras;
    if (arguments.sha256) {
      AMPHORA_ASSIGN(extras.sha256, digest(file.payload(tensor)));
    }
    if (arguments.stats || arguments.values > 0) {
      AMPHORA_ASSIGN(extras.statistics, measure(file, tensor, arguments.values));
    }
    ++shown;
    bytes += tensor.bytes;
    if (globals.json) {
      rows.push_back(row_value(tensor, data_offset, extras));
    } else {
      print_row(tensor, extras);
    }
  }
  if (globals.json) {
    print_json_line(json::Value::array(std::move(rows)));
  } else if (!globals.quiet) {
    print(fmt::format("{} tensors, {}\n", shown, human_bytes(bytes)));
  }
  return 0;
}

Action declare_tensors(CLI::App& app, const Globals& globals) {
  auto arguments = std::make_shared<TensorsArguments>();
  app.add_option("FILE", arguments->file, "a .cmf file")->required();
  app.add_option("--filter", arguments->filter, "only names that this regular expression finds");
  app.add_flag("--stats", arguments->stats, "minimum, maximum, sums and hash of the decoded values");
  app.add_flag("--sha256", arguments->sha256, "SHA-256 of each payload");
  app.add_option("--values", arguments->values, "show the first N decoded values (implies --stats)")
      ->check(CLI::Range(1, 1 << 20));
  return [arguments, &globals] { return list_tensors(*arguments, globals); };
}

}  // namespace

const Verb kTensors{"tensors", "list a file's tensors",
                    "amphora tensors model.cmf --filter 'layers\\.0\\.' --stats", declare_tensors};

}  // namespace amphora::cli
