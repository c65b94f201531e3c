// Estimators of the policy gradient beside the exact one: the right one is found unbiased, wrong ones are found wrong.

#include <core/lab/fidelity/exact_policy.h>
#include <core/lab/fidelity/moments.h>
#include <core/lab/fidelity/reference_study.h>
#include <core/lab/fidelity/study.h>
#include <core/train/advantage.h>

#include <drift/loss_terms.h>
#include <drift/plan_builder.h>

#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_model.h"

namespace drift::fidelity_estimator_test {

constexpr std::int64_t kLength = 3, kGroup = 4;

/// The tiny model with a mask token that is never predicted, as training leaves a model: a constant further hidden
/// unit speaks against it. Otherwise what is drawn (from the other tokens) has another distribution than what is
/// scored.
class TrainedTinyModel final : public test::TinyModel {
 public:
  TrainedTinyModel() : TinyModel(5, 6, at::kDouble) { against_[1] = -60; }
  at::Tensor forward(const ForwardInput& input) const override {
    const auto hidden = TinyModel::forward(input);
    return at::cat({hidden, at::ones({hidden.size(0), 1}, at::kDouble)}, 1);
  }
  at::Tensor lm_head_VH() const override { return at::cat({TinyModel::lm_head_VH(), against_}, 1); }

 private:
  at::Tensor against_ = at::zeros({5, 1}, at::kDouble);
};

/// Every state of the response's own path, or the first one alone; scored is what it committed.
class PathMasking final : public MaskingStrategy {
 public:
  explicit PathMasking(std::int64_t states) : states_(states) {}
  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const auto& step_BL = input.trajectories->step_BL;
    PlanBuilder builder(step_BL.size(1), input.trajectories->prompts.tokens_BP.size(1));
    for (std::int64_t b = 0; b < step_BL.size(0); ++b) {
      for (int step = 0; step < std::min<std::int64_t>(states_, step_BL[b].max().item<int>() + 1); ++step) {
        builder.begin_view(b, step);
        for (std::int64_t i = 0; i < step_BL.size(1); ++i) {
          if (step_BL[b][i].item<int>() >= step) builder.mask(i);
          if (step_BL[b][i].item<int>() == step) builder.score(i);
        }
      }
    }
    plan = builder.finish(states_);
  }

 private:
  std::int64_t states_;
};

/// One random state of the path, weighed by their number: as right as all of them, with more variance.
class OneStateMasking final : public MaskingStrategy {
 public:
  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const auto& step_BL = input.trajectories->step_BL;
    PlanBuilder builder(step_BL.size(1), input.trajectories->prompts.tokens_BP.size(1));
    for (std::int64_t b = 0; b < step_BL.size(0); ++b) {
      const std::int64_t steps = step_BL[b].max().item<int>() + 1;
      const auto chosen = input.random.below(steps, {input.step, b, 0, 0});
      builder.begin_view(b, 0);
      builder.weigh(static_cast<double>(steps));
      for (std::int64_t i = 0; i < step_BL.size(1); ++i) {
        if (step_BL[b][i].item<int>() >= chosen) builder.mask(i);
        if (step_BL[b][i].item<int>() == chosen) builder.score(i);
      }
    }
    plan = builder.finish(1);
  }
};

/// -sum of A log p over the scored tokens / responses: with the path's states the score-function estimator.
class ScoreFunctionLoss final : public LossEstimator {
 public:
  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.old = false; }
  Loss evaluate(const LossInput& in) const override {
    auto value_FL = -scale * in.advantage_F1() * in.log_probs.current_FL;
    if (in.plan.weight_F.defined()) value_FL = value_FL * in.plan.weight_F.unsqueeze(1);
    return {sum_where(value_FL, in.plan.target_FL).sum() / static_cast<double>(in.totals.responses), {}};
  }

  double scale = 1;
};

struct FidelityStudy : ::testing::Test {
  TrainedTinyModel model;
  ResponseSpace space{model.traits(), {2, 4, 3}, kLength};
  StateScores scores = score_states(model, space);
  at::Tensor reward = ((at::arange(space.responses(), at::kDouble) * 0.7).sin() > 0.5).to(at::kDouble);

