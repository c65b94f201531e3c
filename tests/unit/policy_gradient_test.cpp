// The gradient that the trainer uses, against the plainest computation of the same thing, however the work is split.

#include <core/update/gradient_sum.h>
#include <core/update/policy_gradient.h>
#include <core/update/update_batch.h>
#include <drift/error.h>

#include "tests/support/alone.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

#include <ATen/Parallel.h>
#include <ATen/ops/log_softmax.h>
#include <torch/csrc/autograd/autograd.h>

#include <gtest/gtest.h>

namespace drift::policy_gradient_test {

constexpr std::int64_t kVocabulary = 11, kPrompt = 4, kLength = 6, kResponses = 8, kGroup = 4;

/// A loss of each coupling. The weights make every position count differently.
class TestLoss final : public LossEstimator {
 public:
  explicit TestLoss(Coupling coupling, bool with_entropy = false) : coupling_(coupling), with_entropy_(with_entropy) {}
  Coupling coupling() const override { return coupling_; }
  void needs(LossNeeds& needs) const override { needs.entropy = with_entropy_; }

  Loss evaluate(const LossInput& input) const override {
    auto term_FL = input.advantage_F1() * (2 * input.log_probs.current_FL - input.log_probs.old_FL).exp();
    if (with_entropy_) term_FL = term_FL + 0.3 * input.log_probs.entropy_FL;
    const auto masked_FL = at::where(input.plan.target_FL, term_FL, at::zeros({}, term_FL.options()));
    Loss loss;
    if (coupling_ == Coupling::kView) {
      loss = input.token_mean(term_FL);
    } else if (coupling_ == Coupling::kResponse) {
      const auto per_sample =
          at::zeros({input.totals.responses}, term_FL.options()).index_add(0, input.plan.response_F, masked_FL.sum(1));
      loss.value = per_sample.square().sum();
    } else {
      loss.value = masked_FL.sum().square() / (1 + input.log_probs.current_FL.square().sum());
    }
    loss.add_mean("term", term_FL, input.plan.target_FL);
    return loss;
  }

 private:
  Coupling coupling_;
  bool with_entropy_;
};

struct PolicyGradientTest : ::testing::TestWithParam<Coupling> {
  PolicyGradientTest()
      : trajectories(test::make_trajectories(kResponses, kGroup, kPrompt, kLength, kVocabulary, 2)),
        plan(test::views_of_steps(trajectories, 3)),
        batch(update_batch(trajectories, at::arange(kResponses, at::kDouble) - 3.5, plan, kGroup)) {}

  /// Every view separately, full logits, one graph.
  std::vector<at::Tensor> plain_gradient(const Model& model, const LossEstimator& loss) const {
    LossInput input;
    input.plan = select_views(plan, all_views(plan), at::kCPU);
    const auto responses =
        at::where(plan.masked_FL, at::ones({}, at::kLong), trajectories.tokens_BL.index_select(0, plan.response_F));
    const auto tokens = at::cat({trajectories.prompts.tokens_BP.index_select(0, plan.response_F), responses}, 1);
    const auto key_mask = at::cat(
        {trajectories.prompts.mask_BP.index_select(0, plan.response_F), at::ones_like(responses, at::kBool)}, 1);
    const auto hidden = model.forward({tokens, key_mask, {}}).view({-1, kPrompt + kLength, model.traits().hidden_size});
    const std::int64_t shift = model.traits().prediction_row == PredictionRow::kPrevious ? 1 : 0;
    const auto logits = hidden.narrow(1, kPrompt - shift, kLength).matmul(model.lm_head_VH().t());
    const auto log_probabilities = at::log_softmax(logits, -1);
    const auto chosen = trajectories.tokens_BL.index_select(0, plan.response_F).unsqueeze(-1);
    const auto zero = at::zeros({}, at::kDouble);
    input.log_probs.current_FL = at::where(plan.target_FL, log_probabilities.gather(2, chosen).squeeze(-1), zero);
    input.log_probs.old_FL = input.log_probs.current_FL.detach();
    input.log_probs.entropy_FL =
        at::where(plan.target_FL, -(log_probabilities.exp() * log_probabilities).sum(-1), zero);
    input.advantage_B = batch.advantage_B;
    input.valid_BL = trajectories.valid_BL;
    input.totals = batch.totals;
    input.scored_B = batch.scored_B;
    std::vector<at::Tensor> parameters;
    for (const auto& parameter : model.parameters()) parameters.push_back(parameter.tensor);
    return torch::autograd::grad({loss.evaluate(input).value}, parameters);
  }

