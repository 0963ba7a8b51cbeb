// Golden files of whole models: reading them, and runs to compare with them.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "amphora/json.h"
#include "amphora/session.h"
#include "base/file.h"
#include "base/testing/test_data.h"

namespace amphora::testing {

inline json::Value read_json(const std::filesystem::path& path) {
  const auto text = read_small_file(path, uint64_t{1} << 24);
  if (!text) {
    ADD_FAILURE() << text.error().message;
    return {};
  }
  auto value = json::parse(*text);
  if (!value) ADD_FAILURE() << path << ": " << value.error().message;
  return value ? *value : json::Value();
}

inline std::shared_ptr<const Model> load_model(const std::filesystem::path& path) {
  const auto package = open_package(path);
  if (!package) {
    ADD_FAILURE() << package.error().message;
    return nullptr;
  }
  const auto model = Model::load(*package);
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return nullptr;
  }
  return *model;
}

/// The model in a directory with every tensor decoded to f32, as a conversion would do: also where the layout
/// is not run directly.
inline std::shared_ptr<const Model> load_decoded(const std::filesystem::path& folder) {
  const auto opened = open_package(folder);
  if (!opened) {
    ADD_FAILURE() << opened.error().message;
    return nullptr;
  }
  auto package = std::make_shared<Package>(**opened);
  for (PackageTensor& tensor : package->tensors) {
    auto values = std::make_shared<std::vector<float>>(tensor.elements());
    if (const Status status = tensor.read(0, *values); !status) ADD_FAILURE() << status.error().message;
    tensor.dtype = DType::kF32;
    tensor.stored = std::as_bytes(std::span(*values));
    package->owners.push_back(values);
  }
  const auto model = Model::load(package);
  if (!model) {
    ADD_FAILURE() << model.error().message;
    return nullptr;
  }
  return *model;
}

inline std::unique_ptr<Session> open_session(const std::shared_ptr<const Model>& model,
                                             const SessionOptions& options) {
  auto session = Session::create(model, options);
  if (!session) {
    ADD_FAILURE() << session.error().message;
    return nullptr;
  }
  return *std::move(session);
}

inline std::vector<TokenId> ids_of(const json::Value& value) {
  std::vector<TokenId> ids;
  for (const json::Value& item : value.items())
    ids.push_back(static_cast<TokenId>(item.as_unsigned().value()));
  return ids;
}

inline double largest_difference(std::span<const float> logits, const json::Value& wanted) {
  if (logits.size() != wanted.items().size()) return HUGE_VAL;
  double largest = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    const double difference = std::abs(logits[i] - wanted.items()[i].as_double());
    if (!(difference <= largest)) largest = difference;  // a NaN counts as large
  }
  return largest;
}

/// Runs `count` argmax steps after the logits.
inline std::vector<TokenId> continue_greedily(Session& session, std::span<const float> logits, size_t count) {
  std::vector<TokenId> ids;
  while (ids.size() < count) {
    ids.push_back(session.argmax(logits));
    const auto next = session.forward({&ids.back(), 1});
    if (!next) {
      ADD_FAILURE() << next.error().message;
      return ids;
    }
    logits = *next;
  }
  return ids;
}

}  // namespace amphora::testing
