// Plans, encodes in batches of tensors, and streams payloads into the writer.
#include "package/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/page_advice.h"
#include "base/thread_pool.h"
#include "formats/cmf/writer.h"
#include "package/conversion_header.h"
#include "package/encode_tensor.h"
#include "package/pre_tokenizers.h"
#include "package/tensor_values.h"
#include "package/tokenizer_check.h"
#include "package/vbit_plan.h"
#include "package/write_index.h"
#include "quant/codec.h"
#include "text/chat.h"
#include "text/tokenizer.h"

namespace amphora {
namespace {

namespace fs = std::filesystem;

/// Bytes copied between two releases of the source's pages.
constexpr uint64_t kPiece = uint64_t{1} << 20;
/// Tensors are encoded side by side while their payloads fit here (or into the size of the largest one).
constexpr uint64_t kBatchBytes = uint64_t{64} << 20;

/// Of a pre-tokenizer that a message shows.
constexpr size_t kMaxShownBytes = 2000;

// ---- Payloads ----

/// A payload that was encoded, not yet written.
using Payload = std::unique_ptr<std::byte[]>;

/// What encoding would have refused is refused in a copy too.
Status check_stored(const PackageTensor& tensor) {
  const quant::Codec& codec = *quant::find_codec(*tensor.dtype);
  if (codec.check_payload != nullptr) {
    Status checked = codec.check_payload(tensor.stored, tensor.shape);
    release_pages(tensor.mapped);
    if (!checked) return package::in_tensor(tensor, checked.error());
    return {};
  }
  if (codec.dtype == DType::kU8) return {};
  return package::read_pieces(tensor, {}, package::kPieceElements, [](uint64_t, std::span<const float>) {});
}

class Conversion {
 public:
  Conversion(CmfOutput output, const ConversionReport& report, const ConvertOptions& options,
             const ProgressFunction& progress)
      : output_(std::move(output)),
        report_(report),
        encoder_(options.encoder),
        pool_(options.threads),
        progress_(progress) {
    for (const PlannedTensor& planned : report.tensors)
      if (!planned.verbatim) batch_bytes_ = std::max(batch_bytes_, working_bytes(planned));
  }

  Status run() {
    const std::span<const PlannedTensor> tensors = report_.tensors;
    for (size_t next = 0; next < tensors.size();) {
      if (tensors[next].verbatim) {
        AMPHORA_TRY(copy(tensors[next++]));
        continue;
      }
      size_t end = next;
      for (uint64_t bytes = 0; end < tensors.size() && !tensors[end].verbatim; ++end) {
        bytes += working_bytes(tensors[end]);
        if (end != next && bytes > batch_bytes_) break;
      }
      AMPHORA_TRY(encode_batch(tensors.subspan(next, end - next)));
      next = end;
    }
    return output_.finish();
  }

 private:
  /// Memory that encoding takes: the payload, and of a tensor in one slice its values in f32.
  static uint64_t working_bytes(const PlannedTensor& planned) {
    const bool whole = package::count_slices(planned) == 1;
    return planned.bytes + (whole ? planned.source->elements() * sizeof(float) : 0);
  }

  Status copy(const PlannedTensor& planned) {
    const PackageTensor& tensor = *planned.source;
    AMPHORA_TRY(check_stored(tensor));
    for (uint64_t offset = 0; offset < planned.bytes; offset += kPiece) {
      const uint64_t count = std::min(kPiece, planned.bytes - offset);
      AMPHORA_TRY(output_.write(tensor.name, tensor.stored.subspan(offset, count)));
      release_pages(tensor.mapped);
    }
    advance(planned);
    return {};
  }

  /// One slice of a tensor is one job: which thread encodes it changes nothing, and the first fault in the
  /// package's order is the one that is reported.
  Status encode_batch(std::span<const PlannedTensor> batch) {
    struct Job {
      size_t tensor;
      uint64_t slice;
      Status status = {};
    };
    std::vector<Job> jobs;
    std::vector<Payload> payloads;
    for (size_t i = 0; i < batch.size(); ++i) {
      payloads.push_back(std::make_unique_for_overwrite<std::byte[]>(batch[i].bytes));
      for (uint64_t slice = 0; slice < package::count_slices(batch[i]); ++slice) jobs.push_back({i, slice});
    }
    const auto payload_of = [&](size_t tensor) {
      return MutableBytes(payloads[tensor].get(), batch[tensor].bytes);
    };
    pool_.run(jobs.size(), [&](size_t at) {
      Job& job = jobs[at];
      job.status = package::encode_slice(batch[job.tensor], encoder_, job.slice, payload_of(job.tensor));
    });
    for (const Job& job : jobs) {
      if (job.status) continue;
      // The whole says at which index of the tensor the fault is.
      AMPHORA_TRY(package::encode_whole(batch[job.tensor], encoder_, payload_of(job.tensor)));
      return job.status;
    }
    for (size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].bytes != 0) AMPHORA_TRY(output_.write(batch[i].source->name, payload_of(i)));
      advance(batch[i]);
    }
    return {};
  }

  void advance(const PlannedTensor& planned) {
    done_bytes_ += planned.bytes;
    if (progress_) progress_(done_bytes_, report_.payload_bytes);
  }