  static void expect_equal(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& want) {
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t p = 0; p < got.size(); ++p) {
      EXPECT_TRUE(at::allclose(got[p], want[p], 1e-9, 1e-11)) << "parameter " << p;
      EXPECT_GT(want[p].abs().max().item<double>(), 1e-6) << "parameter " << p << " has no gradient to compare";
    }
  }

  Trajectories trajectories;
  MaskPlan plan;
  UpdateBatch batch;
};

constexpr std::int64_t kPlenty = std::int64_t{1} << 30;

TEST_P(PolicyGradientTest, EqualsThePlainComputation) {
  const TestLoss loss(GetParam());
  for (const auto row : {PredictionRow::kSame, PredictionRow::kPrevious}) {
    const test::TinyModel model(kVocabulary, 5, at::kDouble, row);
    const auto computed = policy_gradient(test::alone, model, loss, batch, kPlenty);
    EXPECT_FALSE(computed.two_pass);
    expect_equal(computed.gradients, plain_gradient(model, loss));
  }
}

TEST_P(PolicyGradientTest, EqualsThePlainComputationWithEntropy) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const TestLoss loss(GetParam(), true);
  expect_equal(policy_gradient(test::alone, model, loss, batch, kPlenty).gradients, plain_gradient(model, loss));
}

TEST_P(PolicyGradientTest, DoesNotDependOnTheMemoryBudgetOrTheThreads) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const TestLoss loss(GetParam());
  const auto whole = policy_gradient(test::alone, model, loss, batch, kPlenty);
  const std::int64_t one_row = model.training_bytes_per_row(kPrompt + kLength) + kLength * kVocabulary * 12;
  const int threads_before = at::get_num_threads();
  for (const int threads : {1, 2}) {
    at::set_num_threads(threads);
    for (const std::int64_t rows : {0, 1, 2, 4, 7, 16}) {
      const auto split = policy_gradient(test::alone, model, loss, batch, rows * one_row);
      EXPECT_NEAR(split.loss, whole.loss, 1e-10) << rows << " rows";
      EXPECT_NEAR(split.metrics.at("term").sum, whole.metrics.at("term").sum, 1e-10);
      EXPECT_EQ(split.metrics.at("term").count, whole.metrics.at("term").count);
      EXPECT_TRUE(at::allclose(split.current_FL, whole.current_FL, 1e-12, 1e-12));
      expect_equal(split.gradients, whole.gradients);
      // A unit of this coupling has 1, 3 or 24 views.
      const std::int64_t unit = GetParam() == Coupling::kView ? 1 : GetParam() == Coupling::kResponse ? 3 : 24;
      EXPECT_EQ(split.two_pass, unit > std::max<std::int64_t>(1, rows)) << rows << " rows";
    }
  }
  at::set_num_threads(threads_before);
}

