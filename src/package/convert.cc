// Plans, encodes in batches of tensors, and streams payloads into the writer.
#include "package/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>

#include "base/thread_pool.h"
#include "formats/cmf/writer.h"
#include "package/arch_json.h"
#include "package/page_advice.h"
#include "quant/codec.h"
#include "text/tokenizer.h"
#include "unicode/utf8.h"

namespace amphora {
namespace {

namespace fs = std::filesystem;

/// Elements read, and bytes copied, between two releases of the source's pages.
constexpr uint64_t kPiece = uint64_t{1} << 20;
/// Tensors are encoded side by side while their values in f32 fit here (or into the size of the largest one).
constexpr uint64_t kBatchBytes = uint64_t{64} << 20;

std::unexpected<Error> in_tensor(const PackageTensor& tensor, Error error) {
  error.place = tensor.name;
  error.message = fmt::format("tensor {}: {}", tensor.name, error.message);
  return std::unexpected(std::move(error));
}

// ---- Header ----

std::string_view name_of(PackageFormat format) {
  switch (format) {
    case PackageFormat::kHuggingFace: return "huggingface";
    case PackageFormat::kGguf: return "gguf";
    case PackageFormat::kCmf: return "cmf";
  }
  return {};
}

/// The last part of the source's path: where it lay on this machine is nobody's business. A file name may be
/// any bytes, a header only UTF-8.
std::string base_name(const fs::path& path) {
  std::error_code ignored;
  const fs::path whole = fs::absolute(path, ignored).lexically_normal();
  return unicode::replace_ill_formed(
      (whole.has_filename() ? whole : whole.parent_path()).filename().string());
}

json::Value provenance_of(const Package& package, const ConvertOptions& options) {
  json::Value provenance = package.provenance.is_object() ? package.provenance : json::Value::object();
  provenance.set("tool", json::Value::string(options.tool));
  provenance.set("source_format", json::Value::string(std::string(name_of(package.format))));
  provenance.set("source_file", json::Value::string(base_name(package.path)));
  cmf::promise_canonical_layout(provenance);
  return provenance;
}

json::Value encode_tokenizer_config(const TokenizerConfig& config) {
  json::Value out = json::Value::object();
  if (config.chat_template) out.set("chat_template", json::Value::string(*config.chat_template));
  std::vector<json::Value> eos;
  for (const uint32_t id : config.eos_token_ids) eos.push_back(json::Value::unsigned_integer(id));
  out.set("eos_token_ids", json::Value::array(std::move(eos)));
  if (config.bos_token_id) out.set("bos_token_id", json::Value::unsigned_integer(*config.bos_token_id));
  if (config.pad_token_id) out.set("pad_token_id", json::Value::unsigned_integer(*config.pad_token_id));
  return out;
}

json::Value header_of(const Package& package, const ConvertOptions& options, std::string_view quant_type) {
  json::Value header = json::Value::object();
  if (package.header.is_object()) {
    header = package.header;  // arch and tokenizer_config stay as they are written, unknown keys included
    header.erase("shard");
  } else {
    header.set("format", json::Value::string("cmf"));
    header.set("version", json::Value::unsigned_integer(2));
    header.set("arch", package::encode_arch(package.spec));
  }
  header.set("quant_type", json::Value::string(std::string(quant_type)));
  header.set("provenance", provenance_of(package, options));
  const TokenizerConfig& tokenizer = package.tokenizer;
  if (!package.header.is_object() && (tokenizer.chat_template || !tokenizer.eos_token_ids.empty() ||
                                      tokenizer.bos_token_id || tokenizer.pad_token_id))
    header.set("tokenizer_config", encode_tokenizer_config(tokenizer));
  return header;
}

// ---- Payloads ----

Status check_finite(const PackageTensor& tensor, std::span<const float> values, uint64_t first) {
  const auto bad = std::ranges::find_if(values, [](float value) { return !std::isfinite(value); });
  if (bad == values.end()) return {};
  return in_tensor(tensor, Error{Fault::kRefused, "", "", std::nullopt,
                                 fmt::format("{} at flat index {}", std::isnan(*bad) ? "NaN" : "infinity",
                                             first + static_cast<uint64_t>(bad - values.begin()))});
}

/// Calls use(first, values) for the whole tensor, piece by piece; the values lie in `room`, or in a buffer of
/// one piece if that is empty.
template <class Use>
Status read_pieces(const PackageTensor& tensor, std::span<float> room, const Use& use) {
  std::vector<float> buffer(room.empty() ? std::min(kPiece, tensor.elements()) : 0);
  for (uint64_t first = 0; first < tensor.elements(); first += kPiece) {
    const uint64_t count = std::min(kPiece, tensor.elements() - first);
    const std::span<float> values =
        room.empty() ? std::span(buffer).first(count) : room.subspan(first, count);
    if (Status read = tensor.read(first, values); !read) return in_tensor(tensor, read.error());
    package::release_pages(tensor.mapped);
    AMPHORA_TRY(use(first, std::span<const float>(values)));
  }
  return {};
}

/// A payload that was encoded, not yet written.
using Payload = std::unique_ptr<std::byte[]>;

Result<Payload> encode(const PlannedTensor& planned) {
  const PackageTensor& tensor = *planned.source;
  const auto values = std::make_unique_for_overwrite<float[]>(tensor.elements());
  const std::span<float> room(values.get(), tensor.elements());
  AMPHORA_TRY(read_pieces(tensor, room, [&](uint64_t first, std::span<const float> piece) {
    return check_finite(tensor, piece, first);
  }));
  auto payload = std::make_unique_for_overwrite<std::byte[]>(planned.bytes);
  const MutableBytes out(payload.get(), planned.bytes);
  if (Status encoded = quant::find_codec(planned.dtype)->encode(room, tensor.shape, {}, out); !encoded)
    return in_tensor(tensor, encoded.error());
  return payload;
}

/// What encoding would have refused is refused in a copy too.
Status check_stored(const PackageTensor& tensor) {
  const quant::Codec& codec = *quant::find_codec(*tensor.dtype);
  if (codec.check_payload != nullptr) {
    Status checked = codec.check_payload(tensor.stored, tensor.shape);
    package::release_pages(tensor.mapped);
    if (!checked) return in_tensor(tensor, checked.error());
    return {};
  }
  if (codec.dtype == DType::kU8) return {};
  return read_pieces(tensor, {}, [&](uint64_t first, std::span<const float> values) {
    return check_finite(tensor, values, first);
  });
}

class Conversion {
 public:
  Conversion(cmf::CmfWriter writer, const ConversionReport& report, size_t threads,
             const ProgressFunction& progress)
      : writer_(std::move(writer)), report_(report), pool_(threads), progress_(progress) {
    for (const PlannedTensor& planned : report.tensors)
      if (!planned.verbatim) batch_bytes_ = std::max(batch_bytes_, f32_bytes(planned));
  }

