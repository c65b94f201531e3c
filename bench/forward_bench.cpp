// Parts of the forward against what they replace: attention as three plain calls against scaled_dot_product_attention
// for growing sequences (where kShortSequence and kShortSequenceOfBfloat16 of core/nn/attention.cpp come from), and the
// fused kernels against their reference in plain tensor operations; each forward alone and forward with backward.
//
//   OMP_NUM_THREADS=1 build/release/bench/forward_bench [--benchmark_filter=attention] [--benchmark_repetitions=9]
//
// One thread, because the workers of a small model run every operation on one thread each. Arguments of `attention`:
// sequence length, head dimension, queries of each sequence; 4 heads, 4096 tokens of keys in all. The kernels: 4096
// rows of width 64 (SwiGLU: 192), of float32 or bfloat16 (`bits`). `product`: M rows times the transpose of one of
// twelve 3072 x 1024 matrices in turn, so that they come from memory, against LibTorch's own product; with all threads.
// `loss`: RLDF's of 8 views of 256 positions, as a training step calls it; tests/python/speed.py compares it with
// Python.

#include <core/base/component_host.h>
#include <core/boundary/checked.h>
#include <core/boundary/made.h>
#include <core/kernels/product.h>
#include <core/kernels/transformer_ops.h>
#include <core/nn/transformer.h>
#include <core/plugin/plugin_loader.h>
#include <core/update/update_batch.h>

#include <drift/export.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <benchmark/benchmark.h>

#include <cmath>
#include <functional>
#include <vector>

namespace drift::bench {
namespace {

constexpr std::int64_t kTokens = 4096, kHeads = 4, kWidth = 64, kInner = 192, kSequence = 41;

using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

void forward(benchmark::State& state, const std::vector<at::Tensor>& inputs, const Function& function) {
  const at::NoGradGuard no_gradient;
  for (auto _ : state) benchmark::DoNotOptimize(function(inputs));
}

void forward_backward(benchmark::State& state, const std::vector<at::Tensor>& inputs, const Function& function) {
  std::vector<at::Tensor> leaves;
  for (const auto& input : inputs) leaves.push_back(input.detach().clone().set_requires_grad(true));
  const auto gradient = at::ones_like(function(leaves));
  for (auto _ : state) benchmark::DoNotOptimize(torch::autograd::grad({function(leaves)}, leaves, {gradient}));
}

at::Tensor random(const benchmark::State& state, at::IntArrayRef sizes) {
  return at::randn(sizes).to(state.range(0) == 16 ? at::kBFloat16 : at::kFloat);
}

at::Tensor scaled_dot_product(const std::vector<at::Tensor>& in) {
  return at::scaled_dot_product_attention(in[0], in[1], in[2]);
}
at::Tensor three_calls(const std::vector<at::Tensor>& in) {
  const auto flat = [](const at::Tensor& t) { return t.reshape({t.size(0) * t.size(1), t.size(2), t.size(3)}); };
  const double scale = 1.0 / std::sqrt(static_cast<double>(in[0].size(3)));
  const auto none = at::empty({1, 1, 1}, in[0].options());
  const auto scores = at::baddbmm(none, flat(in[0]), flat(in[1]).transpose(1, 2), 0, scale);
  return at::bmm(at::softmax(scores, -1), flat(in[2])).view(in[0].sizes());
}

template <auto measure, auto function>
void attention(benchmark::State& state) {
  const std::int64_t keys = state.range(1), dimension = state.range(2), queries = state.range(3),
                     batch = kTokens / keys;
  const auto q = random(state, {batch, kHeads, queries, dimension});
  const std::vector<std::int64_t> sizes = {batch, kHeads, keys, dimension};
  measure(state, {q, random(state, sizes), random(state, sizes)}, function);
}

void lengths(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t dimension : {16, 64}) {
    for (const std::int64_t keys : {16, 32, 41, 64, 96, 128, 160, 192, 256})
      benchmark->Args({32, keys, dimension, keys});
  }
  for (const std::int64_t dimension : {64, 128}) {
    for (const std::int64_t keys : {64, 128, 256, 384, 512, 1024, 2048}) {
      for (const std::int64_t queries : {std::int64_t{32}, keys}) benchmark->Args({16, keys, dimension, queries});
    }
  }
  benchmark->ArgNames({"bits", "S", "D", "Q"})->UseRealTime();
}

BENCHMARK(attention<forward, scaled_dot_product>)->Apply(lengths);
BENCHMARK(attention<forward, three_calls>)->Apply(lengths);
BENCHMARK(attention<forward_backward, scaled_dot_product>)->Apply(lengths);
BENCHMARK(attention<forward_backward, three_calls>)->Apply(lengths);

template <auto measure, auto norm>
void rms_norm(benchmark::State& state) {
  measure(state, {random(state, {kTokens, kWidth}), random(state, {kWidth})}, [](const std::vector<at::Tensor>& in) {
    return norm(in[0], in[1], 1e-5, kernels::NormWeight::kAfterRounding);
  });
}

constexpr auto rotate_heads = [](const auto&... of_heads) { return kernels::rotate_heads(of_heads...); };

template <auto measure, auto rotate>
void rotary(benchmark::State& state) {
  const nn::RotaryTable table(kSequence, kWidth / kHeads, 10000.0, at::kFloat);
  measure(state, {random(state, {kTokens / kSequence * kSequence, kWidth})},
          [&](const std::vector<at::Tensor>& in) { return rotate(in[0], table.cosine_SD2, table.sine_SD2, kHeads); });
}

template <auto measure, auto activate>
void swiglu(benchmark::State& state) {
  measure(state, {random(state, {kTokens, kInner}), random(state, {kTokens, kInner})},
          [](const std::vector<at::Tensor>& in) { return activate(in[0], in[1]); });
}

void types(benchmark::internal::Benchmark* benchmark) { benchmark->ArgName("bits")->Arg(32)->Arg(16)->UseRealTime(); }

BENCHMARK(rms_norm<forward, kernels::rms_norm>)->Apply(types);
BENCHMARK(rms_norm<forward, kernels::rms_norm_reference>)->Apply(types);
BENCHMARK(rms_norm<forward_backward, kernels::rms_norm>)->Apply(types);
BENCHMARK(rms_norm<forward_backward, kernels::rms_norm_reference>)->Apply(types);
BENCHMARK(rotary<forward, rotate_heads>)->Apply(types);
BENCHMARK(rotary<forward, kernels::rotate_heads_reference>)->Apply(types);
BENCHMARK(rotary<forward_backward, rotate_heads>)->Apply(types);
BENCHMARK(rotary<forward_backward, kernels::rotate_heads_reference>)->Apply(types);
BENCHMARK(swiglu<forward, kernels::swiglu>)->Apply(types);
BENCHMARK(swiglu<forward, kernels::swiglu_reference>)->Apply(types);
BENCHMARK(swiglu<forward_backward, kernels::swiglu>)->Apply(types);
BENCHMARK(swiglu<forward_backward, kernels::swiglu_reference>)->Apply(types);

at::Tensor libtorch_product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor&) {
  return at::mm(x, weight.t());
}

