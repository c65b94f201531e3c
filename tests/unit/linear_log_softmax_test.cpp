// Log-softmax of a linear layer at chosen tokens, against plain operations with full logits: values and gradients.

#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/kernels/linear_log_softmax.h>

#include <ATen/Parallel.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/autograd/autograd.h>

#include <initializer_list>

namespace drift::kernels::linear_log_softmax_test {
namespace {

/// Hidden rows 0, 2 and the last are read: once, by three targets of which two have the same token, and at both ends of
/// the vocabulary. The others are computed and not scored.
TokenTargets targets(std::int64_t rows, std::int64_t vocabulary) {
  const std::int64_t middle = vocabulary / 2, last = vocabulary - 1;
  if (rows < 4) return {at::zeros({1}, at::kLong), at::full({1}, last, at::kLong)};
  return {at::tensor({0L, 2L, 2L, 2L, rows - 1, rows - 1}, at::kLong),
          at::tensor({middle, middle, last, middle, 0L, last}, at::kLong)};
}

struct Sizes {
  std::int64_t rows, hidden, vocabulary;
};
// One row, one token; widths that no vector divides; a vocabulary of several tiles.
const Sizes kSizes[] = {{1, 3, 1}, {1, 1, 2}, {5, 7, 11}, {4, 16, 257}, {9, 8, 4099}, {300, 5, 9001}};

struct Gradients {
  TokenScores scores;
  at::Tensor hidden_NH, weight_VH;
};

struct Incoming {
  at::Tensor logprob_E, entropy_E;
};

Gradients fused(const at::Tensor& hidden, const at::Tensor& weight, const TokenTargets& where,
                const Incoming& incoming) {
  LinearLogSoftmax head(weight);
  const auto scores = head.forward(hidden, where, incoming.entropy_E.defined());
  const auto type = scores.logprob_E.scalar_type();
  auto weight_gradient = at::full(weight.sizes(), std::nan(""), weight.options().dtype(type).requires_grad(false));
  const auto hidden_gradient =
      head.backward(incoming.logprob_E, incoming.entropy_E, weight_gradient, /*overwrite=*/true);
  return {scores, hidden_gradient, weight_gradient};
}

Gradients plain(const at::Tensor& hidden, const at::Tensor& weight, const TokenTargets& where,
                const Incoming& incoming) {
  const auto scores = linear_log_softmax_reference(hidden, weight, where, incoming.entropy_E.defined());
  auto value = (scores.logprob_E * incoming.logprob_E).sum();
  if (incoming.entropy_E.defined()) value = value + (scores.entropy_E * incoming.entropy_E).sum();
  const auto gradients = torch::autograd::grad({value}, {hidden, weight});
  return {scores, gradients[0], gradients[1]};
}

Incoming random_incoming(const TokenTargets& where, bool entropy, at::ScalarType type) {
  const auto incoming = [&] { return at::randn(where.row_E.sizes(), type); };
  return {incoming(), entropy ? incoming() : at::Tensor()};
}

at::Tensor leaf(at::IntArrayRef shape, at::ScalarType type) {
  return at::randn(shape).to(type).set_requires_grad(true);
}

double relative_distance(const at::Tensor& got, const at::Tensor& want) {
  return ((got - want).norm() / (want.norm() + 1e-12)).item<double>();
}

class LinearLogSoftmaxTest : public ::testing::TestWithParam<bool> {};  // with entropy
INSTANTIATE_TEST_SUITE_P(WithAndWithoutEntropy, LinearLogSoftmaxTest, ::testing::Bool());

TEST_P(LinearLogSoftmaxTest, EqualsItsReference) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    const double tolerance = type == at::kFloat ? 2e-5 : 1e-12;
    for (const auto& [rows, hidden_size, vocabulary] : kSizes) {
      SCOPED_TRACE(std::to_string(rows) + " rows, vocabulary " + std::to_string(vocabulary));
      const auto hidden = leaf({rows, hidden_size}, type), weight = leaf({vocabulary, hidden_size}, type);
      const auto where = targets(rows, vocabulary);
      const auto incoming = random_incoming(where, GetParam(), type);
      const auto got = fused(hidden, weight, where, incoming), want = plain(hidden, weight, where, incoming);
      EXPECT_TRUE(at::allclose(got.scores.logprob_E, want.scores.logprob_E, tolerance, tolerance));
      if (GetParam()) {
        EXPECT_TRUE(at::allclose(got.scores.entropy_E, want.scores.entropy_E, tolerance, tolerance));
      }
      EXPECT_TRUE(at::allclose(got.hidden_NH, want.hidden_NH, tolerance, tolerance));
      EXPECT_TRUE(at::allclose(got.weight_VH, want.weight_VH, tolerance, tolerance));
    }
  }
}

