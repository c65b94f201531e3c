// One projection with a low-rank adapter: what it computes, its gradients, and what it leaves out in training.

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/nn/adapted_product.h>
#include <core/nn/dropout.h>
#include <core/nn/projection.h>

#include <ATen/ops/mm.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace drift::nn::adapter_projection_test {
namespace {

constexpr std::int64_t kTokens = 5, kIn = 7, kOut = 6, kRank = 2;

at::Tensor numbers(std::int64_t rows, std::int64_t columns, double phase) {
  return (at::arange(rows * columns, at::kDouble) * 1.7 + phase).sin().view({rows, columns});
}

class AdaptedProjection : public testing::Test {
 protected:
  AdaptedProjection() {
    projection_.weight = numbers(kOut, kIn, 0.1);
    projection_.bias = numbers(1, kOut, 0.2).squeeze(0);
    projection_.adapter = {numbers(kRank, kIn, 0.3).set_requires_grad(true),
                           numbers(kOut, kRank, 0.4).set_requires_grad(true), 1.5, 0.25, 77};
  }

  /// W + scale B A.
  at::Tensor dense_weight() const {
    return projection_.weight + projection_.adapter.scale * at::mm(projection_.adapter.b, projection_.adapter.a);
  }

  std::vector<at::Tensor> gradients(const at::Tensor& out) const {
    return torch::autograd::grad({out}, {x_, projection_.adapter.a, projection_.adapter.b},
                                 {numbers(kTokens, kOut, 2)});
  }

  static void expect_near(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& want) {
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(at::allclose(got[i], want[i], 1e-12, 1e-12)) << i;
  }

