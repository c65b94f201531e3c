// Every fused kernel against its reference in plain tensor operations: values and gradients.

#include <core/kernels/rms_norm.h>
#include <core/kernels/rotary.h>
#include <core/kernels/swiglu.h>
#include <core/nn/attention.h>
#include <core/nn/transformer.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <torch/csrc/autograd/autograd.h>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace drift {
namespace {

using Function = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

at::Tensor leaf(at::IntArrayRef shape) { return at::randn(shape).set_requires_grad(true); }

std::vector<at::Tensor> gradients(const Function& function, const std::vector<at::Tensor>& inputs,
                                  const at::Tensor& weight) {
  return torch::autograd::grad({(function(inputs) * weight).sum()}, inputs);
}

void expect_same(const Function& fused, const Function& reference, const std::vector<at::Tensor>& inputs) {
  const auto value = fused(inputs), expected = reference(inputs);
  ASSERT_EQ(value.sizes(), expected.sizes());
  EXPECT_TRUE(at::allclose(value, expected, 1e-5, 1e-5));
  const auto weight = at::randn(value.sizes());
  const auto got = gradients(fused, inputs, weight), want = gradients(reference, inputs, weight);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(at::allclose(got[i], want[i], 1e-4, 1e-4)) << "gradient of input " << i;
}

TEST(RmsNorm, EqualsItsReference) {
  for (const std::int64_t width : {7, 64, 192}) {
    expect_same([](const auto& in) { return kernels::rms_norm(in[0], in[1], 1e-5); },
                [](const auto& in) { return kernels::rms_norm_reference(in[0], in[1], 1e-5); },
                {leaf({33, width}), leaf({width})});
  }
}

TEST(SwiGlu, EqualsItsReference) {
  expect_same([](const auto& in) { return kernels::swiglu(in[0], in[1]); },
              [](const auto& in) { return kernels::swiglu_reference(in[0], in[1]); }, {leaf({17, 50}), leaf({17, 50})});
}

TEST(SwiGlu, SurvivesExtremeGatesAndPassesNanOn) {
  const auto gate = at::full({4}, 200.0f);
  gate[1] = -200.0f;
  gate[2] = 0.0f;
  gate[3] = std::nanf("");
  const auto y = kernels::swiglu(gate, at::ones({4}));
  EXPECT_EQ(y[0].item<float>(), 200.0f);
  EXPECT_NEAR(y[1].item<float>(), 0.0f, 1e-30);
  EXPECT_EQ(y[2].item<float>(), 0.0f);
  EXPECT_TRUE(std::isnan(y[3].item<float>()));
}

TEST(RotateHeads, EqualsItsReference) {
  const nn::RotaryTable table(5, 8, 10000, at::kCPU);
  expect_same(
      [&](const auto& in) { return kernels::rotate_heads(in[0], table.cosine_SD2, table.sine_SD2, 3); },
      [&](const auto& in) { return kernels::rotate_heads_reference(in[0], table.cosine_SD2, table.sine_SD2, 3); },
      {leaf({4 * 5, 3 * 8})});
}

TEST(RotateHeads, KeepsLengthsAndSeesOnlyDifferencesOfPositions) {
  const nn::RotaryTable table(9, 8, 10000, at::kCPU);
  const auto x = at::randn({1, 8}).expand({9, 8}).contiguous();
  const auto turned = kernels::rotate_heads(x, table.cosine_SD2, table.sine_SD2, 1).view({9, 8});
  EXPECT_NEAR(turned[7].norm().item<float>(), x[7].norm().item<float>(), 1e-5);
  EXPECT_NEAR(turned[1].dot(turned[4]).item<float>(), turned[5].dot(turned[8]).item<float>(), 1e-5);
}

TEST(Attention, ShortSequencesEqualTheBlockedKernel) {
  const auto reference = [](const auto& in) {
    return at::scaled_dot_product_attention(in[0], in[1].repeat_interleave(2, 1), in[2].repeat_interleave(2, 1))
        .transpose(1, 2)
        .reshape({3 * 11, 4 * 8});
  };
  expect_same([](const auto& in) { return nn::attention(in[0], in[1], in[2], {}); }, reference,
              {leaf({3, 4, 11, 8}), leaf({3, 2, 11, 8}), leaf({3, 2, 11, 8})});
}

TEST(Attention, MaskedKeysDoNotMatterShortOrLong) {
  for (const std::int64_t length : {12, 160}) {
    const auto q = at::randn({2, 2, length, 8}), k = at::randn({2, 2, length, 8}), v = at::randn({2, 2, length, 8});
    auto mask = at::ones({2, length}, at::kBool);
    mask[1].narrow(0, 0, 5).fill_(false);
    const auto masked = nn::attention(q, k, v, mask).view({2, length, 16});
    const auto alone =
        nn::attention(q.narrow(0, 1, 1).narrow(2, 5, length - 5), k.narrow(0, 1, 1).narrow(2, 5, length - 5),
                      v.narrow(0, 1, 1).narrow(2, 5, length - 5), {});
    EXPECT_TRUE(at::allclose(masked[1].narrow(0, 5, length - 5), alone, 1e-5, 1e-5)) << length;
  }
}

}  // namespace
}  // namespace drift
