// What a session consists of, for the parts of the engine that work on it directly.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "amphora/session.h"
#include "base/thread_pool.h"
#include "engine/mtp_drafter.h"
#include "engine/sequence.h"
#include "engine/token_ids.h"
#include "kernels/kernels.h"
#include "kernels/weight_copies.h"
#include "model/plan.h"
#include "model/run_mask.h"
#include "model/sequence_state.h"

namespace amphora {

struct Session::Impl {
  Impl(std::shared_ptr<const Model> the_model, const SessionOptions& options, const kernels::Variant* variant,
       size_t threads, KvType type, uint32_t context_length, model::SequenceState state)
      : model(std::move(the_model)),
        pool(threads),
        copies(options.copy_weights && !options.exact ? model->weight_copies() : nullptr),
        executor{&pool, variant, options.exact ? kernels::Numerics::kExact : kernels::Numerics::kFast,
                 copies},
        kv_type(type),
        context(context_length),
        sequence(model->plan(), executor, std::move(state)) {}

  const model::Plan& plan() const { return model->plan(); }

  Status check(std::span<const TokenId> added) const {
    const size_t held = sequence.ids().size();
    if (added.empty()) return fail(Fault::kUsage, "there are no tokens to run");
    if (added.size() > context - held)
      return fail(Fault::kUsage, std::to_string(held + added.size()) +
                                     " tokens do not fit into a context of " + std::to_string(context) +
                                     " positions");
    return check_token_ids(added, plan().vocabulary);
  }

  template <class AfterBlock>
  Status append(std::span<const TokenId> added, AfterBlock after_block) {
    AMPHORA_TRY(check(added));
    if (copies && added.size() == 1) copy_some_weights();
    return sequence.append(added, [&](const Sequence::Block& block) -> Status {
      AMPHORA_TRY(after_block(block));
      if (mtp) mtp->collect(block);
      return {};
    });
  }

  /// Of the weights that tokens have read, as much as takes no longer than a few tokens take.
  void copy_some_weights() {
    constexpr uint64_t kLeastBytes = uint64_t{64} << 20;
    (void)copies->fill(pool, std::max(kLeastBytes, model->mapped_bytes() / 8));
  }

  /// Whether the predictor's rows are kept up from now on.
  void use_mtp(bool wanted) {
    if (!wanted)
      mtp.reset();
    else if (!mtp)
      mtp.emplace(sequence);
  }

  void cut(size_t position) {
    sequence.cut(position);
    if (mtp) mtp->cut(position);
  }

  std::shared_ptr<const Model> model;
  std::vector<std::string> notes;
  std::optional<model::RunMask> mask;
  ThreadPool pool;
  kernels::WeightCopies* copies;  ///< null: none are made
  kernels::Executor executor;
  KvType kv_type;
  uint32_t context;
  Sequence sequence;
  std::optional<MtpDrafter> mtp;  ///< once a generation has asked for it
  std::vector<float> logits;
};

}  // namespace amphora
