// Speed of the kernels: GB/s of weights for one token, GFLOP/s for many, beside a plain read of memory in the
// same run.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "base/half.h"
#include "base/thread_pool.h"
#include "kernels/kernels.h"
#include "kernels/recurrence.h"

namespace amphora::kernels {
namespace {

using Sizes = std::initializer_list<size_t>;

/// Weights that do not fit into any cache, shared by all benchmarks; huge pages where there are any.
class Arena {
 public:
  static constexpr size_t kBytes = size_t{512} << 20;
  Arena()
      : data_(static_cast<std::byte*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    madvise(data_, kBytes, MADV_HUGEPAGE);
    std::mt19937_64 engine(1);
    for (size_t i = 0; i < kBytes;
         i += 2) {  // halves of sensible size: they serve as scales, weights and codes
      const uint16_t half = float_to_half(0.001f + 0.01f * static_cast<float>(engine() & 1023) / 1023.0f);
      data_[i] = static_cast<std::byte>(half);
      data_[i + 1] = static_cast<std::byte>(half >> 8);
    }
  }
  std::byte* data() const { return data_; }

 private:
  std::byte* data_;
};

Arena& arena() {
  static Arena arena;
  return arena;
}

size_t payload_bytes(DType dtype, size_t rows, size_t columns) {
  switch (dtype) {
    case DType::kF32: return rows * columns * 4;
    case DType::kF16:
    case DType::kBF16: return rows * columns * 2;
    case DType::kQ8Row: return rows * columns + rows * 2;
    case DType::kQ82F: return rows * columns + rows * 2 + columns * 2;
    default: return rows * columns / 32 * 18;
  }
}

std::vector<float> activations(size_t count) {
  std::mt19937 engine(2);
  std::vector<float> x(count);
  for (float& value : x) value = static_cast<float>(engine()) * 0x1p-31f - 1.0f;
  return x;
}

/// Every second of runs of so many rows; 0: all rows.
std::vector<RowRange> live_rows(size_t rows, size_t run) {
  std::vector<RowRange> ranges;
  if (run == 0) return {{0, rows}};
  for (size_t first = 0; first < rows; first += 2 * run)
    ranges.push_back({first, std::min(rows, first + run)});
  return ranges;
}

/// Walks through copies of the matrix, so that the weights of one token come from memory as in decoding.
/// Rates count live rows.
void run_matmul(benchmark::State& state, const Variant* variant, DType dtype, size_t rows, size_t columns,
                size_t tokens, Numerics numerics, size_t live_run, size_t threads) {
  ThreadPool pool(threads);
  const Executor executor = {&pool, variant, numerics};
  const size_t bytes = payload_bytes(dtype, rows, columns), step = (bytes + 4095) / 4096 * 4096;
  const size_t copies = std::max<size_t>(1, Arena::kBytes / step);
  const std::byte* const memory = arena().data();
  const auto x = activations(tokens * columns);
  std::vector<float> out(tokens * rows);
  const std::vector<RowRange> live = live_rows(rows, live_run);
  Activations prepared;
  size_t copy = 0;
  for (auto _ : state) {
    const Matrix weights = {dtype, rows, columns, Bytes(memory + copy * step, bytes)};
    prepared.assign(executor, x.data(), tokens, columns);
    const Product products[] = {{&weights, out.data(), rows, live}};
    matmul(executor, products, prepared);
    benchmark::DoNotOptimize(out.data());
    copy = (copy + 1) % copies;
  }
  const double part = live_run == 0 ? 1.0 : 0.5;
  const auto iterations = part * static_cast<double>(state.iterations());
  using benchmark::Counter;
  state.counters["GB/s"] = Counter(static_cast<double>(bytes) * iterations / 1e9, Counter::kIsRate);
  state.counters["GFLOP/s"] =
      Counter(2.0 * static_cast<double>(rows * columns * tokens) * iterations / 1e9, Counter::kIsRate);
}

/// What memory gives: sums of four streams per thread, the shape of the decode kernels.
void run_memory(benchmark::State& state, size_t threads) {
  ThreadPool pool(threads);
  const auto* words = reinterpret_cast<const uint64_t*>(arena().data());
  const size_t quarter = Arena::kBytes / 8 / threads / 4;
  for (auto _ : state)
    pool.run(threads, [&](size_t thread) {
      const uint64_t* p = words + thread * quarter * 4;
      uint64_t a = 0, b = 0, c = 0, d = 0;
      for (size_t i = 0; i < quarter; ++i) {
        a += p[i];
        b += p[quarter + i];
        c += p[2 * quarter + i];
        d += p[3 * quarter + i];
      }
      benchmark::DoNotOptimize(a + b + c + d);
    });
  state.counters["GB/s"] =
      benchmark::Counter(static_cast<double>(Arena::kBytes) * static_cast<double>(state.iterations()) / 1e9,
                         benchmark::Counter::kIsRate);
}

void run_attention(benchmark::State& state, const Variant* variant, KvType type, size_t heads,
                   size_t kv_heads, size_t head_dim, size_t context, size_t tokens, size_t threads) {
  ThreadPool pool(threads);
  const Executor executor = {&pool, variant};
  const size_t bytes = kv_heads * context * kv_bytes_per_position(type, head_dim);
  ByteVector keys(bytes), values(bytes);
  const KvView kv = {type, kv_heads, head_dim, head_dim, context, keys.data(), values.data()};
  const auto filling = activations(context * kv_heads * head_dim);
  kv_store(executor, kv, 0, context, filling.data(), filling.data());
  const auto queries = activations(tokens * heads * head_dim);
  std::vector<float> out(queries.size());
  AttentionArguments a;
  a.queries = queries.data();
  a.tokens = tokens;
  a.heads = heads;
  a.kv = kv;
  a.first_position = context - tokens;
  a.scale = 0.1f;
  a.out = out.data();
  for (auto _ : state) {
    attention(executor, a);
    benchmark::DoNotOptimize(out.data());
  }
}

/// Walks through the states of as many layers as a large model has, so that one token finds its state in
/// memory.
void run_delta_rule(benchmark::State& state, const Variant* variant, size_t key_heads, size_t value_heads,
                    size_t width, size_t decay_channels, size_t tokens, size_t threads) {
  ThreadPool pool(threads);
  constexpr size_t kLayers = 36;
  const size_t state_floats = value_heads * width * width;
  const auto queries = activations(tokens * key_heads * width),
             values = activations(tokens * value_heads * width);
  const std::vector<float> keys(queries.size(), 0.08f);
  const std::vector<float> decay(tokens * value_heads * decay_channels, 0.98f),
      beta(tokens * value_heads, 0.5f);
  std::vector<float> states(kLayers * state_floats), out(values.size());
  DeltaRuleArguments a;
  a.queries = queries.data();
  a.keys = keys.data();
  a.values = values.data();
  a.decay = decay.data();
  a.beta = beta.data();
  a.tokens = tokens;
  a.key_heads = key_heads;
  a.value_heads = value_heads;
  a.key_dim = a.value_dim = width;
  a.decay_channels = decay_channels;
  a.out = out.data();
  size_t layer = 0;
  for (auto _ : state) {
    a.state = &states[layer * state_floats];
    delta_rule({&pool, variant}, a);
    benchmark::DoNotOptimize(out.data());
    layer = (layer + 1) % kLayers;
  }
  const auto iterations = static_cast<double>(state.iterations());
  state.counters["tokens/s"] =
      benchmark::Counter(static_cast<double>(tokens) * iterations, benchmark::Counter::kIsRate);
  // Decay, product with the key, update, product with the query.
  state.counters["GFLOP/s"] = benchmark::Counter(
      7.0 * static_cast<double>(tokens * state_floats) * iterations / 1e9, benchmark::Counter::kIsRate);
}

void run_short_convolution(benchmark::State& state, const Variant* variant, size_t channels, size_t taps,
                           size_t tokens, size_t threads) {
  ThreadPool pool(threads);
  const auto x = activations(tokens * channels), weights = activations(taps * channels);
  std::vector<float> history(channels * (taps - 1)), out(x.size());
  for (auto _ : state) {
    short_convolution({&pool, variant}, x.data(), weights.data(), tokens, channels, taps, history.data(),
                      out.data());
    benchmark::DoNotOptimize(out.data());
  }
  state.counters["tokens/s"] = benchmark::Counter(
      static_cast<double>(tokens) * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

using Elementwise = void (*)(const Executor&, std::vector<float>&, const std::vector<float>&);

void run_elementwise(benchmark::State& state, const Variant* variant, size_t count, Elementwise operation,
                     size_t threads) {
  ThreadPool pool(threads);
  auto x = activations(count);
  const auto y = x;
  for (auto _ : state) {
    operation({&pool, variant}, x, y);
    benchmark::DoNotOptimize(x.data());
  }
}

/// Registers FUNCTION(state, arguments …, threads). One thread is measured by its own time, which other work
/// on the machine disturbs less.
template <class Function, class... Arguments>
void add(const std::string& name, size_t threads, Function function, Arguments... arguments) {
  auto* added = benchmark::RegisterBenchmark((name + "/" + std::to_string(threads) + "T").c_str(), function,
                                             arguments..., threads);
  if (threads > 1) added->UseRealTime();
}

void add_products(const Variant* v, size_t threads) {
  constexpr struct {
    size_t rows, columns;
  } kShapes[] = {{2048, 640}, {640, 2048}, {262144, 640}, {896, 4864}};
  constexpr struct {
    DType dtype;
    const char* name;
  } kTypes[] = {{DType::kQ8Row, "q8_row"},     {DType::kQ82F, "q8_2f"}, {DType::kQ4Tiled, "q4_tiled"},
                {DType::kQ4Block, "q4_block"}, {DType::kF16, "f16"},    {DType::kBF16, "bf16"},
                {DType::kF32, "f32"}};
  const std::string variant(name_of(*v));
  for (const auto& type : kTypes) {
    const std::string what = variant + "/" + type.name;
    for (const auto& s : kShapes)
      if (payload_bytes(type.dtype, s.rows, s.columns) <= Arena::kBytes)
        add("decode/" + what + "/" + std::to_string(s.rows) + "x" + std::to_string(s.columns), threads,
            run_matmul, v, type.dtype, s.rows, s.columns, size_t{1}, Numerics::kFast, size_t{0});
    for (const size_t tokens : Sizes{4, 16, 128, 512})
      add("prefill/" + what + "/2048x640/" + std::to_string(tokens), threads, run_matmul, v, type.dtype,
          size_t{2048}, size_t{640}, tokens, Numerics::kFast, size_t{0});
    for (const size_t run : Sizes{1, 3, 64})
      for (const size_t tokens : Sizes{1, 128})
        add("live_rows/" + what + "/8192x2048/runs" + std::to_string(run) + "/" + std::to_string(tokens),
            threads, run_matmul, v, type.dtype, size_t{8192}, size_t{2048}, tokens, Numerics::kFast, run);
  }
  for (const size_t tokens : Sizes{1, 512})
    add("exact/" + variant + "/f32/2048x640/" + std::to_string(tokens), threads, run_matmul, v, DType::kF32,
        size_t{2048}, size_t{640}, tokens, Numerics::kExact, size_t{0});
}

void add_attention(const Variant* v, size_t threads) {
  for (const size_t context : Sizes{512, 4096})
    for (const size_t tokens : Sizes{1, 128}) {
      const std::string size = "/" + std::to_string(context) + "/" + std::to_string(tokens);
      const std::string variant = "attention/" + std::string(name_of(*v));
      add(variant + "/4of1x256" + size, threads, run_attention, v, KvType::kF16, size_t{4}, size_t{1},
          size_t{256}, context, tokens);
      add(variant + "/14of2x64" + size, threads, run_attention, v, KvType::kF16, size_t{14}, size_t{2},
          size_t{64}, context, tokens);
    }
}

void add_recurrence(const Variant* v, size_t threads) {
  const std::string variant(name_of(*v));
  for (const size_t tokens : Sizes{1, 128}) {
    const std::string end = "/" + std::to_string(tokens);
    add("delta_rule/" + variant + "/32of16x128x128" + end, threads, run_delta_rule, v, size_t{16}, size_t{32},
        size_t{128}, size_t{1}, tokens);
    add("delta_rule/" + variant + "/32of32x128x128/decay128" + end, threads, run_delta_rule, v, size_t{32},
        size_t{32}, size_t{128}, size_t{128}, tokens);
    add("short_convolution/" + variant + "/8192x4" + end, threads, run_short_convolution, v, size_t{8192},
        size_t{4}, tokens);
  }
}

void add_elementwise(const Variant* v) {
  const auto one = [&](const char* operation, size_t count, Elementwise function) {
    add(std::string(operation) + "/" + std::string(name_of(*v)) + "/" + std::to_string(count), 1,
        run_elementwise, v, count, function);
  };
  one("rms_norm", 640, [](const Executor& e, std::vector<float>& x, const std::vector<float>& y) {
    rms_norm(e, x.data(), y.data(), 1, x.size(), 1e-6f, false, x.data());
  });
  one("silu_multiply", 4864, [](const Executor& e, std::vector<float>& x, const std::vector<float>& y) {
    silu_multiply(e, x.data(), y.data(), x.size());
  });
  one("gelu_tanh_multiply", 2048, [](const Executor& e, std::vector<float>& x, const std::vector<float>& y) {
    gelu_tanh_multiply(e, x.data(), y.data(), x.size());
  });
  one("argmax", 262144, [](const Executor& e, std::vector<float>& x, const std::vector<float>&) {
    benchmark::DoNotOptimize(argmax(e, x.data(), x.size()));
  });
  one("quantise", 2048, [](const Executor& e, std::vector<float>& x, const std::vector<float>&) {
    Activations prepared;
    prepared.assign(e, x.data(), 1, x.size());
  });
}

const bool kRegistered = [] {
  for (const size_t threads : Sizes{1, 2}) {
    add("memory", threads, run_memory);
    for (const Variant* v : variants()) {
      if (!runs_here(*v)) continue;
      add_products(v, threads);
      add_attention(v, threads);
      add_recurrence(v, threads);
      if (threads == 1) add_elementwise(v);
    }
  }
  return true;
}();

}  // namespace
}  // namespace amphora::kernels
