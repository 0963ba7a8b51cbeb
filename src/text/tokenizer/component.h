// Reading one component of tokenizer.json: an object with a "type" and fields that all have to be understood.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "amphora/json.h"
#include "amphora/result.h"
#include "text/tokenizer/pattern.h"

namespace amphora::text {

/// A component may hold components ("Sequence"), but not deeper than this.
inline constexpr int kMaxComponentDepth = 16;

/// Reads the fields of one object and remembers which: finish() refuses the ones that nobody asked for.
class Component {
 public:
  /// `role` is what a message calls it: "normalizer", "decoder" …
  static Result<Component> open(const json::Value& value, std::string_view role, std::string place,
                                int depth = 0);

  const std::string& type() const { return type_; }
  std::string_view role() const { return role_; }
  const std::string& place() const { return place_; }

  /// A field that may be absent or null.
  const json::Value* find(std::string_view key);
  Result<bool> boolean(std::string_view key, std::optional<bool> if_absent = std::nullopt);
  Result<std::string> string(std::string_view key);
  Result<char32_t> character(std::string_view key);
  Result<uint64_t> count(std::string_view key);
  /// `{"String": …}` or `{"Regex": …}`.
  Result<Pattern> pattern(std::string_view key);
  Result<SplitBehavior> split_behavior(std::string_view key,
                                       std::optional<SplitBehavior> if_absent = std::nullopt);
  /// The components in an array field.
  Result<std::vector<Component>> parts(std::string_view key);
  /// Reads over a field whose value makes no difference to ids or text.
  void ignore(std::string_view key) { find(key); }

  Status finish() const;
  std::unexpected<Error> corrupt(std::string_view key, std::string_view what) const;
  std::unexpected<Error> unsupported_type() const;

 private:
  const json::Value* value_ = nullptr;
  std::string_view role_;
  std::string place_;
  std::string type_;
  int depth_ = 0;
  std::vector<std::string_view> read_;
};

/// One line of a table of components: the type's name and what builds it.
template <class Product>
struct ComponentKind {
  std::string_view type;
  Result<std::unique_ptr<Product>> (*build)(Component& component);
};

template <class Product>
Result<std::unique_ptr<Product>> build_component(Component& component,
                                                 std::span<const ComponentKind<Product>> kinds) {
  for (const ComponentKind<Product>& kind : kinds) {
    if (kind.type != component.type()) continue;
    AMPHORA_ASSIGN(auto product, kind.build(component));
    AMPHORA_TRY(component.finish());
    return product;
  }
  return component.unsupported_type();
}

}  // namespace amphora::text
