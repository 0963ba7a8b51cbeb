// One sequence that runs through a model: see amphora/session.h.
#include <algorithm>

#include "amphora/session.h"
#include "engine/restriction.h"
#include "engine/session_impl.h"
#include "model/sequence_state.h"
#include "package/route_stats.h"
#include "package/task_mask.h"

namespace amphora {
namespace {

constexpr size_t kMaxThreads = 1024;
/// Positions whose logits are in memory together in forward_each (a vocabulary of 262144 makes that 16 MB).
constexpr size_t kLogitsBlock = 16;

kernels::KvType to_kernels(KvType type) {
  switch (type) {
    case KvType::kF32: return kernels::KvType::kF32;
    case KvType::kF16: return kernels::KvType::kF16;
    case KvType::kQ8: return kernels::KvType::kQ8;
  }
  return kernels::KvType::kF32;
}

Result<const kernels::Variant*> choose_variant(const std::string& name) {
  if (name.empty()) return &kernels::best_variant();
  const kernels::Variant* variant = kernels::find_variant(name);
  if (!variant) {
    std::string known;
    for (const kernels::Variant* each : kernels::variants())
      known += (known.empty() ? "" : ", ") + std::string(kernels::name_of(*each));
    return fail(Fault::kUsage, "there are no kernels named '" + name + "', only " + known);
  }
  if (!kernels::runs_here(*variant))
    return fail(Fault::kUnsupported, "this processor does not run the '" + name + "' kernels");
  return variant;
}

/// What the options leave out, if anything; notes on it are added.
Result<std::optional<model::RunMask>> choose_mask(const Model& model, const SessionOptions& options,
                                                  std::vector<std::string>& notes) {
  std::optional<TaskMask> task;
  if (!options.task.empty()) {
    AMPHORA_ASSIGN(task, find_task_mask(*model.package(), options.task));
    if (!task->measured)
      notes.push_back("the quality of the task mask '" + options.task + "' has not been measured");
  }
  if (options.experts) {
    if (!(options.experts->cover > 0 && options.experts->cover <= 1))
      return fail(Fault::kUsage, "the share of the experts' counts is above 0 and at most 1");
    AMPHORA_TRY(check_route_stats(options.experts->counts, *model.package(), notes));
  }
  if (!task && !options.experts) return std::nullopt;
  return build_run_mask(model.plan(), task, options.experts);
}

}  // namespace

Result<std::unique_ptr<Session>> Session::create(std::shared_ptr<const Model> model,
                                                 const SessionOptions& options) {
  const size_t threads = options.threads == 0 ? available_threads() : options.threads;
  if (threads > kMaxThreads)
    return fail(Fault::kUsage,
                std::to_string(threads) + " threads are too many: at most " + std::to_string(kMaxThreads));
  const uint32_t trained = model->spec().max_position_embeddings;
  const uint32_t context = options.context == 0 ? trained : options.context;
  const KvType kv_type = options.kv.value_or(options.exact ? KvType::kF32 : KvType::kF16);
  AMPHORA_ASSIGN(const kernels::Variant* variant, choose_variant(options.kernels));
  AMPHORA_ASSIGN(auto state, model::SequenceState::create(model->plan(), to_kernels(kv_type), context));
  std::vector<std::string> notes;
  AMPHORA_ASSIGN(auto mask, choose_mask(*model, options, notes));
  auto impl =
      std::make_unique<Impl>(std::move(model), options, variant, threads, kv_type, context, std::move(state));
  impl->notes = std::move(notes);
  impl->mask = std::move(mask);
  if (impl->mask) impl->sequence.decoder().leave_out(&*impl->mask);
  if (options.count_experts) impl->sequence.decoder().count_experts();
  return std::make_unique<Session>(std::move(impl));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Session::Impl& Session::impl() { return *impl_; }

Result<std::span<const float>> Session::forward(std::span<const TokenId> ids) {
  size_t last = 0;  // index of the last id in its block
  AMPHORA_TRY(impl_->append(ids, [&](const Sequence::Block& block) {
    last = block.offset + block.count - 1;
    return Status{};
  }));
  const size_t vocabulary = impl_->plan().vocabulary;
  if (impl_->logits.size() < vocabulary) impl_->logits.resize(vocabulary);
  impl_->sequence.decoder().logits(last, 1, impl_->logits.data());
  return std::span<const float>(impl_->logits).first(vocabulary);
}

Status Session::prefill(std::span<const TokenId> ids) {
  return impl_->append(ids, [](const Sequence::Block&) { return Status{}; });
}

Status Session::forward_each(std::span<const TokenId> ids, const LogitsFunction& function) {
  const size_t vocabulary = impl_->plan().vocabulary;
  impl_->logits.resize(std::max(impl_->logits.size(), std::min(kLogitsBlock, ids.size()) * vocabulary));
  return impl_->append(ids, [&](const Sequence::Block& block) -> Status {
    for (size_t first = 0; first < block.count; first += kLogitsBlock) {
      const size_t count = std::min(kLogitsBlock, block.count - first);
      impl_->sequence.decoder().logits(block.offset + first, count, impl_->logits.data());
      for (size_t t = 0; t < count; ++t) {
        AMPHORA_TRY(function(block.first + first + t, {&impl_->logits[t * vocabulary], vocabulary}));
      }
    }
    return {};
  });
}

std::span<const TokenId> Session::ids() const { return impl_->sequence.ids(); }
uint32_t Session::position() const { return static_cast<uint32_t>(impl_->sequence.ids().size()); }
uint32_t Session::context() const { return impl_->context; }

void Session::truncate(uint32_t position) { impl_->cut(position); }

void Session::mark() { impl_->sequence.keep(Sequence::Checkpoint::kPrompt); }

void Session::observe_inputs(model::InputObserver* observer) {
  impl_->sequence.decoder().observe_inputs(observer);
}

ExpertCounts Session::expert_counts() const {
  ExpertCounts counts;
  uint32_t layer = 0;
  for (const std::vector<uint64_t>& of_layer : impl_->sequence.decoder().expert_counts()) {
    if (!of_layer.empty()) counts.emplace(layer, of_layer);
    ++layer;
  }
  return counts;
}

std::span<const std::string> Session::notes() const { return impl_->notes; }
const Model& Session::model() const { return *impl_->model; }
size_t Session::threads() const { return impl_->pool.threads(); }
std::string_view Session::kernels() const { return kernels::name_of(*impl_->executor.variant); }
bool Session::exact() const { return impl_->executor.numerics == kernels::Numerics::kExact; }
KvType Session::kv_type() const { return impl_->kv_type; }

MemoryUse Session::memory() const {
  MemoryUse use;
  use.weights_mapped = impl_->model->mapped_bytes();
  use.weights_private = impl_->model->decoded_bytes();
  use.weights_copied = impl_->copies ? impl_->copies->filled_bytes() : 0;
  use.kv_reserved = impl_->sequence.state().reserved_bytes();
  use.kv_used = impl_->sequence.state().used_bytes(impl_->sequence.ids().size());
  use.scratch = impl_->sequence.decoder().scratch_bytes() + impl_->logits.capacity() * sizeof(float);
  return use;
}

TokenId Session::argmax(std::span<const float> logits) const {
  return static_cast<TokenId>(kernels::argmax(impl_->executor, logits.data(), logits.size()));
}

}  // namespace amphora
