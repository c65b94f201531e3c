#include "tests/support/golden_cases.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

namespace drift::rldf_masking_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

const std::vector<test::GoldenCase>& golden() {
  static const auto cases = test::read_golden_cases("rldf_masking.txt");
  return cases;
}

std::unique_ptr<MaskingStrategy> masking(const Values& values) {
  return test::create<MaskingStrategy>("rldf", "rldf", values);
}

std::unique_ptr<MaskingStrategy> masking(const test::GoldenCase& of, Values values = {}) {
  const auto* entry = test::load_plugin("rldf").find(ComponentKind::kMaskingStrategy, "rldf");
  for (const auto& [key, text] : of.settings) values[key] = test::param_from_text(*entry, key, text);
  return masking(values);
}

test::ResponseRow response(const std::string& name) {
  const auto& from = test::find_case(golden(), "response " + name);
  return {from.row("raw"), from.row("valid"), from.row("probability")};
}

/// One token per step, with these surprisals.
test::ResponseRow one_token_steps(const std::vector<double>& surprisal) {
  test::ResponseRow made;
  for (const double u : surprisal) {
    made.raw_step.push_back(static_cast<double>(made.raw_step.size()));
    made.valid.push_back(1);
    made.probability.push_back(std::exp(-u));
  }
  return made;
}

std::size_t steps_of(const std::string& name) {
  return test::find_case(golden(), "response " + name).row("surprisal").size();
}

/// The step that each view shows, counted among the steps at which a valid token was committed.
std::vector<double> dense_steps(const MaskPlan& plan, const Trajectories& trajectories) {
  std::vector<double> steps = test::shown_steps(plan, trajectories);
  for (std::size_t view = 0; view < steps.size(); ++view) {
    const std::int64_t response = plan.response_F[static_cast<std::int64_t>(view)].item<std::int64_t>();
    const auto step = test::numbers(trajectories.step_BL, response),
               valid = test::numbers(trajectories.valid_BL, response);
    std::set<double> before;
    for (std::size_t i = 0; i < step.size(); ++i) {
      if (valid[i] != 0 && step[i] < steps[view]) before.insert(step[i]);
    }
    steps[view] = static_cast<double>(before.size());
  }
  return steps;
}

/// w of every candidate. All candidates are selected, each is weighed by w, and the weights add up to k.
std::vector<double> step_weights(const std::string& name, double temperature) {
  const auto k = static_cast<std::int64_t>(steps_of(name));
  const auto strategy =
      masking({{"k", k}, {"sample_temperature", temperature}, {"step_weighting", std::string("softmax")}});
  const auto trajectories = test::make_trajectories({response(name)});
  const MaskPlan plan = test::draw_plan(*strategy, trajectories);
  const auto steps = dense_steps(plan, trajectories);
  std::vector<double> weights(static_cast<std::size_t>(k));
  for (std::int64_t f = 0; f < k; ++f) {
    weights[static_cast<std::size_t>(steps[static_cast<std::size_t>(f)])] =
        plan.weight_F[f].item<double>() / static_cast<double>(k);
  }
  return weights;
}

TEST(RldfMaskingGolden, StepWeightsAreTheSoftmaxOfTheSurprisal) {
  for (const auto& [name, tau] : {std::pair("A", "1"), {"A", "0.1"}, {"A", "10"}, {"B", "1"}}) {
    const auto& expected = test::find_case(golden(), std::string("response ") + name);
    EXPECT_THAT(step_weights(name, std::stod(tau)),
                Pointwise(DoubleNear(1e-7), expected.row(std::string("weight_tau_") + tau)));
  }
}

TEST(RldfMaskingGolden, SurprisalsAreTheMeanNegativeLogProbabilityOfAStep) {
  for (const char* name : {"A", "B"}) {  // ln w_s - ln w_0 = u_s - u_0 at tau 1
    const auto& surprisal = test::find_case(golden(), std::string("response ") + name).row("surprisal");
    const auto weights = step_weights(name, 1);
    for (std::size_t s = 0; s < surprisal.size(); ++s) {
      EXPECT_NEAR(std::log(weights[s] / weights[0]), surprisal[s] - surprisal[0], 1e-6) << name << " step " << s;
    }
  }
}

