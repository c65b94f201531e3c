// A layer's forward over a clean text and a noisy copy of its response, and its attention alone, against the bare
// matrix products that it needs: of the projections, and of the pairs that the mask lets see each other, no pair more.
//
//   build/release/bench/block_forward_bench [--hidden 1024] [--heads 16] [--kv-heads 8] [--head-dimension 128]
//       [--feed-forward 3072] [--prompt 256] [--response 1024] [--block 4 32] [--dtype float32 bfloat16]
//       [--rounds 9] [--threads 2] [--backward] [--widened]
//
// Both sides take turns; medians of processor time, of all threads. The bare products of the attention are done 64
// queries at a time, which every tile's are, too, with as many keys as those see on average. --backward: forward and
// backward of the attention, bare products of which there are seven, for the scores are computed again. --widened:
// products of bfloat16 in float32, as on processors without AMX.

#include "bench/measure.h"

#include <core/base/threads.h>
#include <core/kernels/product.h>
#include <core/nn/transformer.h>

#include <drift/export.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/bmm.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>
#include <torch/csrc/autograd/autograd.h>

#include <boost/program_options.hpp>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace drift::bench {
namespace {

struct Settings {
  std::int64_t hidden = 0, heads = 0, kv_heads = 0, head_dimension = 0, feed_forward = 0, prompt = 0, response = 0;
  std::int64_t rounds = 0, threads = 0;
  std::vector<std::int64_t> blocks;
  std::vector<std::string> types;
  bool backward = false, widened = false;

  std::int64_t places() const { return prompt + 2 * response; }
};

Settings settings_from(int count, char** arguments) {
  namespace options = boost::program_options;
  Settings settings;
  options::options_description known;
  auto add = known.add_options();
  const auto number = [&](const char* name, std::int64_t& value, std::int64_t by_default) {
    add(name, options::value(&value)->default_value(by_default));
  };
  number("hidden", settings.hidden, 1024);
  number("heads", settings.heads, 16);
  number("kv-heads", settings.kv_heads, 8);
  number("head-dimension", settings.head_dimension, 128);
  number("feed-forward", settings.feed_forward, 3072);
  number("prompt", settings.prompt, 256);
  number("response", settings.response, 1024);
  number("rounds", settings.rounds, 9);
  number("threads", settings.threads, 2);
  add("block", options::value(&settings.blocks)->multitoken()->default_value({4, 32}, "4 32"));
  add("dtype", options::value(&settings.types)->multitoken()->default_value({"float32", "bfloat16"}, "all"));
  add("backward", options::bool_switch(&settings.backward));
  add("widened", options::bool_switch(&settings.widened));
  options::variables_map values;
  options::store(options::parse_command_line(count, arguments, known), values);
  options::notify(values);
  return settings;
}

/// Of the processor: what else runs on the machine hardly shows.
double seconds_of(const std::function<void()>& work) {
  const double before = processor_seconds();
  work();
  return processor_seconds() - before;
}

class Case {
 public:
  Case(const Settings& settings, std::int64_t block, at::ScalarType type) : settings_(settings), type_(type) {
    const auto clean = at::arange(settings.prompt + settings.response, at::kLong).floor_divide(block);
    const auto noisy = clean.narrow(0, settings.prompt, settings.response);
    nn::BlockStructure structure;
    structure.block_BS = at::cat({clean, noisy}).unsqueeze(0);
    structure.copy_BS = at::cat({at::zeros_like(clean), at::zeros_like(noisy) + 1}).unsqueeze(0);
    // A clean query sees its block and those before; a noisy one, which sees its own noisy block, as many.
    for (const auto& queries : {clean, noisy})
      pairs_ += ((queries + 1) * block).clamp_max(clean.size(0)).sum().item<std::int64_t>();
    plan_seconds_ = seconds_of([&] {
      mask_.tiles = nn::plan_tiles(structure, {}, settings.places(), {settings.heads, settings.head_dimension, type});
    });
    for (const auto& tile : mask_.tiles->tiles) computed_ += (tile.queries.end - tile.queries.first) * tile.columns;
    rotary_ = nn::RotaryTable(settings.places(), settings.head_dimension, 1e6, at::TensorOptions(at::kFloat));
    make_weights();
    q_ = random({1, settings.heads, settings.places(), settings.head_dimension});
    k_ = random({1, settings.kv_heads, settings.places(), settings.head_dimension});
    v_ = random(k_.sizes());
    x_ = random({settings.places(), settings.hidden});
  }

  void measure(const std::string& name) {
    std::vector<double> layer, products, attention, bare;
    for (std::int64_t round = -1; round < settings_.rounds; ++round) {
      const double of_bare = seconds_of([&] { bare_attention(); });
      const double of_attention = seconds_of([&] { tiled(); });
      const double of_products = seconds_of([&] { projections_alone(); });
      const double of_layer = seconds_of([&] { block_forward(); });
      if (round < 0) continue;  // the first warms up
      bare.push_back(of_bare), attention.push_back(of_attention);
      products.push_back(of_products + of_bare), layer.push_back(of_layer);
    }
    const auto line = [&](const char* what, const std::vector<double>& ours, const std::vector<double>& needed) {
      const Spread a = spread(ours), b = spread(needed);
      std::printf("%-22s %-10s %8.2f ms (%.2f to %.2f)   products %8.2f ms   ratio %.3f\n", name.c_str(), what,
                  1e3 * a.median, 1e3 * a.low, 1e3 * a.high, 1e3 * b.median, a.median / b.median);
    };
    if (!settings_.backward) line("layer", layer, products);
    line(settings_.backward ? "backward" : "attention", attention, bare);
    std::printf("%-22s pairs computed / seen %.3f, tiles %zu, planned in %.2f ms\n", name.c_str(),
                static_cast<double>(computed_) / static_cast<double>(pairs_), mask_.tiles->tiles.size(),
                1e3 * plan_seconds_);
    std::fflush(stdout);
  }