template <auto measure, auto multiply>
void product(benchmark::State& state) {
  std::vector<at::Tensor> weights;
  for (int i = 0; i < 12; ++i) weights.push_back(random(state, {3072, 1024}));
  std::size_t turn = 0;
  measure(state, {random(state, {state.range(1), 1024}), weights[0]}, [&](const std::vector<at::Tensor>& in) {
    if constexpr (measure == forward_backward) return multiply(in[0], in[1], {});
    return multiply(in[0], weights[turn++ % weights.size()], {});
  });
}

void rows(benchmark::internal::Benchmark* benchmark, std::initializer_list<std::int64_t> counts) {
  for (const std::int64_t bits : {32, 16}) {
    for (const std::int64_t count : counts) benchmark->Args({bits, count});
  }
  benchmark->ArgNames({"bits", "M"})->UseRealTime();
}
void few_and_many(benchmark::internal::Benchmark* benchmark) { rows(benchmark, {4, 8, 16, 32, 64, 128, 512}); }
void many(benchmark::internal::Benchmark* benchmark) { rows(benchmark, {512}); }

BENCHMARK(product<forward, kernels::product>)->Apply(few_and_many);
BENCHMARK(product<forward, libtorch_product>)->Apply(few_and_many);
BENCHMARK(product<forward_backward, kernels::product>)->Apply(many);
BENCHMARK(product<forward_backward, libtorch_product>)->Apply(many);

template <auto measure>
void loss(benchmark::State& state) {
  constexpr std::int64_t kViews = 8, kLength = 256;
  Registry registry;
  PluginLoader loader(registry);
  for (const SearchPath& folder : plugin_search_paths({}, std::filesystem::read_symlink("/proc/self/exe")))
    loader.load_folder(folder);
  RunHost host(registry);
  const ComponentEntry& entry = *registry.find(ComponentKind::kLossEstimator, "rldf");
  const auto made = make_from_plugin<LossEstimator>(host, entry, Parameters(entry.params));
  LossInput input;
  input.plan.response_F = at::arange(kViews);
  input.plan.term_F = at::zeros({kViews}, at::kLong);
  input.plan.masked_FL = input.plan.target_FL = input.valid_BL = at::ones({kViews, kLength}, at::kBool);
  input.plan.terms = 1;
  input.advantage_B = at::randn({kViews});
  const auto current_FL = at::randn({kViews, kLength}).abs().neg();
  input.log_probs.old_FL = input.log_probs.reference_FL = current_FL - 0.1;
  measure(state, {current_FL}, [&](const std::vector<at::Tensor>& in) {
    input.log_probs.current_FL = in[0];
    input.totals = batch_totals(input.plan, kViews, 4, 1);
    input.scored_B = scored_positions(input.plan, kViews);
    return checked_loss(*made, input).value;
  });
}
BENCHMARK(loss<forward>);
BENCHMARK(loss<forward_backward>);

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) {
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