// Logits are rounded to bfloat16; what follows is float32 up to the gradient of the logits, which is rounded again.
TEST_P(LinearLogSoftmaxTest, OfBfloat16LogitsIsComputedInFloat32) {
  for (const auto& [rows, hidden_size, vocabulary] : kSizes) {
    SCOPED_TRACE(std::to_string(rows) + " rows, vocabulary " + std::to_string(vocabulary));
    const auto hidden = leaf({rows, hidden_size}, at::kBFloat16),
               weight = leaf({vocabulary, hidden_size}, at::kBFloat16);
    const auto where = targets(rows, vocabulary);
    const auto incoming = random_incoming(where, GetParam(), at::kFloat);
    const auto got = fused(hidden, weight, where, incoming), want = plain(hidden, weight, where, incoming);
    EXPECT_EQ(got.scores.logprob_E.scalar_type(), at::kFloat);
    EXPECT_EQ(got.weight_VH.scalar_type(), at::kFloat);
    EXPECT_TRUE(at::allclose(got.scores.logprob_E, want.scores.logprob_E, 2e-5, 2e-5));
    if (GetParam()) {
      EXPECT_TRUE(at::allclose(got.scores.entropy_E, want.scores.entropy_E, 2e-5, 2e-5));
    }
    EXPECT_LT(relative_distance(got.hidden_NH.to(at::kFloat), want.hidden_NH.to(at::kFloat)), 1.0 / 128);
    EXPECT_LT(relative_distance(got.weight_VH, want.weight_VH.to(at::kFloat)), 1.0 / 128);
  }
}

TEST_P(LinearLogSoftmaxTest, GradientsAreThoseOfFiniteDifferences) {
  const auto where = targets(5, 11);
  const auto incoming = random_incoming(where, GetParam(), at::kDouble);
  const auto hidden = at::randn({5, 3}, at::kDouble), weight = at::randn({11, 3}, at::kDouble);
  const auto value = [&](const at::Tensor& h, const at::Tensor& w) {
    const auto scores = LinearLogSoftmax(w).score(h, where, GetParam());
    const auto entropies = GetParam() ? (scores.entropy_E * incoming.entropy_E).sum() : at::zeros({}, at::kDouble);
    return ((scores.logprob_E * incoming.logprob_E).sum() + entropies).item<double>();
  };
  const auto got = fused(hidden, weight, where, incoming);
  constexpr double kStep = 1e-6;
  for (int trial = 0; trial < 5; ++trial) {
    const auto h = at::randn({5, 3}, at::kDouble), w = at::randn({11, 3}, at::kDouble);
    const double slope =
        (value(hidden + kStep * h, weight + kStep * w) - value(hidden - kStep * h, weight - kStep * w)) / (2 * kStep);
    EXPECT_NEAR(((got.hidden_NH * h).sum() + (got.weight_VH * w).sum()).item<double>(), slope, 1e-7);
  }
}

TEST_P(LinearLogSoftmaxTest, ScoresAloneAreTheSame) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const auto hidden = leaf({9, 8}, type), weight = leaf({4099, 8}, type);
    LinearLogSoftmax head(weight);
    const auto alone = head.score(hidden, targets(9, 4099), GetParam());
    const auto kept = head.forward(hidden, targets(9, 4099), GetParam());
    // The products' last bits may depend on where their results are.
    const double tolerance = type == at::kFloat ? 1e-5 : 1.0 / 64;
    EXPECT_TRUE(at::allclose(alone.logprob_E, kept.logprob_E, tolerance, tolerance));
    if (GetParam()) {
      EXPECT_TRUE(at::allclose(alone.entropy_E, kept.entropy_E, tolerance, tolerance));
    }
  }
}

TEST_P(LinearLogSoftmaxTest, DoesNotDependOnTheNumberOfThreads) {
  const int threads = at::get_num_threads();
  const auto hidden = leaf({64, 8}, at::kFloat), weight = leaf({4099, 8}, at::kFloat);
  const auto where = targets(64, 4099);
  const auto incoming = random_incoming(where, GetParam(), at::kFloat);
  at::set_num_threads(1);
  const auto one = fused(hidden, weight, where, incoming);
  at::set_num_threads(2);
  const auto two = fused(hidden, weight, where, incoming);
  at::set_num_threads(threads);
  EXPECT_TRUE(at::allclose(one.scores.logprob_E, two.scores.logprob_E, 1e-5, 1e-5));
  EXPECT_TRUE(at::allclose(one.weight_VH, two.weight_VH, 1e-5, 1e-5));
}

/// 40 rows of a weight that is large enough for rows to be left out, one target each; only `rows` have a gradient.
struct FewGradients {
  explicit FewGradients(at::ScalarType type, std::initializer_list<std::int64_t> rows)
      : hidden(leaf({40, 128}, type)), weight(leaf({8192, 128}, type)) {
    where = {at::arange(40, at::kLong), at::arange(40, at::kLong) * 200};
    gradient_E = at::zeros({40});
    for (const std::int64_t row : rows) gradient_E[row] = 1 + 0.5 * static_cast<double>(row);
  }
  at::Tensor hidden, weight, gradient_E;
  TokenTargets where;
};