 private:
  at::Tensor random(at::IntArrayRef sizes) const { return at::randn(sizes).to(type_); }

  void make_weights() {
    const std::int64_t width = settings_.heads * settings_.head_dimension,
                       kv_width = settings_.kv_heads * settings_.head_dimension;
    const auto matrix = [&](nn::Projection& projection, std::int64_t out, std::int64_t in) {
      projection.weight = random({out, in}) * 0.02;
    };
    weights_.attention_norm = at::ones({settings_.hidden}, type_);
    weights_.feed_forward_norm = at::ones({settings_.hidden}, type_);
    weights_.query_norm = weights_.key_norm = at::ones({settings_.head_dimension}, type_);
    matrix(weights_.q, width, settings_.hidden), matrix(weights_.k, kv_width, settings_.hidden);
    matrix(weights_.v, kv_width, settings_.hidden), matrix(weights_.attention_out, settings_.hidden, width);
    matrix(weights_.feed_forward.gate, settings_.feed_forward, settings_.hidden);
    matrix(weights_.feed_forward.up, settings_.feed_forward, settings_.hidden);
    matrix(weights_.feed_forward.down, settings_.hidden, settings_.feed_forward);
  }

  void block_forward() const {
    const at::NoGradGuard no_gradient;
    nn::transformer_block(x_, weights_, {settings_.heads, settings_.kv_heads, 1e-6}, rotary_, mask_, {});
  }

  void projections_alone() const {
    const at::NoGradGuard no_gradient;
    for (const auto* projection : nn::projections(weights_)) {
      const std::int64_t in = projection->weight.size(1);
      kernels::product(in == settings_.hidden ? x_ : inputs_of(in), projection->weight);
    }
  }

  const at::Tensor& inputs_of(std::int64_t width) const {
    at::Tensor& made = inputs_[width];
    if (!made.defined()) made = random({settings_.places(), width});
    return made;
  }

  void tiled() const {
    if (!settings_.backward) {
      const at::NoGradGuard no_gradient;
      nn::attention(q_, k_, v_, mask_);
      return;
    }
    std::vector<at::Tensor> leaves;
    for (const auto& one : {q_, k_, v_}) leaves.push_back(one.detach().set_requires_grad(true));
    const auto out = nn::attention(leaves[0], leaves[1], leaves[2], mask_);
    torch::autograd::grad({out}, leaves, {at::zeros_like(out)});
  }

  void bare_attention() const {
    const at::NoGradGuard no_gradient;
    const std::int64_t shared = settings_.heads / settings_.kv_heads, queries = std::max<std::int64_t>(64 / shared, 1);
    const std::int64_t keys = pairs_ / settings_.places();
    const auto part = [&](const at::Tensor& x, std::int64_t count) {
      return x.select(0, 0).narrow(1, 0, count).contiguous();
    };
    const auto q = part(q_.view({1, settings_.kv_heads, -1, settings_.head_dimension}), queries * shared);
    const auto k = part(k_, keys), v = part(v_, keys);
    auto scores = at::bmm(q, k.transpose(1, 2)), out = at::bmm(scores, v);
    auto of_keys = settings_.backward ? at::bmm(scores.transpose(1, 2), q) : at::Tensor();
    for (std::int64_t first = 0; first < settings_.places(); first += queries) {
      at::bmm_out(scores, q, k.transpose(1, 2));
      at::bmm_out(out, scores, v);
      if (!settings_.backward) continue;
      at::bmm_out(scores, q, k.transpose(1, 2));
      at::bmm_out(scores, q, v.transpose(1, 2));
      at::bmm_out(of_keys, scores.transpose(1, 2), q);
      at::bmm_out(of_keys, scores.transpose(1, 2), q);
      at::bmm_out(out, scores, k);
    }
  }

  const Settings& settings_;
  at::ScalarType type_;
  nn::AttentionMask mask_;
  nn::RotaryTable rotary_;
  nn::BlockWeights weights_;
  at::Tensor q_, k_, v_, x_;
  mutable std::map<std::int64_t, at::Tensor> inputs_;
  std::int64_t pairs_ = 0, computed_ = 0;
  double plan_seconds_ = 0;
};

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int count, char** arguments) {
  const auto settings = drift::bench::settings_from(count, arguments);
  drift::use_threads(settings.threads);
  using enum drift::kernels::Bfloat16Products;
  if (settings.widened) drift::kernels::use_bfloat16_products(kWidened);
  for (const auto& type : settings.types) {
    for (const std::int64_t block : settings.blocks) {
      drift::bench::Case(settings, block, type == "bfloat16" ? at::kBFloat16 : at::kFloat)
          .measure(type + ", block " + std::to_string(block));
    }
  }
  return 0;
}
