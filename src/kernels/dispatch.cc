// Which variants there are, and which of them this processor runs.
#include <array>

#include "kernels/variant.h"

namespace amphora::kernels {
namespace {

constexpr std::array kVariants = {
#if defined(__x86_64__)
    &kAvx512,
    &kAvx2,
#endif
#if defined(__aarch64__)
    &kNeon,
#endif
    &kScalar,
};

}  // namespace

std::span<const Variant* const> variants() { return kVariants; }

const Variant* find_variant(std::string_view name) {
  for (const Variant* variant : kVariants)
    if (variant->name == name) return variant;
  return nullptr;
}

const Variant& best_variant() {
  for (const Variant* variant : kVariants)
    if (variant->runs_here()) return *variant;
  return kScalar;
}

std::string_view name_of(const Variant& variant) { return variant.name; }
bool runs_here(const Variant& variant) { return variant.runs_here(); }

}  // namespace amphora::kernels