  std::vector<StudyRow> study(const char* decoder_name, const MaskingStrategy& masking, std::int64_t draws,
                              const std::vector<std::int64_t>& views = {1}, std::uint64_t seed = 1) {
    const Decoder decoder = Decoder::named(decoder_name);
    const TableDecoder writer(space, decoder, scores);
    const GradientEstimator estimator(model, masking, loss, {kGroup, 1 << 28});
    StudySubject subject{&space,
                         &writer,
                         &estimator,
                         reward,
                         exact_gradient(model, space, decoder, scores, reward).gradient_P,
                         [](const at::Tensor& reward_B) {
                           AdvantageSettings settings;
                           settings.baseline = AdvantageBaseline::kLeaveOneOut;
                           settings.deviation = AdvantageDeviation::kNone;
                           return advantages(reward_B, kGroup, settings);
                         }};
    return study_estimator(subject, {draws, 20, kGroup, views}, RandomStream(seed, "study"));
  }

  ScoreFunctionLoss loss;
};

/// The 95 % interval of |E g - t|^2 / |t|^2 holds `value`.
testing::AssertionResult bias_may_be(const Fidelity& fidelity, double value) {
  const double distance = std::abs(fidelity.bias_square.value - value);
  if (distance <= 1.96 * fidelity.bias_square.error) return testing::AssertionSuccess();
  return testing::AssertionFailure() << fidelity.bias_square.value << " +- " << fidelity.bias_square.error;
}

// The order of a random decoder does not depend on the weights: the gradient of log p(path) is the sum over its
// commits.
TEST_F(FidelityStudy, TheScoreFunctionOfARandomOrderIsUnbiased) {
  const auto rows = study("random", PathMasking(kLength), 1500);
  EXPECT_TRUE(bias_may_be(rows[0].fidelity, 0));
  EXPECT_LT(rows[0].fidelity.bias_square.error, 0.05) << "too few draws to say anything";
  EXPECT_NEAR(rows[0].fidelity.cosine.value, 1, 3 * rows[0].fidelity.cosine.error);
  EXPECT_NEAR(rows[0].fidelity.norm_ratio.value, 1, 3 * rows[0].fidelity.norm_ratio.error);
}

TEST_F(FidelityStudy, MoreViewsLowerTheVarianceAndNothingElse) {
  const auto rows = study("random", OneStateMasking(), 400, {1, 4});
  for (const StudyRow& row : rows) EXPECT_TRUE(bias_may_be(row.fidelity, 0)) << row.views << " views";
  EXPECT_GT(rows[0].fidelity.variance.value, 1.2 * rows[1].fidelity.variance.value);
  EXPECT_LT(rows[0].forwards, rows[1].forwards);
}

TEST_F(FidelityStudy, HalfTheGradientHasTheRightDirectionAndHalfTheNorm) {
  loss.scale = 0.5;
  const auto found = study("random", PathMasking(kLength), 800)[0].fidelity;
  EXPECT_NEAR(found.cosine.value, 1, 3 * found.cosine.error);
  EXPECT_NEAR(found.norm_ratio.value, 0.5, 3 * found.norm_ratio.error);
  EXPECT_TRUE(bias_may_be(found, 0.25));
  EXPECT_FALSE(bias_may_be(found, 0));
}

TEST_F(FidelityStudy, ScoringTheFirstStateAloneIsFoundWrong) {
  const auto rows = study("random", PathMasking(1), 800);
  EXPECT_FALSE(bias_may_be(rows[0].fidelity, 0));
  EXPECT_GT(rows[0].fidelity.bias_square.value, 5 * rows[0].fidelity.bias_square.error);
  // One of three commits.
  EXPECT_NEAR(rows[0].fidelity.norm_ratio.value, 1.0 / 3, 0.1);
}

// What the other positions drew decides which one is committed: the commits alone are not the whole score function.
TEST_F(FidelityStudy, TheSameSumIsBiasedWhereConfidenceChoosesTheOrder) {
  const auto rows = study("confidence", PathMasking(kLength), 2000);
  EXPECT_FALSE(bias_may_be(rows[0].fidelity, 0));
}

// g = t / 2 + e, e normal with variance s^2 in each of P dimensions.
struct GradientMomentsTest : ::testing::Test {
  static constexpr std::int64_t kParameters = 50;
  static constexpr double kDeviation = 0.3;

  Fidelity of_draws(std::int64_t count, std::uint64_t seed, const at::Tensor& added = {}) const {
    const RandomStream random(seed, "noise");
    GradientMoments moments(target, 20);
    for (std::int64_t n = 0; n < count; ++n) {
      auto draw = at::empty({kParameters}, at::kDouble);
      for (std::int64_t i = 0; i < kParameters; ++i) {
        const double radius = std::sqrt(-2 * std::log(1 - random.uniform({n, 0, i, 0})));
        draw.data_ptr<double>()[i] = kDeviation * radius * std::cos(2 * M_PI * random.uniform({n, 0, i, 1}));
      }
      if (added.defined()) draw += added;
      moments.add(target / 2 + draw);
    }
    return moments.fidelity();
  }

