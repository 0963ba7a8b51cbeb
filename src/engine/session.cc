// One sequence that runs through a model: see amphora/session.h.
#include <algorithm>

#include "amphora/session.h"
#include "base/thread_pool.h"
#include "engine/token_ids.h"
#include "kernels/kernels.h"
#include "model/decoder.h"
#include "model/kv_cache.h"
#include "model/plan.h"

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

}  // namespace

struct Session::Impl {
  Impl(std::shared_ptr<const Model> the_model, const SessionOptions& options, const kernels::Variant* variant,
       size_t threads, KvType type, uint32_t context_length, model::KvCache kv_cache)
      : model(std::move(the_model)),
        pool(threads),
        executor{&pool, variant, options.exact ? kernels::Numerics::kExact : kernels::Numerics::kFast},
        kv_type(type),
        context(context_length),
        cache(std::move(kv_cache)),
        decoder(model->plan(), executor) {}

  const model::Plan& plan() const { return model->plan(); }

  Status check(std::span<const TokenId> added) const {
    if (added.empty()) return fail(Fault::kUsage, "there are no tokens to run");
    if (added.size() > context - ids.size())
      return fail(Fault::kUsage, std::to_string(ids.size() + added.size()) +
                                     " tokens do not fit into a context of " + std::to_string(context) +
                                     " positions");
    return check_token_ids(added, plan().vocabulary);
  }

  /// Runs ids block by block; `after_block` is called with the index of the block's first id and its size.
  template <class AfterBlock>
  Status run(std::span<const TokenId> added, AfterBlock after_block) {
    for (size_t first = 0; first < added.size(); first += model::kBlockTokens) {
      const auto block = added.subspan(first, std::min(model::kBlockTokens, added.size() - first));
      decoder.run(block, ids.size(), long_sequence, cache);
      ids.insert(ids.end(), block.begin(), block.end());
      AMPHORA_TRY(after_block(first, block.size()));
    }
    return {};
  }

  /// LongRoPE turns every position of a sequence with one set of frequencies, chosen by its length: when that
  /// choice changes, what the cache holds is run again.
  Status choose_rope(size_t length) {
    const model::RopePlan& rope = plan().rope;
    const bool wanted = rope.long_global && length > rope.long_threshold;
    if (wanted == long_sequence) return {};
    long_sequence = wanted;
    const std::vector<TokenId> again = std::exchange(ids, {});
    return run(again, [](size_t, size_t) { return Status{}; });
  }

  template <class AfterBlock>
  Status append(std::span<const TokenId> added, AfterBlock after_block) {
    AMPHORA_TRY(check(added));
    AMPHORA_TRY(choose_rope(ids.size() + added.size()));
    return run(added, after_block);
  }

  std::shared_ptr<const Model> model;
  ThreadPool pool;
  kernels::Executor executor;
  KvType kv_type;
  uint32_t context;
  model::KvCache cache;
  model::Decoder decoder;
  std::vector<TokenId> ids;
  std::vector<float> logits;
  bool long_sequence = false;
};

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
  AMPHORA_ASSIGN(auto cache, model::KvCache::create(model->plan(), to_kernels(kv_type), context));
  return std::make_unique<Session>(std::make_unique<Impl>(std::move(model), options, variant, threads,
                                                          kv_type, context, std::move(cache)));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Result<std::span<const float>> Session::forward(std::span<const TokenId> ids) {
  size_t last = 0;  // index of the last id in its block
  AMPHORA_TRY(impl_->append(ids, [&](size_t, size_t tokens) {
    last = tokens - 1;
    return Status{};
  }));
  const size_t vocabulary = impl_->plan().vocabulary;
  if (impl_->logits.size() < vocabulary) impl_->logits.resize(vocabulary);
  impl_->decoder.logits(last, 1, impl_->logits.data());
  return std::span<const float>(impl_->logits).first(vocabulary);
}

Status Session::prefill(std::span<const TokenId> ids) {
  return impl_->append(ids, [](size_t, size_t) { return Status{}; });
}

Status Session::forward_each(std::span<const TokenId> ids, const LogitsFunction& function) {
  const size_t vocabulary = impl_->plan().vocabulary;
  impl_->logits.resize(std::max(impl_->logits.size(), std::min(kLogitsBlock, ids.size()) * vocabulary));
  return impl_->append(ids, [&](size_t first_id, size_t tokens) -> Status {
    for (size_t first = 0; first < tokens; first += kLogitsBlock) {
      const size_t count = std::min(kLogitsBlock, tokens - first);
      impl_->decoder.logits(first, count, impl_->logits.data());
      for (size_t t = 0; t < count; ++t) {
        AMPHORA_TRY(function(first_id + first + t, {&impl_->logits[t * vocabulary], vocabulary}));
      }
    }
    return {};
  });
}

std::span<const TokenId> Session::ids() const { return impl_->ids; }
uint32_t Session::position() const { return static_cast<uint32_t>(impl_->ids.size()); }
uint32_t Session::context() const { return impl_->context; }

void Session::truncate(uint32_t position) {
  if (position < impl_->ids.size()) impl_->ids.resize(position);
}

void Session::observe_inputs(model::InputObserver* observer) { impl_->decoder.observe_inputs(observer); }

const Model& Session::model() const { return *impl_->model; }
size_t Session::threads() const { return impl_->pool.threads(); }
std::string_view Session::kernels() const { return kernels::name_of(*impl_->executor.variant); }
bool Session::exact() const { return impl_->executor.numerics == kernels::Numerics::kExact; }
KvType Session::kv_type() const { return impl_->kv_type; }

MemoryUse Session::memory() const {
  MemoryUse use;
  use.weights_mapped = impl_->model->mapped_bytes();
  use.weights_private = impl_->model->decoded_bytes();
  use.kv_reserved = impl_->cache.reserved_bytes();
  use.kv_used = impl_->cache.bytes_per_position() * impl_->ids.size();
  use.scratch = impl_->decoder.scratch_bytes() + impl_->logits.capacity() * sizeof(float);
  return use;
}

TokenId Session::argmax(std::span<const float> logits) const {
  return static_cast<TokenId>(kernels::argmax(impl_->executor, logits.data(), logits.size()));
}

}  // namespace amphora
