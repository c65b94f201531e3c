// How much of a large model's forward and backward the matrix products and attentions need: a stack of transformer
// blocks, by default of the proportions of an 8 B model, against the bare products and attentions of the same shapes,
// on the same threads, in one process, in turn; then the rest, part by part.
//
//   build/release/bench/block_bench [--types float32 bfloat16] [--layers 1] [--sequences 2] [--tokens 384]
//                                   [--threads 2] [--rounds 7] [--hidden 4096] [--heads 32] [--inner 12288]
//
// Numbers are medians with quartiles; a difference of medians is marked as such.

#include "bench/measure.h"
#include "bench/parts.h"
#include "bench/recipe.h"

#include <core/base/threads.h>
#include <core/nn/transformer.h>

#include <drift/export.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <boost/program_options.hpp>

#include <cstdio>
#include <stdexcept>

namespace drift::bench {
namespace {

struct Settings {
  std::vector<std::string> types;
  ModelShape shape;
  ForwardSize size;
  int threads = 0, rounds = 0;
};

Settings settings_from(int count, char** arguments) {
  namespace options = boost::program_options;
  Settings settings;
  options::options_description known;
  auto add = known.add_options();
  add("types", options::value(&settings.types)->multitoken()->default_value({"float32", "bfloat16"}, "both"));
  add("layers", options::value(&settings.shape.layers)->default_value(1));
  add("hidden", options::value(&settings.shape.hidden)->default_value(4096));
  add("heads", options::value(&settings.shape.heads)->default_value(32));
  add("inner", options::value(&settings.shape.inner)->default_value(12288));
  add("sequences", options::value(&settings.size.sequences)->default_value(2));
  add("tokens", options::value(&settings.size.tokens)->default_value(384));
  add("threads", options::value(&settings.threads)->default_value(2));
  add("rounds", options::value(&settings.rounds)->default_value(7));
  options::variables_map values;
  options::store(options::parse_command_line(count, arguments, known), values);
  options::notify(values);
  settings.size.rows = settings.size.sequences * settings.size.tokens;
  return settings;
}

at::ScalarType type_named(const std::string& name) {
  if (name == "float32") return at::kFloat;
  if (name == "bfloat16") return at::kBFloat16;
  throw std::runtime_error("unknown type `" + name + "`: float32, bfloat16");
}

/// The blocks as a backbone has them.
class Stack {
 public:
  Stack(const ModelShape& shape, const ForwardSize& size)
      : shape_{.heads = shape.heads, .kv_heads = shape.heads, .norm_epsilon = 1e-5},
        table_(size.tokens, shape.dimension(), 500000.0, at::kFloat),
        x_(parameter(at::randn({size.rows, shape.hidden}).to(shape.type))),
        gradient_(at::randn({size.rows, shape.hidden}).to(shape.type)) {
    const auto weight = [&](std::int64_t out, std::int64_t in) {
      return parameter(random_weight(out, in, shape.type));
    };
    const auto ones = [&] { return parameter(at::ones({shape.hidden}, shape.type)); };
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      nn::BlockWeights block;
      block.attention_norm = ones();
      block.q.weight = weight(shape.hidden, shape.hidden);
      block.k.weight = weight(shape.hidden, shape.hidden);
      block.v.weight = weight(shape.hidden, shape.hidden);
      block.attention_out.weight = weight(shape.hidden, shape.hidden);
      block.feed_forward_norm = ones();
      block.gate.weight = weight(shape.inner, shape.hidden);
      block.up.weight = weight(shape.inner, shape.hidden);
      block.down.weight = weight(shape.hidden, shape.inner);
      blocks_.push_back(block);
    }
  }

  at::Tensor forward() const {
    at::Tensor x = x_;
    for (const auto& block : blocks_) x = nn::transformer_block(x, block, shape_, table_, {}, {});
    return x;
  }

  void forward_backward() const { torch::autograd::grad({forward()}, parameters_, {gradient_}); }

 private:
  at::Tensor parameter(at::Tensor tensor) {
    parameters_.push_back(tensor.set_requires_grad(true));
    return tensor;
  }

  std::vector<at::Tensor> parameters_;  // and the input: a block below has a backward too
  nn::BlockShape shape_;
  nn::RotaryTable table_;
  at::Tensor x_, gradient_;
  std::vector<nn::BlockWeights> blocks_;
};

void report(const Measurement& measured, const std::vector<std::string>& parts) {
  const double whole = measured.milliseconds("stack").median;
  print_yardsticks(measured, "stack", {"bare"});
  print_yardsticks(measured, "stack, forward alone", {"bare, forward alone"});
  std::printf("\nwhere the stack's time goes (each part run alone; forward and backward)\n");
  const double known = print_shares(measured, {"  products"}, whole) + print_shares(measured, parts, whole);
  print_line("  rest: graph, allocation, dispatch, caches", whole - known, whole);
}

void measure(const Settings& settings, const std::string& type) {
  ModelShape shape = settings.shape;
  shape.type = type_named(type);
  const ForwardSize& size = settings.size;
  std::printf("\n== %s ==\n", type.c_str());
  std::fflush(stdout);
  const Stack stack(shape, size);
  const BareModel bare(shape, size.rows);
  const Parts parts(shape, size.tokens, size.rows);
  const auto without_gradient = [](const std::string& name, const std::function<void()>& body) {
    return Case{name, [body] {
                  const at::NoGradGuard no_gradient;
                  body();
                }};
  };
  std::vector<Case> cases{
      {"stack", [&] { stack.forward_backward(); }},
      without_gradient("bare", [&] { bare.forward_backward(size, Attention::kScaledDotProduct); }),
      without_gradient("stack, forward alone", [&] { stack.forward(); }),
      without_gradient("bare, forward alone", [&] { bare.forward(size, Attention::kScaledDotProduct); }),
      without_gradient("  products", [&] { bare.forward_backward(size, Attention::kNone); })};
  const Work work{{size}};
  const auto part_cases = parts.cases(work);
  cases.insert(cases.end(), part_cases.begin(), part_cases.end());
  report(Measurement(cases, settings.rounds), names_of(part_cases));
}

void run(int count, char** arguments) {
  const Settings settings = settings_from(count, arguments);
  use_threads(settings.threads);
  const ModelShape& shape = settings.shape;
  std::printf(
      "%lld layers, hidden %lld, heads %lld, inner %lld; %lld sequences of %lld tokens; %d threads, %d rounds\n",
      static_cast<long long>(shape.layers), static_cast<long long>(shape.hidden), static_cast<long long>(shape.heads),
      static_cast<long long>(shape.inner), static_cast<long long>(settings.size.sequences),
      static_cast<long long>(settings.size.tokens), settings.threads, settings.rounds);
  for (const std::string& type : settings.types) measure(settings, type);
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) { return drift::bench::guarded(drift::bench::run, count, arguments); }
