#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

#include <core/interface/random_operators.h>
#include <core/interface/sampling_operators.h>
#include <core/update/view_rows.h>

#include <drift/random.h>

#include <ATen/ops/log_softmax.h>
#include <ATen/ops/randn.h>

namespace drift::sampling_test {

SampledTokens draw(const at::Tensor& logits, std::int64_t count, const SamplingOptions& options) {
  return sample_tokens(logits, at::zeros({count}, at::kLong), test::uniforms(count), options);
}

std::vector<double> frequencies(const SampledTokens& sampled, std::int64_t vocabulary) {
  std::vector<double> share(static_cast<std::size_t>(vocabulary));
  const std::int64_t count = sampled.token_M.size(0);
  for (std::int64_t m = 0; m < count; ++m) {
    share[static_cast<std::size_t>(sampled.token_M.const_data_ptr<std::int64_t>()[m])] +=
        1.0 / static_cast<double>(count);
  }
  return share;
}

TEST(SampleTokens, DrawsFromSoftmaxAtItsTemperature) {
  const auto logits = at::tensor({0.5f, -1.0f, 2.0f, 0.0f}).unsqueeze(0);
  for (const double temperature : {0.5, 1.0, 2.0}) {
    const auto share = frequencies(draw(logits, 200000, {temperature, Confidence::kProbability, {}}), 4);
    const auto expected = at::log_softmax(logits[0] / temperature, -1).exp();
    for (std::int64_t v = 0; v < 4; ++v)
      EXPECT_NEAR(share[static_cast<std::size_t>(v)], expected[v].item<double>(), 0.005);
  }
}

TEST(SampleTokens, ForbiddenIdsAreNeverDrawnAndTheRestKeepTheirProportions) {
  const auto logits = at::tensor({0.5f, -1.0f, 9.0f, 0.0f}).unsqueeze(0);
  const auto share = frequencies(draw(logits, 200000, {1.0, Confidence::kProbability, {{2, 3}}}), 4);
  EXPECT_EQ(share[2], 0);
  EXPECT_NEAR(share[0] / share[3], std::exp(0.5), 0.03);
  EXPECT_EQ(draw(logits, 1, {0, Confidence::kProbability, {{2, 3}}}).token_M.item<std::int64_t>(), 0);
}

TEST(SampleTokens, GreedyTakesTheLowerOfEqualIds) {
  const auto logits = at::tensor({1.0f, 3.0f, 3.0f}).unsqueeze(0);
  EXPECT_EQ(draw(logits, 1, {}).token_M.item<std::int64_t>(), 1);
}

TEST(SampleTokens, LogProbabilityIsOfTheRawLogitsWhateverTheTemperature) {
  const auto logits = at::randn({1, 9});
  const auto expected = at::log_softmax(logits.to(at::kDouble), -1);
  const auto sampled = draw(logits, 50, {3.0, Confidence::kProbability, {{4, 5}}});
  for (std::int64_t m = 0; m < 50; ++m) {
    const double want = expected[0][sampled.token_M[m].item<std::int64_t>()].item<double>();
    EXPECT_NEAR(sampled.logprob_M[m].item<double>(), want, 1e-6);
    EXPECT_NEAR(sampled.confidence_M[m].item<double>(), std::exp(want), 1e-6);
  }
}

TEST(SampleTokens, Confidences) {
  const auto logits = at::tensor({0.7f, 0.2f, 0.1f}).log().unsqueeze(0);
  EXPECT_NEAR(draw(logits, 1, {0, Confidence::kProbability, {}}).confidence_M.item<double>(), 0.7, 1e-6);
  EXPECT_NEAR(draw(logits, 1, {0, Confidence::kMargin, {}}).confidence_M.item<double>(), 0.5, 1e-6);
  const double entropy = -(0.7 * std::log(0.7) + 0.2 * std::log(0.2) + 0.1 * std::log(0.1));
  EXPECT_NEAR(draw(logits, 1, {0, Confidence::kNegativeEntropy, {}}).confidence_M.item<double>(), -entropy, 1e-6);
}

TEST(SampleTokens, TakesBfloat16LogitsAtTheirValue) {
  const auto logits = at::randn({6, 50}).to(at::kBFloat16);
  const auto rows = at::arange(6, at::kLong).repeat({20});
  for (const double temperature : {0.0, 1.0}) {
    const SamplingOptions options{temperature, Confidence::kMargin, {}};
    const auto narrow = sample_tokens(logits, rows, test::uniforms(120), options);
    const auto wide = sample_tokens(logits.to(at::kFloat), rows, test::uniforms(120), options);
    EXPECT_TRUE(at::equal(narrow.token_M, wide.token_M));
    EXPECT_TRUE(at::equal(narrow.logprob_M, wide.logprob_M));
    EXPECT_TRUE(at::equal(narrow.confidence_M, wide.confidence_M));
    EXPECT_EQ(narrow.logprob_M.scalar_type(), at::kFloat);
  }
}

// Also by the tensor operations that other devices use; tests/unit/device_comparisons_test.cpp compares the two widely.
TEST(SampleTokens, SurvivesTheEndsOfTheUniform) {
  const auto logits = at::tensor({-200.0f, 0.0f, 0.0f, -200.0f, 5.0f}).unsqueeze(0);
  auto edge = at::empty({2}, at::kDouble);
  edge.data_ptr<double>()[0] = 0.0;
  edge.data_ptr<double>()[1] = std::nextafter(1.0, 0.0);
  for (const auto sample : {sample_tokens, sample_with_operators}) {
    for (const double temperature : {0.3, 0.7, 1.0, 1.3}) {
      const auto sampled =
          sample(logits, at::zeros({2}, at::kLong), edge, {temperature, Confidence::kProbability, {{4, 5}}});
      EXPECT_EQ(sampled.token_M[0].item<std::int64_t>(), 1) << temperature;
      EXPECT_EQ(sampled.token_M[1].item<std::int64_t>(), 2) << temperature;
    }
  }
}

// The random numbers of a rollout on a device are those of the CPU, bit by bit.
TEST(Uniform, IsTheStreamsValueAtEveryPointOnEveryDevice) {
  const RandomStream random(7, "rollout");
  const auto response_M = index_tensor({0, 1, 5, 70000}), position_M = index_tensor({3, 3, 0, 4000000000});
  const auto draw_M = index_tensor({0, 2, 9, 1});
  const auto values = uniform(random, 3, response_M, position_M, draw_M);
  const auto operators = uniform_with_operators(random, 3, response_M, position_M, draw_M);
  EXPECT_TRUE(values.equal(operators));
  for (std::int64_t m = 0; m < 4; ++m) {
    const RandomPoint point{3, response_M[m].item<std::int64_t>(), position_M[m].item<std::int64_t>(),
                            draw_M[m].item<std::int64_t>()};
    EXPECT_EQ(values[m].item<double>(), random.uniform(point));
  }
}

TEST(Uniform, BroadcastsItsPoints) {
  const auto values = uniform(RandomStream(1, "x"), 0, at::arange(3, at::kLong).unsqueeze(1), at::arange(4, at::kLong),
                              at::zeros({}, at::kLong));
  EXPECT_EQ(values.sizes(), at::IntArrayRef({3, 4}));
  EXPECT_EQ(values[2][1].item<double>(), RandomStream(1, "x").uniform({0, 2, 1, 0}));
}

}  // namespace drift::sampling_test
