// Complete unrolling of short loops over register tiles: without it GCC keeps the accumulators in memory.
#pragma once

#if defined(__clang__)
#define AMPHORA_UNROLL _Pragma("clang loop unroll(full)")
#else
#define AMPHORA_UNROLL _Pragma("GCC unroll 16")
#endif