  at::Tensor target = at::arange(1, kParameters + 1, at::kDouble) / 25.0;
  double norm = target.norm().item<double>();
};

TEST_F(GradientMomentsTest, MeasuresWhatIsKnown) {
  const Fidelity found = of_draws(4000, 3);
  const auto expect = [](const Measured& measured, double value, const char* what) {
    EXPECT_NEAR(measured.value, value, 3 * measured.error) << what;
    EXPECT_LT(measured.error, 0.05 * value) << what;
  };
  EXPECT_EQ(found.draws, 4000);
  expect(found.bias_square, 0.25, "bias");
  expect(found.norm_ratio, 0.5, "norm ratio");
  expect(found.variance, kParameters * kDeviation * kDeviation / (norm * norm), "variance");
  expect(found.signal, norm * norm / 4 / (kParameters * kDeviation * kDeviation), "signal");
  EXPECT_NEAR(found.cosine.value, 1, 1e-3);
}

// A constant part across the target is a mistake, not signal.
TEST_F(GradientMomentsTest, SignalIsWhatPointsAlongTheTarget) {
  auto across = at::zeros({kParameters}, at::kDouble);
  across[0] = 3 * target[1];
  across[1] = -3 * target[0];
  const Fidelity without = of_draws(400, 5), with = of_draws(400, 5, across);
  EXPECT_GT(with.norm_ratio.value, without.norm_ratio.value);
  EXPECT_LT(with.cosine.value, without.cosine.value);
  EXPECT_NEAR(with.signal.value, without.signal.value, 1e-9);
  EXPECT_NEAR(with.variance.value, without.variance.value, 1e-9);
}

// What is wrong by, and what is said to be wrong by, over 40 repetitions of 100 and of 1,600 draws.
TEST_F(GradientMomentsTest, MonteCarloErrorsFallWithTheRootOfTheDraws) {
  const auto root_mean_squares = [&](std::int64_t draws) {
    double wrong = 0, said = 0;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const Measured found = of_draws(draws, 100 + seed).norm_ratio;
      wrong += std::pow(found.value - 0.5, 2) / 40;
      said += found.error * found.error / 40;
    }
    return std::pair(std::sqrt(wrong), std::sqrt(said));
  };
  const auto [wrong_few, said_few] = root_mean_squares(100);
  const auto [wrong_many, said_many] = root_mean_squares(1600);
  EXPECT_NEAR(wrong_few / wrong_many, 4, 1.5);
  EXPECT_NEAR(said_few / said_many, 4, 0.5);
  EXPECT_NEAR(said_many / wrong_many, 1, 0.4);
}

/// Parameters as a checkpoint with blocks names them.
class NamedTinyModel final : public test::TinyModel {
 public:
  NamedTinyModel() : TinyModel(5, 6, at::kDouble) {}
  std::vector<NamedTensor> parameters() const override {
    auto parameters = TinyModel::parameters();
    parameters[1].name = "model.blocks.0.attention";
    parameters[2].name = "model.blocks.0.mlp.weight";
    parameters[3].name = "model.blocks.1.mlp.weight";
    return parameters;
  }
};

TEST(ReferenceStudyTest, ComparesBlockByBlockOverRollouts) {
  const NamedTinyModel model;
  const auto parts = model_parts(model);
  std::vector<std::string> names;
  for (const ModelPart& part : parts) names.push_back(part.name);
  EXPECT_EQ(names, (std::vector<std::string>{"all", "embedding", "model.blocks.0", "model.blocks.1"}));
  ASSERT_EQ(parts[2].parameters.size(), 2u);

  ReferenceStudy study(model, {1});
  const ParameterRange& last = parts[3].parameters[0];
  const auto reference = at::ones({last.begin + last.size}, at::kDouble);
  auto estimate = reference * 2;
  study.add(reference, {estimate});
  estimate.narrow(0, last.begin, last.size).neg_();
  study.add(reference, {estimate});
  study.add(reference, {estimate * 0});  // a rollout without a gradient has no direction
  const auto rows = study.rows();
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1].cosine.count, 2);
  EXPECT_NEAR(rows[1].cosine.mean, 1, 1e-12);
  EXPECT_NEAR(rows[1].norm_ratio.mean, 2, 1e-12);
  EXPECT_NEAR(rows[3].cosine.mean, 0, 1e-12);  // 1 and -1
  EXPECT_NEAR(rows[3].cosine.error, 1, 1e-12);
}

}  // namespace drift::fidelity_estimator_test
