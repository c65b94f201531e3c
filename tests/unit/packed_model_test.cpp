// Backbones whose matrices are in 4 bits: the same numbers as with the widened values, for adapters the same gradients.

#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/boundary/made.h>
#include <core/io/checkpoint.h>
#include <core/nn/packed_weights.h>
#include <core/nn/recomputed_block.h>
#include <core/nn/transformer.h>

#include <drift/cached_forward.h>
#include <drift/error.h>
#include <drift/parallel.h>

#include <ATen/ops/empty_like.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

namespace drift::packed_model_test {

namespace fs = std::filesystem;
using testing::HasSubstr;

kernels::Nf4 packed(const at::Tensor& weight) {
  bool finite = false;
  return kernels::nf4_pack(weight.detach().contiguous(), true, finite);
}

at::Tensor rounded(const at::Tensor& weight) {
  auto values = at::empty_like(weight.detach()).contiguous();
  kernels::nf4_widen(packed(weight), values);
  return values;
}

class PackedBackbone : public testing::TestWithParam<std::string> {
 protected:
  fs::path folder() const { return test::source_dir() / "tests/golden/data/ckpt" / (GetParam() + "_a"); }

  Made<Model> open_packed(at::ScalarType type) const {
    const ComponentEntry* entry = test::load_plugin(GetParam()).find(ComponentKind::kModel, GetParam());
    ModelConfig config{read_config_json(folder()), type, at::kCPU};
    config.quantization = "nf4";
    auto model = make_from_plugin<Model>(test::host(), *entry, Parameters(entry->params, {}), &config);
    load_parameters(folder(), model->parameters(), [&](const std::string& name, const at::Tensor& weight) {
      capability<nn::PackedWeights>(*model)->pack(name, weight);
    });
    return model;
  }

  /// With the values that the 4 bits stand for.
  Made<Model> open_wide(at::ScalarType type) const {
    auto model = test::open_checkpoint(GetParam(), folder(), type);
    std::set<std::string> names;
    for (const auto& [name, tensor] : open_packed(type)->parameters()) {
      if (tensor.is_meta()) names.insert(name);
    }
    const at::NoGradGuard no_gradient;
    for (const auto& [name, tensor] : model->parameters()) {
      if (names.contains(name)) tensor.copy_(rounded(tensor));
    }
    return model;
  }

  static at::Tensor some_tokens(std::int64_t sequences, std::int64_t length) {
    return (at::arange(sequences * length, at::kLong) * 37 + 11).remainder(200).view({sequences, length});
  }
};

TEST_P(PackedBackbone, ComputesWhatTheWidenedValuesDo) {
  const at::NoGradGuard no_gradient;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto model = open_packed(type), wide = open_wide(type);
    const auto tokens = some_tokens(3, 29), rows = at::arange(3, tokens.numel(), 4, at::kLong);
    EXPECT_TRUE(at::equal(model->forward({tokens, {}, {}}), wide->forward({tokens, {}, {}})));
    EXPECT_TRUE(at::equal(model->forward({tokens, {}, rows}), wide->forward({tokens, {}, rows})));
    const auto original = test::open_checkpoint(GetParam(), folder(), type);
    EXPECT_FALSE(at::equal(model->forward({tokens, {}, {}}), original->forward({tokens, {}, {}})))
        << "nothing was packed";
  }
}

TEST_P(PackedBackbone, ComputesWindowsWithACacheToo) {
  const auto model = open_packed(at::kFloat), wide = open_wide(at::kFloat);
  const auto tokens = some_tokens(2, 24);
  const auto window_of = [&](const Model& one) {
    const auto& cached = *capability<CachedForward>(one);
    const auto cache = cached.make_cache(2, 24);
    cached.forward_window({tokens, {}, {}}, {at::zeros({2}, at::kLong)}, *cache);
    return cached.forward_window({some_tokens(2, 6), {}, {}}, {at::full({2}, 8, at::kLong)}, *cache);
  };
  EXPECT_TRUE(at::equal(window_of(*model), window_of(*wide)));
}

TEST_P(PackedBackbone, SeveralThreadsAtOnceDoNotDisturbEachOther) {
  const at::NoGradGuard no_gradient;
  const auto model = open_packed(at::kFloat);
  const auto tokens = some_tokens(8, 21);
  std::vector<at::Tensor> alone(8), together(8);
  for (std::int64_t b = 0; b < 8; ++b) alone[b] = model->forward({tokens.narrow(0, b, 1), {}, {}});
  parallel_rows(4, 8, [&](std::int64_t, std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) together[b] = model->forward({tokens.narrow(0, b, 1), {}, {}});
  });
  for (std::int64_t b = 0; b < 8; ++b) EXPECT_TRUE(at::equal(alone[b], together[b])) << b;
}

