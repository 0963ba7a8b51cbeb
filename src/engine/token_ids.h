// What every reader of token ids refuses.
#pragma once

#include <span>
#include <string>

#include "amphora/session.h"

namespace amphora {

/// kUsage, naming the id, if one lies outside the vocabulary: also of ids that are only predicted, never run.
inline Status check_token_ids(std::span<const TokenId> ids, uint64_t vocabulary) {
  for (const TokenId id : ids)
    if (id >= vocabulary)
      return fail(Fault::kUsage, "token id " + std::to_string(id) + " is outside the vocabulary of " +
                                     std::to_string(vocabulary));
  return {};
}

}  // namespace amphora
