// Bounds on what a template may cost: a template comes with a model file, so it is input that nobody vouches
// for.
//
// Together they keep any template below a second and 64 MiB. They are far above what chat templates need: the
// largest published ones spend a few hundred steps per message.
#pragma once

#include <cstddef>
#include <cstdint>

namespace amphora::text::jinja {

inline constexpr size_t kMaxSourceBytes = size_t{1} << 20;
/// Levels of nested expressions and blocks in the source, and links of one operator chain.
inline constexpr uint32_t kMaxNesting = 200;

/// Nodes evaluated, plus one step for each kBytesPerStep of text that a node reads or writes.
inline constexpr uint64_t kMaxSteps = 4'000'000;
inline constexpr size_t kBytesPerStep = 64;
/// Levels of nodes being evaluated, macro calls included: each costs native stack.
inline constexpr uint32_t kMaxRecursion = 800;
/// Levels of lists within lists (and other containers).
inline constexpr uint32_t kMaxValueDepth = 200;
/// All values alive at one time, the caller's variables not counted.
inline constexpr size_t kMaxLiveBytes = size_t{32} << 20;
/// One string; also the whole output.
inline constexpr size_t kMaxTextBytes = size_t{8} << 20;
/// Parts or lines that a text is split into.
inline constexpr size_t kMaxParts = 100'000;
/// Items of a range(), as Jinja's sandbox has it.
inline constexpr uint64_t kMaxRangeItems = 100'000;

}  // namespace amphora::text::jinja