  Result<uint64_t> run() {
    const std::span<const PlannedTensor> tensors = report_.tensors;
    for (size_t next = 0; next < tensors.size();) {
      if (tensors[next].verbatim) {
        AMPHORA_TRY(copy(tensors[next++]));
        continue;
      }
      size_t end = next;
      for (uint64_t bytes = 0; end < tensors.size() && !tensors[end].verbatim; ++end) {
        bytes += f32_bytes(tensors[end]);
        if (end != next && bytes > batch_bytes_) break;
      }
      AMPHORA_TRY(encode_batch(tensors.subspan(next, end - next)));
      next = end;
    }
    AMPHORA_TRY(writer_.finish());
    return writer_.file_bytes();
  }

 private:
  static uint64_t f32_bytes(const PlannedTensor& planned) {
    return planned.source->elements() * sizeof(float);
  }

  Status copy(const PlannedTensor& planned) {
    const PackageTensor& tensor = *planned.source;
    AMPHORA_TRY(check_stored(tensor));
    for (uint64_t offset = 0; offset < planned.bytes; offset += kPiece) {
      const uint64_t count = std::min(kPiece, planned.bytes - offset);
      AMPHORA_TRY(writer_.write(tensor.name, tensor.stored.subspan(offset, count)));
      package::release_pages(tensor.mapped);
    }
    advance(planned);
    return {};
  }

  /// One tensor is one job: which thread encodes it changes nothing, and the first fault in the package's
  /// order is the one that is reported.
  Status encode_batch(std::span<const PlannedTensor> batch) {
    std::vector<Result<Payload>> payloads(batch.size());
    pool_.run(batch.size(), [&](size_t job) { payloads[job] = encode(batch[job]); });
    for (size_t i = 0; i < batch.size(); ++i) {
      AMPHORA_ASSIGN(const Payload payload, std::move(payloads[i]));
      if (batch[i].bytes != 0)
        AMPHORA_TRY(writer_.write(batch[i].source->name, Bytes(payload.get(), batch[i].bytes)));
      advance(batch[i]);
    }
    return {};
  }

  void advance(const PlannedTensor& planned) {
    done_bytes_ += planned.bytes;
    if (progress_) progress_(done_bytes_, report_.payload_bytes);
  }