TEST_P(PolicyGradientTest, MatchesFiniteDifferences) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const TestLoss loss(GetParam());
  auto fixed = batch;
  fixed.old_policy = score_views(test::alone, model, trajectories, plan, all_views(plan), false);
  const auto computed = policy_gradient(test::alone, model, loss, fixed, kPlenty);
  const at::NoGradGuard no_gradient;
  constexpr double kStep = 1e-6;
  for (std::size_t p = 0; p < model.parameters().size(); ++p) {
    const auto flat = model.parameters()[p].tensor.view({-1});
    for (const std::int64_t i : {std::int64_t{0}, flat.numel() / 2, flat.numel() - 1}) {
      const double before = flat[i].item<double>();
      double values[2];
      for (const int side : {0, 1}) {
        flat[i] = before + (side == 0 ? kStep : -kStep);
        const at::AutoGradMode gradient(true);
        values[side] = policy_gradient(test::alone, model, loss, fixed, kPlenty).loss;
      }
      flat[i] = before;
      const double expected = (values[0] - values[1]) / (2 * kStep);
      EXPECT_NEAR(computed.gradients[p].view({-1})[i].item<double>(), expected, 1e-5 * (1 + std::abs(expected)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Couplings, PolicyGradientTest,
                         ::testing::Values(Coupling::kView, Coupling::kResponse, Coupling::kBatch));

TEST_F(PolicyGradientTest, SharedContextsAreComputedOnce) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const auto computed = policy_gradient(test::alone, model, TestLoss(Coupling::kBatch), batch, kPlenty);
  // Each of the 2 groups shares its all-masked view; the other 2 views of the 8 responses differ.
  EXPECT_EQ(computed.rows, 2 + 2 * kResponses);
}

TEST_F(PolicyGradientTest, PaddedPromptsGiveWhatUnpaddedOnesGive) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const TestLoss loss(Coupling::kResponse);
  const auto unpadded = policy_gradient(test::alone, model, loss, batch, kPlenty);
  auto& prompts = batch.trajectories.prompts;
  prompts.tokens_BP = at::cat({at::zeros({kResponses, 3}, at::kLong), prompts.tokens_BP}, 1);
  prompts.mask_BP = at::cat({at::zeros({kResponses, 3}, at::kBool), prompts.mask_BP}, 1);
  expect_equal(policy_gradient(test::alone, model, loss, batch, kPlenty).gradients, unpadded.gradients);
}

/// The bfloat16 model and its float32 twin of equal weights.
struct Twins {
  explicit Twins(PredictionRow row)
      : narrow(kVocabulary, 32, at::kBFloat16, row), wide(kVocabulary, 32, at::kFloat, row) {
    const at::NoGradGuard no_gradient;
    for (std::size_t p = 0; p < wide.parameters().size(); ++p)
      wide.parameters()[p].tensor.copy_(narrow.parameters()[p].tensor);
  }
  test::TinyModel narrow, wide;
};

double relative_distance(const at::Tensor& got, const at::Tensor& want) {
  return ((got - want).norm() / want.norm()).item<double>();
}

TEST_P(PolicyGradientTest, Bfloat16GradientsAreFloat32OnesWithinItsRounding) {
  const Twins twins(PredictionRow::kSame);
  const TestLoss loss(GetParam(), true);
  // The old policy is fixed: the models then differ in their rounding alone.
  batch.old_policy = score_views(test::alone, twins.wide, trajectories, plan, all_views(plan), false);
  const auto expected = policy_gradient(test::alone, twins.wide, loss, batch, kPlenty);
  for (const std::int64_t budget : {kPlenty, std::int64_t{1}}) {
    const auto computed = policy_gradient(test::alone, twins.narrow, loss, batch, budget);
    EXPECT_EQ(computed.current_FL.scalar_type(), at::kFloat);
    // bfloat16 rounds a number of size 1 by up to 2^-8; logits here are about 4.
    EXPECT_LT((computed.current_FL - expected.current_FL).abs().max().item<double>(), 12.0 / 256);
    for (std::size_t p = 0; p < expected.gradients.size(); ++p) {
      EXPECT_EQ(computed.gradients[p].scalar_type(), at::kFloat);
      EXPECT_LT(relative_distance(computed.gradients[p], expected.gradients[p]), 6.0 / 256) << "parameter " << p;
    }
  }
}

TEST_F(PolicyGradientTest, LogProbabilitiesOfABfloat16ModelAreFloat32) {
  const test::TinyModel model(kVocabulary, 32, at::kBFloat16);
  const auto scores = score_views(test::alone, model, trajectories, plan, all_views(plan), true);
  EXPECT_EQ(scores.logprob_FL.scalar_type(), at::kFloat);
  EXPECT_EQ(scores.entropy_FL.scalar_type(), at::kFloat);
  const auto rounded = scores.logprob_FL.to(at::kBFloat16).to(at::kFloat);
  EXPECT_FALSE(at::equal(scores.logprob_FL, rounded)) << "computed in bfloat16";
}

TEST(GradientSum, AddsUpInFloat32WhatBfloat16WouldDrop) {
  for (const std::int64_t workers : {1, 2}) {
    const auto weight = at::ones({1}, at::kBFloat16).set_requires_grad(true);
    GradientSum sum(test::alone, {weight}, workers);
    // 256 + 1 is 256 in bfloat16.
    sum.backward(0, {weight * 256}, {at::ones({1}, at::kBFloat16)});
    for (int part = 0; part < 10; ++part) sum.backward(part % workers, {weight * 1}, {at::ones({1}, at::kBFloat16)});
    const auto total = sum.take_total();
    EXPECT_EQ(total[0].scalar_type(), at::kFloat);
    EXPECT_EQ(total[0].item<float>(), 266.0f);
    EXPECT_EQ(sum.take_total()[0].item<float>(), 0.0f) << "it begins anew";
  }
}

// d (a + b) is one tensor for both.
TEST(GradientSum, KeepsParametersApartThatAutogradGivesOneGradient) {
  const auto a = at::ones({2}).set_requires_grad(true), b = at::ones({2}).set_requires_grad(true);
  GradientSum sum(test::alone, {a, b}, 1);
  sum.backward(0, {a + b}, {at::ones({2})});
  sum.backward(0, {a * 3}, {at::ones({2})});
  const auto total = sum.take_total();
  EXPECT_EQ(total[0][0].item<float>(), 4.0f);
  EXPECT_EQ(total[1][0].item<float>(), 1.0f);
}

// Frozen parameters get no gradient, and the others what they get without frozen ones.
TEST_F(PolicyGradientTest, OnlyTrainableParametersHaveGradients) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const auto all = policy_gradient(test::alone, model, TestLoss(Coupling::kResponse), batch, kPlenty).gradients;
  const std::vector<NamedTensor> parameters = model.parameters();
  for (const char* frozen : {"mix", "head"}) {
    SCOPED_TRACE(frozen);
    const auto found = std::find_if(parameters.begin(), parameters.end(),
                                    [&](const NamedTensor& parameter) { return parameter.name == frozen; });
    found->tensor.set_requires_grad(false);
    const auto some = policy_gradient(test::alone, model, TestLoss(Coupling::kResponse), batch, kPlenty).gradients;
    found->tensor.set_requires_grad(true);
    ASSERT_EQ(some.size(), all.size() - 1);
    auto gradient = some.begin();
    for (std::size_t p = 0; p < all.size(); ++p) {
      if (parameters[p].name != frozen) EXPECT_TRUE(at::allclose(*gradient++, all[p], 1e-12, 1e-14)) << p;
    }
  }
}

