// How long the directory of a large model takes: 250,000 tokens and merges, 700 tensors.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "formats/gguf/directory.h"
#include "formats/gguf/testing/gguf_builder.h"

namespace amphora::gguf {
namespace {

std::string large_file() {
  constexpr int kTokens = 250'000;
  testing::GgufBuilder builder;
  std::vector<std::string> tokens, merges;
  for (int i = 0; i < kTokens; ++i) {
    tokens.push_back("token" + std::to_string(i));
    merges.push_back("left" + std::to_string(i) + " right");
  }
  builder.add_strings("tokenizer.ggml.tokens", tokens).add_strings("tokenizer.ggml.merges", merges);
  builder.add_f32s("tokenizer.ggml.scores", std::vector<float>(kTokens));
  builder.add_i32s("tokenizer.ggml.token_type", std::vector<int32_t>(kTokens, 1));
  for (int i = 0; i < 700; ++i)
    builder.add_f32_tensor("blk." + std::to_string(i) + ".attn_q.weight", {8}, std::vector<float>(8));
  return builder.file();
}

void decode_large_directory(benchmark::State& state) {
  const std::string file = large_file();
  for (auto _ : state) {
    const auto directory = decode_directory(as_bytes(file));
    if (!directory || directory->tensors.size() != 700) std::abort();
    benchmark::DoNotOptimize(directory->tensors.data());
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(file.size()));
}
BENCHMARK(decode_large_directory)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace amphora::gguf
