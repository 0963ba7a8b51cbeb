// Complete unrolling of short loops over register tiles: without it GCC keeps the accumulators in memory. And
// none where the compiler would only make long code.
#pragma once

#if defined(__clang__)
#define AMPHORA_UNROLL _Pragma("clang loop unroll(full)")
#define AMPHORA_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define AMPHORA_UNROLL _Pragma("GCC unroll 16")
#define AMPHORA_NO_UNROLL _Pragma("GCC unroll 1")
#endif