  Projection projection_;
  at::Tensor x_ = numbers(kTokens, kIn, 1).set_requires_grad(true);
  const at::Tensor keys_ = at::arange(kTokens, at::kLong) * 1000003;
};

TEST_F(AdaptedProjection, IsTheDenseProjectionInValueAndGradient) {
  const auto expected = at::mm(x_, dense_weight().t()) + projection_.bias;
  const auto computed = project(x_, projection_, {});
  EXPECT_TRUE(at::allclose(computed, expected, 1e-12, 1e-12));
  expect_near(gradients(computed), gradients(expected));
}

TEST_F(AdaptedProjection, AddsToAResidualInTheBiasesPlace) {
  projection_.bias = at::Tensor();
  const auto residual = numbers(kTokens, kOut, 3);
  EXPECT_TRUE(at::allclose(project(x_, projection_, {}, residual), at::mm(x_, dense_weight().t()) + residual));
}

TEST_F(AdaptedProjection, IsTheFrozenOneBitForBitWhereAdaptersAreOff) {
  Projection plain = projection_;
  plain.adapter = {};
  const auto frozen = project(x_, plain, {});
  EXPECT_TRUE(at::equal(project(x_, projection_, {.on = false}), frozen));
  const auto some = at::tensor({1.0, 0.0, 1.0, 0.0, 0.0}, at::kDouble).unsqueeze(1);
  const auto mixed = project(x_, projection_, {.adapted_M1 = some});
  const auto adapted = project(x_, projection_, {});
  for (std::int64_t row = 0; row < kTokens; ++row) {
    const bool on = row == 0 || row == 2;
    EXPECT_TRUE(at::equal(mixed[row], (on ? adapted : frozen)[row])) << row;
  }
}

/// Everything that a graph keeps or computes a gradient for, from its result down.
void for_each_node(const std::shared_ptr<torch::autograd::Node>& node,
                   const std::function<void(torch::autograd::Node&)>& use) {
  if (!node) return;
  use(*node);
  for (const auto& edge : node->next_edges()) for_each_node(edge.function, use);
}

// A weight that is frozen has no place in the graph: no gradient of its size can be made.
TEST_F(AdaptedProjection, HasNoGradientOfTheFrozenWeight) {
  std::vector<at::Tensor> leaves;
  for_each_node(project(x_, projection_, {.dropout_key_M = keys_}).grad_fn(), [&](torch::autograd::Node& node) {
    const auto* leaf = dynamic_cast<torch::autograd::AccumulateGrad*>(&node);
    const auto is_same = [&](const at::Tensor& other) { return other.is_same(leaf->variable); };
    if (leaf != nullptr && std::ranges::none_of(leaves, is_same)) leaves.push_back(leaf->variable);
  });
  EXPECT_EQ(leaves.size(), 3u);  // x, A and B
  for (const auto& leaf : leaves) EXPECT_NE(leaf.sizes(), projection_.weight.sizes());
}

TEST_F(AdaptedProjection, DropsTheSameInputsForwardAndBackward) {
  const AdapterUse use{.dropout_key_M = keys_};
  const auto ones = at::ones({kTokens, kIn}, at::kDouble);
  const auto mask = dropped(ones, keys_, 77, 0.25);  // 0, or 1 / 0.75
  const auto expected = at::mm(x_, projection_.weight.t()) + projection_.bias +
                        1.5 * at::mm(at::mm(x_ * mask, projection_.adapter.a.t()), projection_.adapter.b.t());
  const auto computed = project(x_, projection_, use);
  EXPECT_TRUE(at::allclose(computed, expected, 1e-12, 1e-12));
  EXPECT_FALSE(at::allclose(computed, project(x_, projection_, {})));
  expect_near(gradients(computed), gradients(expected));
}

// What a GPU computes, in another order: all that can take part in it, on the CPU.
TEST_F(AdaptedProjection, InTheOrderOfAGpuIsTheSame) {
  const auto some = at::tensor({1.0, 0.0, 1.0, 1.0, 0.0}, at::kDouble).unsqueeze(1);
  const auto residual = numbers(kTokens, kOut, 3).set_requires_grad(true);
  const auto bias = projection_.bias;
  for (const AdapterUse& use : {AdapterUse{}, {.dropout_key_M = keys_}, {.adapted_M1 = some, .dropout_key_M = keys_}}) {
    for (const auto& added : {at::Tensor(), residual}) {
      projection_.bias = added.defined() ? at::Tensor() : bias;
      const auto computed = adapted_product(x_, projection_, use, added),
                 expected = project(x_, projection_, use, added);
      EXPECT_TRUE(at::allclose(computed, expected, 1e-12, 1e-12));
      expect_near(gradients(computed), gradients(expected));
      if (added.defined()) {
        const auto gradient = torch::autograd::grad({adapted_product(x_, projection_, use, added).sum()}, {residual});
        EXPECT_TRUE(at::equal(gradient[0], at::ones_like(residual)));
      }
    }
  }
}

TEST(Dropout, LeavesOutItsShareAndKeepsTheMean) {
  const auto ones = at::ones({400, 500}, at::kFloat);
  const auto out = dropped(ones, token_keys(at::arange(4, at::kLong), 100), 1, 0.05);
  const double zeros = (out == 0).to(at::kDouble).mean().item<double>();
  EXPECT_NEAR(zeros, 0.05, 0.003);  // 200000 elements: 6 standard errors
  EXPECT_NEAR(out.mean().item<double>(), 1, 0.004);
}

TEST(Dropout, IsAFunctionOfTheTokenAndTheStream) {
  const auto ones = at::ones({6, 64}, at::kFloat);
  const auto keys = token_keys(at::tensor({11, 12, 11}, at::kLong), 2);
  const auto out = dropped(ones, keys, 1, 0.5);
  EXPECT_TRUE(at::equal(out.narrow(0, 0, 2), out.narrow(0, 4, 2)));   // the same row
  EXPECT_FALSE(at::equal(out.narrow(0, 0, 2), out.narrow(0, 2, 2)));  // another one
  EXPECT_FALSE(at::equal(out[0], out[1]));                            // another place in it
  EXPECT_FALSE(at::equal(out, dropped(ones, keys, 2, 0.5)));          // another projection
  // Padding on the left moves no mask: places count from the end.
  EXPECT_TRUE(at::equal(token_keys(at::tensor({11}, at::kLong), 5).narrow(0, 3, 2), keys.narrow(0, 0, 2)));
  const auto padded_on_the_right = token_keys(at::tensor({11}, at::kLong), 5, PaddedOn::kRight);
  EXPECT_TRUE(
      at::equal(padded_on_the_right.narrow(0, 0, 2), token_keys(at::tensor({11}, at::kLong), 2, PaddedOn::kRight)));
}

// The CPU's loops and what runs on other devices draw the same masks.
TEST(Dropout, OfTheLoopsIsThatOfTheTensorOperations) {
  const auto keys = token_keys(at::arange(3, at::kLong) * 123456789 - 5, 4);
  const auto x = numbers(12, 129, 0.5);
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto typed = x.to(type);
    const auto loops = dropped(typed, keys, 99, 0.3);
    EXPECT_TRUE(at::allclose(loops, dropped_reference(typed, keys, 99, 0.3), type == at::kFloat ? 1e-6 : 1e-2, 0))
        << type;
    EXPECT_TRUE(at::equal(loops == 0, dropped_reference(typed, keys, 99, 0.3) == 0)) << type;
  }
}

}  // namespace
}  // namespace drift::nn::adapter_projection_test