TEST_P(LinearLogSoftmaxTest, RowsWithoutAGradientAreLeftOutOfTheProducts) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    const FewGradients few(type, {3, 17, 39});
    Incoming incoming{few.gradient_E, {}};
    if (GetParam()) {
      incoming.entropy_E = at::zeros({40});
      incoming.entropy_E[5] = 2;  // not of a row that has another one
    }
    const auto got = fused(few.hidden, few.weight, few.where, incoming);
    const auto want = plain(few.hidden, few.weight, few.where, incoming);
    const double tolerance = type == at::kFloat ? 1e-5 : 2e-2;
    EXPECT_LT(relative_distance(got.hidden_NH, want.hidden_NH), tolerance);
    EXPECT_LT(relative_distance(got.weight_VH, want.weight_VH), tolerance);
    for (const std::int64_t row : {0, 4, 16, 38}) EXPECT_EQ(got.hidden_NH[row].abs().max().item<float>(), 0.0f);
  }
}

TEST(LinearLogSoftmax, LogitsThatAreNotFiniteShowWithoutAGradient) {
  FewGradients few(at::kFloat, {3});
  const auto hidden = few.hidden.detach().clone();
  hidden[20][0] = std::nanf("");
  const auto got = fused(hidden, few.weight, few.where, {few.gradient_E, {}});
  EXPECT_FALSE(at::isfinite(got.weight_VH).all().item<bool>());
}

TEST(LinearLogSoftmax, WeightGradientsAddUp) {
  for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    const auto hidden = leaf({5, 7}, type), weight = leaf({11, 7}, type);
    const auto where = targets(5, 11);
    const auto incoming = random_incoming(where, false, type == at::kDouble ? at::kDouble : at::kFloat);
    const auto once = fused(hidden, weight, where, incoming);
    LinearLogSoftmax head(weight);
    auto sum = at::ones(once.weight_VH.sizes(), once.weight_VH.options());
    for (int i = 0; i < 2; ++i) {
      head.forward(hidden, where, false);
      head.backward(incoming.logprob_E, {}, sum, /*overwrite=*/false);
    }
    EXPECT_TRUE(at::allclose(sum, 1 + 2 * once.weight_VH, 1e-5, 1e-5));
  }
}

TEST(LinearLogSoftmax, TakesNoTargetsAndNoRows) {
  const auto weight = leaf({11, 7}, at::kFloat);
  for (const std::int64_t rows : {0, 3}) {
    const TokenTargets none{at::empty({0}, at::kLong), at::empty({0}, at::kLong)};
    const auto got = fused(leaf({rows, 7}, at::kFloat), weight, none, {at::empty({0}), {}});
    EXPECT_EQ(got.scores.logprob_E.numel(), 0);
    EXPECT_EQ(got.hidden_NH.size(0), rows);
    EXPECT_EQ(got.weight_VH.abs().max().item<float>(), 0.0f);
  }
}

TEST(LinearLogSoftmax, SurvivesLargeLogits) {
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    // Logits 1000, 0 and -1000, the largest in the last tile or in the first.
    for (const double sign : {1.0, -1.0}) {
      auto weight = at::zeros({9001, 1}, type);
      weight[0] = -1000 * sign;
      weight[9000] = 1000 * sign;
      const TokenTargets where{at::tensor({0L, 0L}, at::kLong), at::tensor({0L, 9000L}, at::kLong)};
      const auto got = fused(at::ones({300, 1}, type), weight, where, {at::ones({2}), at::ones({2})});
      const std::int64_t likely = sign > 0 ? 1 : 0;
      EXPECT_EQ(got.scores.logprob_E[likely].item<float>(), 0.0f);
      EXPECT_EQ(got.scores.logprob_E[1 - likely].item<float>(), -2000.0f);
      EXPECT_EQ(got.scores.entropy_E[0].item<float>(), 0.0f);
      EXPECT_TRUE(at::isfinite(got.weight_VH).all().item<bool>());
    }
  }
}

TEST(LinearLogSoftmax, PassesNanOn) {
  auto hidden = at::ones({2, 3});
  hidden[1][0] = std::nanf("");
  const TokenTargets where{at::tensor({0L, 1L}, at::kLong), at::tensor({4L, 4L}, at::kLong)};
  const auto scores = LinearLogSoftmax(at::ones({11, 3})).score(hidden, where, true);
  EXPECT_NEAR(scores.logprob_E[0].item<float>(), -std::log(11.0f), 1e-6);
  EXPECT_TRUE(std::isnan(scores.logprob_E[1].item<float>()));
  EXPECT_TRUE(std::isnan(scores.entropy_E[1].item<float>()));
}

}  // namespace
}  // namespace drift::kernels::linear_log_softmax_test