class NanLoss final : public LossEstimator {
 public:
  Coupling coupling() const override { return Coupling::kBatch; }
  Loss evaluate(const LossInput& input) const override { return {input.log_probs.current_FL.sum() / 0.0, {}}; }
};

TEST_F(PolicyGradientTest, ALossThatIsNotFiniteIsAnError) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  EXPECT_THROW(policy_gradient(test::alone, model, NanLoss(), batch, kPlenty), Error);
}

TEST_F(PolicyGradientTest, RowsSayHowLongTheirPaddingIs) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  trajectories.prompts.mask_BP = trajectories.prompts.mask_BP.clone();
  trajectories.prompts.mask_BP.narrow(0, 0, kGroup).narrow(1, 0, 2).fill_(false);
  const ViewRows rows(test::alone, model.traits(), trajectories, plan, {0, 3 * kGroup});
  EXPECT_TRUE(at::equal(rows.batch(0, 2, at::kCPU).forward.padding_B, at::tensor({2, 0}, at::kLong)));
}

TEST_F(PolicyGradientTest, UnattendedPositionsAreMaskedAsKeysAndMakeAContextOfTheirOwn) {
  const test::TinyModel model(kVocabulary, 5, at::kDouble);
  const ViewRows shown(test::alone, model.traits(), trajectories, plan, {0, 3});
  ASSERT_EQ(shown.count(), 1);  // the all-masked state, which a group shares
  plan.attended_FL = at::ones_like(plan.masked_FL);
  plan.attended_FL[3][kLength - 1] = false;
  const ViewRows rows(test::alone, model.traits(), trajectories, plan, {0, 3});
  ASSERT_EQ(rows.count(), 2);
  const auto mask_BS = rows.batch(0, 2, at::kCPU).forward.key_mask_BS;
  const auto response_BL = mask_BS.narrow(1, kPrompt, kLength);
  EXPECT_TRUE(response_BL[0].all().item<bool>());
  EXPECT_TRUE(at::equal(response_BL[1], plan.attended_FL[3]));
  EXPECT_FALSE(rows.batch(0, 2, at::kCPU).forward.padding_B.defined()) << "a key behind the padding is hidden, too";

  const auto partly = score_views(test::alone, model, trajectories, plan, {3}, false).logprob_FL;
  plan.attended_FL = at::Tensor();
  EXPECT_FALSE(at::allclose(partly, score_views(test::alone, model, trajectories, plan, {3}, false).logprob_FL));
}

}  // namespace drift::policy_gradient_test