TEST(RldfMaskingGolden, StepsAreIncludedAsOftenAsSamplingWithoutReplacementSays) {
  constexpr int kRollouts = 20000;
  const auto trajectories = test::make_trajectories({response("A"), response("B")});
  const auto strategy = masking({{"k", std::int64_t{2}}, {"sample_temperature", 1.0}});
  std::map<std::int64_t, std::vector<double>> frequency = {{0, std::vector<double>(3)}, {1, std::vector<double>(4)}};
  for (int rollout = 0; rollout < kRollouts; ++rollout) {
    const MaskPlan plan = test::draw_plan(*strategy, trajectories, rollout);
    const auto* response = plan.response_F.const_data_ptr<std::int64_t>();
    const auto step = dense_steps(plan, trajectories);
    for (std::size_t f = 0; f < 4; ++f) frequency[response[f]][static_cast<std::size_t>(step[f])] += 1.0 / kRollouts;
  }
  const double tolerance = 4 * 0.5 / std::sqrt(kRollouts);  // four standard errors
  for (const auto& [response, name] : {std::pair(0, "response A"), {1, "response B"}}) {
    EXPECT_THAT(frequency[response],
                Pointwise(DoubleNear(tolerance), test::find_case(golden(), name).row("inclusion_k_2")));
  }
}

TEST(RldfMaskingGolden, MasksShowTheStateBeforeTheSelectedStep) {
  for (const char* name : {"original masks", "trajectory masks"}) {
    SCOPED_TRACE(name);
    const auto& expected = test::find_case(golden(), name);
    const auto strategy = masking(expected, {{"k", std::int64_t{2}}, {"sample_temperature", 0.0}});
    const auto trajectories = test::make_trajectories({response("A"), response("B")});
    const MaskPlan plan = test::draw_plan(*strategy, trajectories);
    EXPECT_EQ(plan.terms, 2);
    ASSERT_EQ(plan.response_F.size(0), 4);
    for (std::int64_t b = 0; b < 2; ++b) {
      for (std::int64_t f = 0; f < 2; ++f) {
        const std::string key = std::string(b == 0 ? "A_" : "B_") + std::to_string(f);
        const std::int64_t view = test::find_view(plan, f, b);
        ASSERT_GE(view, 0);
        EXPECT_EQ(dense_steps(plan, trajectories)[view], expected.row(b == 0 ? "steps_A" : "steps_B")[f]) << key;
        const auto masked = test::numbers(plan.masked_FL, view);
        EXPECT_THAT(masked, ElementsAreArray(expected.row("masked_" + key))) << key;
        EXPECT_THAT(test::numbers(plan.committed_FL, view), ElementsAreArray(expected.row("committed_" + key))) << key;
        auto scored = masked;  // every valid token that is masked
        for (std::size_t i = 0; i < scored.size(); ++i) scored[i] *= trajectories.valid_BL[b][i].item<bool>();
        EXPECT_THAT(test::numbers(plan.target_FL, view), ElementsAreArray(scored)) << key;
      }
    }
  }
}

TEST(RldfMaskingGolden, FewOrEqualCandidatesAreSelectedByTheirRules) {
  for (const auto& expected : golden()) {
    if (!expected.has("fixed")) continue;
    SCOPED_TRACE(expected.name);
    const auto strategy = masking(expected);
    const auto trajectories = test::make_trajectories({one_token_steps(expected.row("surprisal"))});
    const MaskPlan plan = test::draw_plan(*strategy, trajectories);
    auto selected = dense_steps(plan, trajectories);
    const bool truncated = expected.settings.count("short_trajectory") != 0;
    EXPECT_EQ(selected.size(), truncated ? expected.row("fixed").size() : static_cast<std::size_t>(plan.terms));
    for (std::size_t f = 0; f < selected.size(); ++f)
      EXPECT_EQ(plan.term_F[f].item<std::int64_t>(), static_cast<std::int64_t>(f));
    const std::vector<double> rest(selected.begin() + expected.row("fixed").size(), selected.end());
    selected.resize(expected.row("fixed").size());
    EXPECT_THAT(selected, ElementsAreArray(expected.row("fixed")));
    const bool uniform = expected.name.find("uniform") != std::string::npos;
    if (uniform) {
      ASSERT_EQ(rest.size(), 2u);
      EXPECT_NE(rest[0], rest[1]) << "what is left over is drawn without replacement";
    }
  }
}

}  // namespace drift::rldf_masking_test
