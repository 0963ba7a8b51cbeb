// What the evaluator changes for the length of a block and puts back at its end. Private to evaluator*.cc.
#pragma once

#include <memory>
#include <utility>

#include "text/jinja/evaluator.h"

namespace amphora::text::jinja {

class Evaluator::ScopeGuard {
 public:
  ScopeGuard(std::shared_ptr<Scope>& current, std::shared_ptr<Scope> inner)
      : current_(current), outer_(std::exchange(current, std::move(inner))) {}
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;
  ~ScopeGuard() { current_ = std::move(outer_); }

 private:
  std::shared_ptr<Scope>& current_;
  std::shared_ptr<Scope> outer_;
};

class OutputGuard {
 public:
  OutputGuard(TextBuilder*& current, TextBuilder* inner)
      : current_(current), outer_(std::exchange(current, inner)) {}
  OutputGuard(const OutputGuard&) = delete;
  OutputGuard& operator=(const OutputGuard&) = delete;
  ~OutputGuard() { current_ = outer_; }

 private:
  TextBuilder*& current_;
  TextBuilder* outer_;
};

class Evaluator::DepthGuard {
 public:
  explicit DepthGuard(uint32_t& depth) : depth_(depth) { ++depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  ~DepthGuard() { --depth_; }

 private:
  uint32_t& depth_;
};

}  // namespace amphora::text::jinja