  cmf::CmfWriter writer_;
  const ConversionReport& report_;
  ThreadPool pool_;
  const ProgressFunction& progress_;
  uint64_t batch_bytes_ = kBatchBytes;
  uint64_t done_bytes_ = 0;
};

// ---- What is refused before anything is read ----

Status check_carried(const Package& package) {
  if (package.uncarried.empty()) return {};
  return fail(Fault::kUnsupported, fmt::format("{} holds {}, which this version cannot carry into a new file",
                                               package.path.string(), fmt::join(package.uncarried, ", ")));
}

/// A damaged tokenizer would only show when the new file is used, so it is refused. One that merely needs
/// parts which this version lacks is carried as it is, and so is whatever a .cmf file holds: the format does
/// not look inside. The parsed tokenizer is gone before any tensor takes memory.
Status check_tokenizer(const Package& package, std::vector<std::string>& notes) {
  if (package.tokenizer_json.empty()) return {};
  const auto tokenizer = text::Tokenizer::from_json(package.tokenizer_json);
  if (tokenizer) return {};
  Error error = tokenizer.error();
  const std::string_view comma = error.place.empty() ? "" : ", ";
  error.message = fmt::format("tokenizer.json{}{}: {}", comma, error.place, error.message);
  const bool carried = error.fault == Fault::kUnsupported ||
                       (error.fault == Fault::kCorrupt && package.format == PackageFormat::kCmf);
  if (carried) {
    notes.push_back(fmt::format("{}; it is carried as it is, but no text can be encoded", error.message));
    return {};
  }
  error.place = "tokenizer.json";
  return std::unexpected(std::move(error));
}

Status check_out(const Package& package, const fs::path& out) {
  std::error_code error;
  if (fs::is_directory(out, error))
    return fail(Fault::kUsage, fmt::format("{} is a directory", out.string()));
  const fs::path whole = fs::weakly_canonical(out, error);
  if (error) return fail(Fault::kIo, fmt::format("{}: {}", out.string(), error.message()));
  const auto is_source = [&](const fs::path& path) { return fs::equivalent(path, out, error); };
  bool inside = is_source(package.path);
  for (const PackageTensor& tensor : package.tensors) inside = inside || is_source(tensor.file);
  if (fs::is_directory(package.path, error)) {
    const fs::path source = fs::weakly_canonical(package.path, error);
    inside = inside || std::ranges::mismatch(source, whole).in1 == source.end();
  }
  if (inside)
    return fail(Fault::kUsage, fmt::format("{} lies in the source {}", out.string(), package.path.string()));
  return {};
}

void note_idle_rules(const Package& package, std::span<const QuantRule> rules,
                     std::vector<std::string>& notes) {
  for (const QuantRule& rule : rules)
    if (std::ranges::none_of(package.tensors,
                             [&](const PackageTensor& tensor) { return rule.pattern.found_in(tensor.name); }))
      notes.push_back(fmt::format("the rule '{}' matches no tensor", rule.text));
}

ConversionReport summarise(std::vector<PlannedTensor> plan, const QuantTarget& target) {
  ConversionReport report;
  report.tensors = std::move(plan);
  for (const PlannedTensor& planned : report.tensors) {
    report.elements += planned.source->elements();
    report.source_bytes += planned.source->stored_bytes;
    report.payload_bytes += planned.bytes;
  }
  if (report.elements != 0)
    report.real_bits = 8.0 * static_cast<double>(report.payload_bytes) / static_cast<double>(report.elements);
  if (target.dtype) {
    constexpr std::array<uint64_t, 2> kLarge = {4096, 4096};
    const auto bytes = quant::find_codec(*target.dtype)->payload_bytes(kLarge);
    report.nominal_bits = 8.0 * static_cast<double>(*bytes) / static_cast<double>(kLarge[0] * kLarge[1]);
  }
  return report;
}

}  // namespace

Result<ConversionReport> convert(const Package& package, const fs::path& out, const ConvertOptions& options,
                                 const ProgressFunction& progress) {
  AMPHORA_TRY(check_carried(package));
  AMPHORA_ASSIGN(std::vector<PlannedTensor> plan, plan_quantisation(package, options.quant));
  ConversionReport report = summarise(std::move(plan), options.quant.target);
  note_idle_rules(package, options.quant.rules, report.notes);
  AMPHORA_TRY(check_tokenizer(package, report.notes));
  if (options.dry_run) return report;
  AMPHORA_TRY(check_out(package, out));

  cmf::NewFile file;
  for (const PlannedTensor& planned : report.tensors)
    file.tensors.push_back({planned.source->name, planned.dtype, planned.source->shape, planned.bytes});
  file.header = header_of(package, options, cmf::quant_type_of(file.tensors));
  file.tokenizer_json = as_bytes(package.tokenizer_json);
  AMPHORA_ASSIGN(cmf::CmfWriter writer, cmf::CmfWriter::create(out, file));
  AMPHORA_ASSIGN(report.file_bytes, Conversion(std::move(writer), report, options.threads, progress).run());
  return report;
}

}  // namespace amphora