  CmfOutput output_;
  const ConversionReport& report_;
  quant::Encoder encoder_;
  ThreadPool pool_;
  const ProgressFunction& progress_;
  uint64_t batch_bytes_ = kBatchBytes;
  uint64_t done_bytes_ = 0;
};

// ---- What is refused before anything is read ----

/// A damaged tokenizer would only show when the new file is used, so it is refused. One that merely needs
/// parts which this version lacks is carried as it is, unless a person can say what the part stands for; and
/// so is whatever a .cmf file holds: the format does not look inside. The parsed tokenizer is gone before any
/// tensor takes memory.
Status check_tokenizer(const Package& package, std::vector<std::string>& notes) {
  if (package.tokenizer_json.empty()) return {};
  const auto tokenizer = text::Tokenizer::from_json(package.tokenizer_json);
  if (tokenizer) {
    // The other way round is ordinary: vocabularies are padded. So this is no error.
    if (const uint32_t limit = (*tokenizer)->id_limit(); limit > package.spec.vocab_size)
      notes.push_back(
          fmt::format("the tokenizer has ids up to {}, but the model's vocabulary ends at {}: a text that "
                      "holds such a token cannot be run",
                      limit - 1, package.spec.vocab_size - 1));
    return {};
  }
  Error error = tokenizer.error();
  if (package.format != PackageFormat::kCmf && error.fault == Fault::kUnsupported)
    if (const auto unknown = package::find_unknown_pre_tokenizer(package.tokenizer_json))
      return fail_at(Fault::kUnsupported, "PreTokenizer", "tokenizer.json", std::nullopt,
                     fmt::format("tokenizer.json: {}; the pre-tokenizer there is {}; {}", unknown->reason,
                                 unknown->json.substr(0, kMaxShownBytes), package::offer_to_assume()));
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

/// A template that cannot be parsed ends no more than conversations: the model still completes texts.
void check_chat_template(const Package& package, std::vector<std::string>& notes) {
  if (!package.tokenizer.chat_template) return;
  const auto parsed = text::ChatTemplate::parse(*package.tokenizer.chat_template);
  if (!parsed)
    notes.push_back(
        fmt::format("the chat template cannot be used: {}; it is carried as it is", parsed.error().message));
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
  if (target.dtype)
    report.nominal_bits = nominal_bits(*target.dtype, target.vbit_budget.value_or(quant::kDefaultVbitBudget));
  return report;
}

/// The plan with everything that it takes to know each payload's exact size.
Result<std::vector<PlannedTensor>> plan(const Package& package, const ConvertOptions& options,
                                        std::vector<std::string>& notes) {
  AMPHORA_ASSIGN(std::vector<PlannedTensor> tensors, plan_quantisation(package, options.quant));
  note_idle_rules(package, options.quant.rules, notes);
  if (options.importance != nullptr)
    AMPHORA_TRY(weigh_columns(package, *options.importance, options.encoder, tensors, notes));
  if (options.route_stats != nullptr) {
    AMPHORA_TRY(check_route_stats(*options.route_stats, package, notes));
    if (std::ranges::none_of(tensors, [](const PlannedTensor& planned) { return is_vbit(planned.dtype); }))
      notes.push_back("the routing statistics have no effect: no tensor becomes vbit");
  }
  AMPHORA_TRY(plan_vbit_rows(package, tensors, options.route_stats, options.threads, options.plan_progress));
  return tensors;
}

Result<CmfOutput> create_output(const Package& package, const fs::path& out, const ConversionReport& report,
                                const ConvertOptions& options, const ByteVector& index) {
  cmf::NewFile file;
  for (const PlannedTensor& planned : report.tensors)
    file.tensors.push_back({planned.source->name, planned.dtype, planned.source->shape, planned.bytes});
  file.header = package::conversion_header(package, options.tool, cmf::quant_type_of(file.tensors));
  file.tokenizer_json = as_bytes(package.tokenizer_json);
  file.masks = package.masks;
  file.loop_masks = package.loop_masks;
  file.index = options.write_index ? Bytes(index) : package.index;
  AMPHORA_ASSIGN(CmfOutput output, CmfOutput::create(out, file, options.shard_max_bytes));
  for (const OutputFile& written : output.files()) AMPHORA_TRY(check_out(package, written.path));
  return output;
}

}  // namespace

Result<ConversionReport> convert(const Package& package, const fs::path& out, const ConvertOptions& options,
                                 const ProgressFunction& progress) {
  std::vector<std::string> notes;
  AMPHORA_TRY(check_tokenizer(package, notes));
  check_chat_template(package, notes);
  if (!options.dry_run) AMPHORA_TRY(check_out(package, out));
  ByteVector index;
  if (options.write_index) {
    AMPHORA_ASSIGN(index, build_sparse_index(package));
  }
  AMPHORA_ASSIGN(std::vector<PlannedTensor> tensors, plan(package, options, notes));
  ConversionReport report = summarise(std::move(tensors), options.quant.target);
  report.notes = std::move(notes);
  if (options.dry_run) return report;
  AMPHORA_ASSIGN(CmfOutput output, create_output(package, out, report, options, index));
  report.files = output.files();
  AMPHORA_TRY(Conversion(std::move(output), report, options, progress).run());
  return report;
}

}  // namespace amphora
