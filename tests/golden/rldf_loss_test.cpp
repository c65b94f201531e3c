#include "tests/support/golden_cases.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/log.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace drift {
namespace {

using testing::DoubleNear;
using testing::Pointwise;

const std::vector<test::GoldenCase>& golden() {
  static const auto cases = test::read_golden_cases("rldf_loss.txt");
  return cases;
}

const std::vector<std::string> kViews = {"0A", "0B", "1A", "1B"};

/// The views of the golden masks, in the order of kViews, with the golden probabilities.
LossInput golden_input(const test::GoldenCase& of) {
  const auto masks = test::read_golden_cases("rldf_masking.txt");
  std::vector<test::ResponseRow> responses;
  for (const char* name : {"response A", "response B"}) {
    const auto& from = test::find_case(masks, name);
    responses.push_back({from.row("raw"), from.row("valid"), from.row("probability")});
  }
  const auto trajectories = test::make_trajectories(responses);
  const auto strategy = test::create<MaskingStrategy>(
      "rldf", "rldf", {{"k", std::int64_t{2}}, {"sample_temperature", 0.0}, {"pad_steps", std::string("zero")}});

  LossInput input;
  input.plan = test::draw_plan(*strategy, trajectories);
  input.valid_BL = trajectories.valid_BL;
  const auto order = [&](std::int64_t forward, std::int64_t response) {
    return test::find_view(input.plan, forward, response);
  };
  input = test::select_views(input, {order(0, 0), order(0, 1), order(1, 0), order(1, 1)});

  const auto& table = test::find_case(golden(), "probabilities");
  const auto log_probs = [&](const std::string& policy) {
    std::vector<std::vector<double>> rows;
    for (const auto& view : kViews) rows.push_back(table.row(policy + "_" + view));
    return test::matrix_tensor(rows).log().masked_fill(input.plan.target_FL.logical_not(), 0);
  };
  input.log_probs.current_FL = log_probs("current");
  input.log_probs.old_FL = log_probs("old");
  input.log_probs.reference_FL = log_probs("reference");
  input.advantage_B = test::vector_tensor((of.has("advantage") ? of : table).row("advantage")).to(at::kFloat);

  const auto setting = [&](const char* key, std::int64_t fallback) {
    return of.settings.count(key) != 0 ? std::stoll(of.settings.at(key)) : fallback;
  };
  input.totals = {setting("responses", 2), 2, 2, input.plan.target_FL.sum().item<std::int64_t>(),
                  setting("inner_iterations", 1)};
  if (input.totals.responses == 3) {  // the third one has no valid token, hence no view
    input.advantage_B = at::cat({input.advantage_B, at::ones({1})});
    input.valid_BL = at::cat({input.valid_BL, at::zeros({1, 5}, at::kBool)});
  }
  return input;
}

std::unique_ptr<LossEstimator> golden_loss(const test::GoldenCase& of) {
  const auto* entry = test::load_plugin("rldf").find(ComponentKind::kLossEstimator, "rldf");
  std::map<std::string, ParamValue> values;
  for (const auto& [key, text] : of.settings) {
    if (key != "responses" && key != "inner_iterations") values[key] = test::param_from_text(*entry, key, text);
  }
  return test::create<LossEstimator>("rldf", "rldf", values);
}

std::vector<test::GoldenCase> loss_cases() {
  std::vector<test::GoldenCase> found;
  for (const auto& candidate : golden()) {
    if (candidate.has("loss")) found.push_back(candidate);
  }
  return found;
}

TEST(RldfLossGolden, EveryVariantGivesItsLossForwardByForward) {
  for (const auto& expected : loss_cases()) {
    SCOPED_TRACE(expected.name);
    const LossInput input = golden_input(expected);
    const auto loss = golden_loss(expected);
    const std::vector<double> values = {loss->evaluate(test::select_views(input, {0, 1})).value.item<double>(),
                                        loss->evaluate(test::select_views(input, {2, 3})).value.item<double>(),
                                        loss->evaluate(input).value.item<double>()};
    for (std::size_t i = 0; i < 3; ++i) {
      if (std::isnan(expected.row("loss")[i])) continue;
      EXPECT_NEAR(values[i], expected.row("loss")[i], 1e-8);
    }
  }
}

TEST(RldfLossGolden, TheEffectivePositionsAreThoseWithAGradient) {
  for (const auto& expected : loss_cases()) {
    if (!expected.has("effective_0A")) continue;
    SCOPED_TRACE(expected.name);
    // The ratio's clip stops gradients too: widen it, so that only the filter is seen.
    test::GoldenCase wide = expected;
    wide.settings.insert({{"eps_low", "1"}, {"eps_high", "100"}});
    const auto grad = test::gradient(*golden_loss(wide), golden_input(wide));
    for (std::size_t view = 0; view < kViews.size(); ++view) {
      std::vector<double> effective;
      for (int i = 0; i < 5; ++i) {
        if (grad[view * 5 + i] != 0) effective.push_back(i);
      }
      EXPECT_EQ(effective, expected.row("effective_" + kViews[view])) << kViews[view];
    }
  }
}

TEST(RldfLossGolden, TokenUtilityAddsUpOverAnySplitOfTheViews) {
  for (const auto& expected : loss_cases()) {
    if (!expected.has("token_utility")) continue;
    SCOPED_TRACE(expected.name);
    const LossInput input = golden_input(expected);
    const auto loss = golden_loss(expected);
    test::MetricTotal whole, split;
    whole.add(loss->evaluate(input), "token_utility");
    for (std::int64_t view = 0; view < 4; ++view)
      split.add(loss->evaluate(test::select_views(input, {view})), "token_utility");
    EXPECT_NEAR(whole.value(), expected.number("token_utility"), 1e-8);
    EXPECT_NEAR(split.value(), expected.number("token_utility"), 1e-8);
  }
}

TEST(RldfLossGolden, GradientsAreTheGoldenOnes) {
  for (const auto& expected : golden()) {
    for (const auto& [row, value] : expected.rows) {
      if (row.rfind("forward_", 0) != 0) continue;
      SCOPED_TRACE(expected.name + ", " + row);
      const auto view = std::find(kViews.begin(), kViews.end(), row.substr(8, 2)) - kViews.begin();
      const int position = row.back() - '0';
      EXPECT_NEAR(test::gradient(*golden_loss(expected), golden_input(expected))[view * 5 + position], value.front(),
                  1e-8);
    }
  }
}

TEST(RldfLossGolden, GradientsAgreeWithFiniteDifferences) {
  for (const auto& expected : loss_cases()) {
    SCOPED_TRACE(expected.name);
    const auto loss = golden_loss(expected);
    const LossInput input = golden_input(expected);
    EXPECT_THAT(test::gradient(*loss, input),
                Pointwise(DoubleNear(1e-8), test::finite_difference_gradient(*loss, input)));
  }
}

/// One response of one token.
LossInput one_token(double current, double old, double reference, double advantage) {
  LossInput input;
  input.plan.sample_F = input.plan.forward_F = input.plan.step_F = at::zeros({1}, at::kLong);
  input.plan.masked_FL = input.plan.target_FL = at::ones({1, 1}, at::kBool);
  input.plan.forwards = 1;
  input.log_probs.current_FL = test::matrix_tensor({{current}});
  input.log_probs.old_FL = test::matrix_tensor({{old}});
  input.log_probs.reference_FL = test::matrix_tensor({{reference}});
  input.advantage_B = test::vector_tensor({advantage});
  input.valid_BL = at::ones({1, 1}, at::kBool);
  input.totals = {1, 1, 1, 1, 1};
  return input;
}

TEST(RldfLossGolden, KlEstimatorsHaveTheirValuesAndDerivatives) {
  for (const char* name : {"k1", "k2", "k3"}) {
    SCOPED_TRACE(name);
    const auto& expected = test::find_case(golden(), name);
    auto with_beta = expected;
    with_beta.settings["beta"] = "1";
    const auto loss = golden_loss(with_beta);
    const LossInput input = one_token(-0.5, -0.5, -1, /*advantage=*/0);
    const Loss evaluated = loss->evaluate(input);
    EXPECT_NEAR(evaluated.value.item<double>(), expected.number("value"), 1e-8);
    EXPECT_NEAR(test::gradient(*loss, input).front(), expected.number("derivative"), 1e-8);
    test::MetricTotal logged;
    logged.add(evaluated, "kl");
    EXPECT_NEAR(logged.value(), expected.number("value"), 1e-8);
  }
}

TEST(RldfLossGolden, TheEntropyTermIsTheDistanceToTheReferenceOrTheEntropy) {
  const auto& expected = test::find_case(golden(), "entropy distance");
  LossInput input = one_token(-0.5, -0.5, -1, 0);
  input.log_probs.entropy_FL = test::matrix_tensor({{expected.number("entropy")}});
  input.log_probs.reference_entropy_FL = test::matrix_tensor({{expected.number("reference_entropy")}});
  const auto value = [&](const char* mode) {
    const auto loss = test::create<LossEstimator>(
        "rldf", "rldf", {{"beta", 0.0}, {"entropy_coefficient", 1.0}, {"entropy_mode", std::string(mode)}});
    return loss->evaluate(input).value.item<double>();
  };
  EXPECT_NEAR(value("ref_delta"), expected.number("value"), 1e-7);
  EXPECT_NEAR(value("absolute"), expected.number("entropy"), 1e-7);
}

}  // namespace
}  // namespace drift