TEST_P(PackedBackbone, KeepsNamesAndShapesAndTrainsNothing) {
  const auto model = open_packed(at::kBFloat16);
  const auto original = test::open_checkpoint(GetParam(), folder());
  const auto parameters = model->parameters(), wanted = original->parameters();
  ASSERT_EQ(parameters.size(), wanted.size());
  std::int64_t packed_ones = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(parameters[i].name, wanted[i].name);
    EXPECT_EQ(parameters[i].tensor.sizes(), wanted[i].tensor.sizes());
    EXPECT_FALSE(parameters[i].tensor.requires_grad()) << wanted[i].name;
    packed_ones += parameters[i].tensor.is_meta();
  }
  EXPECT_EQ(packed_ones, 7 * model->traits().layers);
  EXPECT_FALSE(model->lm_head_VH().is_meta());
  EXPECT_GT(capability<nn::PackedWeights>(*model)->packed_bytes(), 0);
  EXPECT_EQ(capability<nn::PackedWeights>(*original)->packed_bytes(), 0);
}

TEST_P(PackedBackbone, RefusesWhatItCannotPack) {
  const auto model = open_packed(at::kFloat);
  auto& weights = *capability<nn::PackedWeights>(*model);
  const auto refusal = [&](const std::string& name, const at::Tensor& weight) {
    return test::what_of([&] { weights.pack(name, weight); });
  };
  for (const auto& [name, tensor] : model->parameters()) {
    if (!tensor.is_meta()) continue;
    const auto values = at::full(tensor.sizes(), std::numeric_limits<float>::infinity());
    EXPECT_THAT(refusal(name, values), HasSubstr("`" + name + "` has values that are not finite"));
    break;
  }
  EXPECT_THAT(refusal("no.such.weight", at::zeros({2, 2})), HasSubstr("no.such.weight"));
}

INSTANTIATE_TEST_SUITE_P(Families, PackedBackbone, testing::Values("llada", "dream"),
                         [](const auto& info) { return info.param; });

constexpr std::int64_t kHidden = 48, kInner = 80, kHeads = 4, kRank = 3;

nn::Projection projection(std::int64_t out, std::int64_t in, at::ScalarType type) {
  nn::Projection made;
  made.weight = (at::randn({out, in}) * 0.1).to(type);
  made.adapter.a = (at::randn({kRank, in}) * 0.1).to(type).set_requires_grad(true);
  made.adapter.b = (at::randn({out, kRank}) * 0.1).to(type).set_requires_grad(true);
  made.adapter.scale = 0.5;
  return made;
}

nn::BlockWeights block(at::ScalarType type) {
  nn::BlockWeights made;
  made.attention_norm = at::full({kHidden}, 1.0).to(type);
  made.feed_forward_norm = at::full({kHidden}, 1.0).to(type);
  for (auto* one : {&made.q, &made.k, &made.v, &made.attention_out}) *one = projection(kHidden, kHidden, type);
  made.q.bias = at::randn({kHidden}).to(type);
  made.feed_forward.gate = projection(kInner, kHidden, type);
  made.feed_forward.up = projection(kInner, kHidden, type);
  made.feed_forward.down = projection(kHidden, kInner, type);
  return made;
}

TEST(PackedBlock, GivesAdaptersTheGradientsOfTheWidenedValues) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    nn::BlockWeights wide = block(type), four_bits = wide;
    for (nn::Projection* one : projections(wide)) one->weight = rounded(one->weight);
    for (nn::Projection* one : projections(four_bits)) {
      one->packed = std::make_shared<const kernels::Nf4>(packed(one->weight));
      one->weight = at::empty_like(one->weight, at::TensorOptions(at::kMeta));
    }
    const nn::RotaryTable rotary(5, kHidden / kHeads, 10000, at::kFloat);
    const auto input = at::randn({15, kHidden}).to(type).set_requires_grad(true);
    const auto rows = at::arange(0, 15, 2, at::kLong);
    const auto results = [&](nn::BlockWeights& weights, bool recompute) {
      std::vector<at::Tensor> inputs{input};
      for (nn::Projection* one : projections(weights)) inputs.insert(inputs.end(), {one->adapter.a, one->adapter.b});
      const nn::BlockShape shape{kHeads, kHeads, 1e-5};
      const auto output = recompute ? nn::recomputed_block(input, weights, shape, rotary, {}, rows)
                                    : nn::transformer_block(input, weights, shape, rotary, {}, rows);
      const auto incoming = at::arange(output.numel(), at::kFloat).sin().view_as(output).to(type);
      auto found = torch::autograd::grad({output}, inputs, {incoming});
      found.push_back(output);
      return found;
    };
    const auto expected = results(wide, false);
    for (const bool recompute : {false, true}) {
      const auto found = results(four_bits, recompute);
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(at::equal(found[i], expected[i])) << type << " " << i;
    }
  }
}

}  // namespace drift::packed_model_test
