// Products of bfloat16 matrices give the same whether they are LibTorch's or widened to float32: up to the rounding of
// each sum. So do their gradients.

#include "tests/support/tensors.h"

#include <core/kernels/product.h>

#include <drift/parallel.h>

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <gmock/gmock.h>

#include <tuple>

namespace drift::kernels::product_test {
namespace {

constexpr auto kWidened = Bfloat16Products::kWidened;

struct WidenedProducts {
  WidenedProducts() { use_bfloat16_products(kWidened); }
  ~WidenedProducts() { use_bfloat16_products(before); }
  const Bfloat16Products before = bfloat16_products();
};

at::Tensor random(at::IntArrayRef sizes, at::ScalarType type = at::kBFloat16) {
  return at::randn(sizes, at::TensorOptions(at::kFloat)).to(type);
}

/// Within half a unit in the last place of bfloat16 of what float64 computes, but for float32's own error.
void expect_rounded(const at::Tensor& found, const at::Tensor& exact) {
  ASSERT_EQ(found.sizes(), exact.sizes());
  const auto allowed = exact.abs() / 250 + 1e-3;
  EXPECT_TRUE(((found.to(at::kDouble) - exact).abs() <= allowed).all().item<bool>())
      << (found.to(at::kDouble) - exact).abs().max().item<double>();
}

/// Rows of x, rows and columns of the weight.
class Product : public testing::TestWithParam<std::tuple<std::int64_t, std::int64_t, std::int64_t>> {
 protected:
  const std::int64_t m = std::get<0>(GetParam()), n = std::get<1>(GetParam()), k = std::get<2>(GetParam());
  const WidenedProducts widened;
  const at::Tensor x = random({m, k}), weight = random({n, k}), gradient = random({m, n});
  const at::Tensor wide_x = x.to(at::kDouble), wide_weight = weight.to(at::kDouble),
                   wide_gradient = gradient.to(at::kDouble);
};

TEST_P(Product, IsRoundedOnce) { expect_rounded(product(x, weight), wide_x.mm(wide_weight.t())); }

TEST_P(Product, AddsARowOrAMatrix) {
  const auto bias = random({n}), residual = random({m, n});
  expect_rounded(product(x, weight, bias), wide_x.mm(wide_weight.t()) + bias.to(at::kDouble));
  expect_rounded(product(x, weight, residual), wide_x.mm(wide_weight.t()) + residual.to(at::kDouble));
}

TEST_P(Product, HasTheGradientsOfTheNativeOne) {
  const auto inputs = [&] {
    std::vector<at::Tensor> leaves{x.clone(), weight.clone(), random({n})};
    for (auto& leaf : leaves) leaf.set_requires_grad(true);
    return leaves;
  }();
  const auto out = product(inputs[0], inputs[1], inputs[2]);
  const auto found = torch::autograd::grad({out}, inputs, {gradient});
  expect_rounded(found[0], wide_gradient.mm(wide_weight));
  expect_rounded(found[1], wide_gradient.t().mm(wide_x));
  EXPECT_LT((found[2] - gradient.sum(0)).abs().max().item<double>(), 1e-6);
}

TEST_P(Product, GradientOfAWeightIsAddedInFloat32) {
  const auto sum = random({n, k}, at::kFloat), before = sum.clone();
  weight_gradient_out(sum, gradient, x, /*add=*/true);
  const auto exact = before.to(at::kDouble) + wide_gradient.t().mm(wide_x);
  EXPECT_LT(((sum.to(at::kDouble) - exact).abs() / (1 + exact.abs())).max().item<double>(), 1e-4);
}

TEST_P(Product, TakesSlices) {
  const auto many = random({n + 5, k}), wide_out = at::zeros({m, n + 9}, x.options());
  auto out = wide_out.narrow(1, 4, n);
  product_out(out, x, many.narrow(0, 2, n));
  expect_rounded(out, wide_x.mm(many.narrow(0, 2, n).to(at::kDouble).t()));
  EXPECT_EQ(wide_out.narrow(1, 0, 4).abs().sum().item<double>(), 0);
  EXPECT_EQ(wide_out.narrow(1, n + 4, 5).abs().sum().item<double>(), 0);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Product,
                         testing::Values(std::tuple{1, 1, 1}, std::tuple{1, 300, 70}, std::tuple{7, 33, 65},
                                         std::tuple{64, 100, 31}, std::tuple{65, 17, 4099}, std::tuple{3, 9000, 40},
                                         std::tuple{1100, 40, 24}));

TEST(Products, AreThoseThatARunAsksFor) {
  const auto x = random({300, 700}), weight = random({90, 700});
  const WidenedProducts widened;
  const auto in_float32 = product(x, weight);
  use_bfloat16_products(Bfloat16Products::kNative);
  EXPECT_TRUE(product(x, weight).equal(at::mm(x, weight.t())));
  const auto exact = x.to(at::kDouble).mm(weight.to(at::kDouble).t());
  expect_rounded(in_float32, exact);
  expect_rounded(product(x, weight), exact);
}

TEST(Products, DoNotDependOnTheThreads) {
  const WidenedProducts widened;
  const int before = at::get_num_threads();
  for (const std::int64_t rows : {1, 3, 8, 90}) {
    for (const auto& [columns, width] : {std::pair{5000, 130}, {70, 9000}, {4096, 1024}}) {
      const auto x = random({rows, width}), weight = random({columns, width});
      at::set_num_threads(1);
      const auto one = product(x, weight);
      at::set_num_threads(2);
      const auto two = product(x, weight);
      EXPECT_TRUE(one.equal(two)) << rows << " rows, " << columns << " x " << width;
    }
  }
  at::set_num_threads(before);
}

TEST(Products, OfRowsThatThreadsShareAreThoseOfOneThread) {
  const int before = at::get_num_threads();
  for (const auto& [rows, columns, width] : {std::tuple{6, 256, 1024}, {16, 256, 1024}, {180, 16, 9000}}) {
    const auto x = random({rows, width}, at::kFloat), weight = random({columns, width}, at::kFloat);
    const auto half = x.size(0) / 2;
    at::set_num_threads(1);
    const auto first = product(x.narrow(0, 0, half), weight), second = product(x.narrow(0, half, half), weight);
    at::set_num_threads(2);
    parallel_rows(2, x.size(0), [&](std::int64_t worker, std::int64_t begin, std::int64_t end) {
      const at::NoGradGuard no_gradient;
      EXPECT_TRUE(product(x.narrow(0, begin, end - begin), weight).equal(worker == 0 ? first : second)) << width;
    });
  }
  at::set_num_threads(before);
}

TEST(Products, OfFrozenWeightsComputeNoGradientForThem) {
  const WidenedProducts widened;
  const auto x = random({4, 8}).set_requires_grad(true), weight = random({6, 8});
  const auto out = product(x, weight);
  out.sum().backward();
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(weight.grad().defined());
}

// LibTorch multiplies few rows with a large matrix more slowly than the other way around.
TEST(Products, OfFewRowsInFloat32) {
  const auto x = random({20, 700}, at::kFloat), weight = random({600, 700}, at::kFloat);
  const auto bias = random({600}, at::kFloat), residual = random({20, 600}, at::kFloat);
  const auto exact = x.to(at::kDouble).mm(weight.to(at::kDouble).t());
  const auto expect_near = [&](const at::Tensor& found, const at::Tensor& expected) {
    EXPECT_TRUE(found.is_contiguous());
    EXPECT_LT((found.to(at::kDouble) - expected).abs().max().item<double>(), 1e-3);
  };
  expect_near(product(x, weight), exact);
  expect_near(product(x, weight, bias), exact + bias.to(at::kDouble));
  expect_near(product(x, weight, residual), exact + residual.to(at::kDouble));
}

}  // namespace
}  // namespace drift::kernels::product_test
