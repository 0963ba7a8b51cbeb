// Sessions over the tiny model, and ids to feed them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "amphora/session.h"
#include "model/testing/tiny_package.h"

namespace amphora::testing {

inline std::unique_ptr<Session> open_session(const model::testing::TinyPackage& tiny, uint32_t context = 0) {
  auto model = Model::load(tiny.take());
  if (!model) ADD_FAILURE() << model.error().message;
  auto session = Session::create(*model, {.context = context});
  if (!session) ADD_FAILURE() << session.error().message;
  return *std::move(session);
}

/// Ids below the tiny vocabulary's 80, without a visible pattern.
inline std::vector<TokenId> some_ids(size_t count) {
  std::vector<TokenId> ids(count);
  for (size_t i = 0; i < count; ++i) ids[i] = static_cast<TokenId>((i * i * 11 + i * 3 + 1) % 80);
  return ids;
}

}  // namespace amphora::testing
