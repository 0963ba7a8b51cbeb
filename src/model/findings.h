// What stands between a package and a plan, gathered so that one error tells all of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "amphora/result.h"

namespace amphora::model {

class Findings {
 public:
  /// An operator that this program does not run, and a tensor that belongs to it.
  void unsupported_operator(std::string_view name, std::string_view tensor);
  /// A dimension, option or element type that it does not run; the words say what and where.
  void unsupported(std::string words);
  void contradiction(std::string words);
  void missing(std::string_view tensor) { missing_.emplace_back(tensor); }
  void unused(std::string_view tensor) { unused_.emplace_back(tensor); }

  bool empty() const;
  /// Names the first few findings of each kind and counts the rest.
  /// kUnsupported if anything is unsupported, else kCorrupt; the code is "Missing" if tensors are missing.
  Error error() const;

 private:
  struct Operator {
    std::string name;
    std::vector<std::string> tensors;
  };
  std::vector<Operator> operators_;
  std::vector<std::string> unsupported_, contradictions_, missing_, unused_;
};

/// Names in one line; those that differ only in their layer are written once:
/// `model.layers.{0-3,7}.mlp.up_proj.weight`. After the first few the rest is only counted.
std::string list_names(const std::vector<std::string>& names);

}  // namespace amphora::model
