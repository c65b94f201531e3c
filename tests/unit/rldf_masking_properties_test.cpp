// What RLDF's plans promise for every rollout, not only for the golden one.

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <drift/error.h>

namespace drift::rldf_masking_properties_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<MaskingStrategy> strategy(const std::string& name, const Values& values = {}) {
  return test::create<MaskingStrategy>("rldf", name, values);
}

std::unique_ptr<MaskingStrategy> rldf(const Values& values = {}) { return strategy("rldf", values); }

TEST(RldfMasking, TheFirstOrLastStepsAreTakenAsTheyCome) {
  test::ResponseRow row;
  row.raw_step = {4, 0, 2, 7, 2};  // four steps
  row.valid = {1, 1, 1, 1, 1};
  row.probability = {0.1, 0.9, 0.5, 0.7, 0.5};
  const auto trajectories = test::make_trajectories({row});
  const auto views = [&](const char* steps, std::int64_t k, const char* short_trajectory = "fill") {
    const auto masking =
        rldf({{"k", k}, {"steps", std::string(steps)}, {"short_trajectory", std::string(short_trajectory)}});
    std::vector<std::int64_t> masked;  // positions of each view: the later its step, the fewer
    const MaskPlan plan = test::draw_plan(*masking, trajectories, /*step=*/3);
    for (std::int64_t f = 0; f < plan.masked_FL.size(0); ++f)
      masked.push_back(plan.masked_FL[f].sum().item<std::int64_t>());
    return masked;
  };
  EXPECT_THAT(views("first", 2), ElementsAre(5, 4));
  EXPECT_THAT(views("last", 2), ElementsAre(2, 1));
  EXPECT_THAT(views("last", 6), ElementsAre(5, 4, 2, 1, 5, 4)) << "again and again";
  EXPECT_THAT(views("first", 6, "truncate"), ElementsAre(5, 4, 2, 1));
}

TEST(RldfMasking, DrawsDifferBetweenStepsResponsesAndSeeds) {
  test::ResponseRow row;
  for (int i = 0; i < 30; ++i) {
    row.raw_step.push_back(i);
    row.valid.push_back(1);
    row.probability.push_back(0.5);
  }
  const auto trajectories = test::make_trajectories({row, row});
  const auto masking = rldf({{"k", std::int64_t{8}}});
  const MaskPlan plan = test::draw_plan(*masking, trajectories, 0);
  EXPECT_NE(test::views_of(plan, 0), test::views_of(plan, 1));
  EXPECT_NE(test::views_of(plan, 0), test::views_of(test::draw_plan(*masking, trajectories, 1), 0));
  EXPECT_NE(test::views_of(plan, 0), test::views_of(test::draw_plan(*masking, trajectories, 0, {}, /*seed=*/2), 0));
  EXPECT_EQ(test::views_of(plan, 0), test::views_of(test::draw_plan(*masking, trajectories, 0), 0));
}

TEST(RldfMasking, AViewShowsExactlyTheStateBeforeItsStep) {
  const auto trajectories = test::random_trajectories(6, 14, 3);
  const MaskPlan plan = test::draw_plan(*rldf({{"k", std::int64_t{4}}}), trajectories);
  const auto step = trajectories.step_BL;
  const auto shown = test::shown_steps(plan, trajectories);
  for (std::int64_t view = 0; view < plan.response_F.size(0); ++view) {
    const std::int64_t b = plan.response_F[view].item<std::int64_t>();
    const double raw = shown[static_cast<std::size_t>(view)];
    for (std::int64_t i = 0; i < 14; ++i) {
      const double committed = step[b][i].item<double>();
      const bool valid = trajectories.valid_BL[b][i].item<bool>();
      const bool masked = committed >= raw || committed < 0;
      EXPECT_EQ(plan.masked_FL[view][i].item<bool>(), masked);
      EXPECT_EQ(plan.target_FL[view][i].item<bool>(), masked && valid);
      EXPECT_EQ(plan.committed_FL[view][i].item<bool>(), valid && committed == raw);
    }
  }
}

TEST(RldfMasking, ResponsesWithoutASignalHaveNoView) {
  const test::ResponseRow nothing_valid{{0, 0}, {0, 0}, {.5, .5}};
  const test::ResponseRow one_step{{3, 3}, {1, 1}, {.5, .5}};
  const auto trajectories = test::make_trajectories({nothing_valid, one_step});
  EXPECT_THAT(test::numbers(test::draw_plan(*rldf({{"k", std::int64_t{2}}}), trajectories).response_F),
              ElementsAre(1, 1));

  const MaskPlan empty = test::draw_plan(*rldf({{"k", std::int64_t{2}}, {"skip_single_step", true}}), trajectories);
  EXPECT_EQ(empty.terms, 2);
  EXPECT_EQ(empty.masked_FL.sizes(), (at::IntArrayRef{0, 2}));
}

TEST(RldfMasking, CommitProbabilitiesAreClampedFromBelow) {
  // Both steps count as 1e-10, so they are equally surprising.
  const auto trajectories = test::make_trajectories({{{0, 1}, {1, 1}, {0, 1e-30}}});
  const auto masking =
      rldf({{"k", std::int64_t{2}}, {"sample_temperature", 1.0}, {"step_weighting", std::string("softmax")}});
  EXPECT_FALSE(test::draw_plan(*masking, trajectories).weight_F.defined()) << "all weights are 1";
}

TEST(RldfMasking, TemperatureZeroWeighsTheLeastConfidentStepAlone) {
  const auto trajectories = test::make_trajectories({{{0, 1, 2}, {1, 1, 1}, {.9, .2, .8}}});
  const auto masking =
      rldf({{"k", std::int64_t{3}}, {"sample_temperature", 0.0}, {"step_weighting", std::string("softmax")}});
  const MaskPlan plan = test::draw_plan(*masking, trajectories);
  EXPECT_THAT(test::shown_steps(plan, trajectories), ElementsAre(1, 2, 0));
  EXPECT_THAT(test::numbers(plan.weight_F), ElementsAre(3, 0, 0));
}

TEST(RldfMasking, TruncatedResponsesAverageOverTheViewsTheyHave) {
  const auto trajectories = test::make_trajectories({{{0, 1}, {1, 1}, {.5, .9}}});
  const MaskPlan plan =
      test::draw_plan(*rldf({{"k", std::int64_t{8}}, {"short_trajectory", std::string("truncate")}}), trajectories);
  EXPECT_THAT(test::shown_steps(plan, trajectories), ElementsAre(0, 1));
  EXPECT_THAT(test::numbers(plan.weight_F), ElementsAre(4, 4));  // times 1 / K = 1 / 2
}

TEST(RldfMasking, ScoringWhatEachStepDecodedScoresEveryValidTokenOnce) {
  const auto trajectories = test::random_trajectories(5, 10, 9);
  const auto masking =
      rldf({{"k", std::int64_t{10}}, {"short_trajectory", std::string("truncate")}, {"target", std::string("xt-1")}});
  const MaskPlan plan = test::draw_plan(*masking, trajectories);
  for (std::int64_t b = 0; b < 5; ++b) {
    const auto times = test::numbers(plan.target_FL.index({plan.response_F == b}).sum(0));
    EXPECT_EQ(times, test::numbers(trajectories.valid_BL, b));
  }
}

TEST(RldfMasking, WeightedFillDrawsByTheWeights) {
  // Two steps with w = (0.9, 0.1): what fills up after one copy of each is drawn in those proportions.
  const auto trajectories = test::make_trajectories({{{0, 1}, {1, 1}, {.1, .9}}});
  const MaskPlan plan = test::draw_plan(*rldf({{"k", std::int64_t{4002}}, {"sample_temperature", 1.0}}), trajectories);
  const auto shown = test::shown_steps(plan, trajectories);
  const auto first = static_cast<double>(std::count(shown.begin(), shown.end(), 0) - 1);
  EXPECT_NEAR(first / 4000, 0.9, 0.02);
}

TEST(RandomMasking, MasksItsShareOfTheValidTokens) {
  const test::ResponseRow seven{{0, 1, 2, 3, 4, 5, 6, 7}, {1, 1, 1, 1, 1, 1, 1, 0}, std::vector<double>(8, .5)};
  const test::ResponseRow one{{0, 1, 2, 3, 4, 5, 6, 7}, {1, 0, 0, 0, 0, 0, 0, 0}, std::vector<double>(8, .5)};
  const auto trajectories = test::make_trajectories({seven, one});
  const MaskPlan plan = test::draw_plan(*strategy("random_masking", {{"k", std::int64_t{50}}}), trajectories);
  EXPECT_EQ(plan.terms, 50);
  EXPECT_TRUE(plan.masked_FL.equal(plan.target_FL) && plan.masked_FL.equal(plan.committed_FL));
  EXPECT_THAT(test::numbers(plan.masked_FL.index({plan.response_F == 0}).sum(1)), Each(2));  // floor(0.3 * 7)
  EXPECT_THAT(test::numbers(plan.masked_FL.index({plan.response_F == 1}).sum(1)), Each(1));  // never none
  const auto times = test::numbers(plan.masked_FL.index({plan.response_F == 0}).sum(0));
  for (int i = 0; i < 7; ++i) EXPECT_NEAR(times[i], 50 * 2 / 7.0, 13) << i;
  EXPECT_EQ(times[7], 0) << "padding stays visible";
}

TEST(CoupledRandomMasking, TheTwoViewsShareTheValidTokens) {
  const auto trajectories = test::random_trajectories(6, 9, 2);
  const MaskPlan plan = test::draw_plan(*strategy("coupled_random_masking"), trajectories);
  EXPECT_EQ(plan.terms, 2);
  for (std::int64_t b = 0; b < 6; ++b) {
    const auto of_response = plan.masked_FL.index({plan.response_F == b});
    EXPECT_EQ(test::numbers(of_response.sum(0)), test::numbers(trajectories.valid_BL, b));
    if (of_response.size(0) == 0) continue;
    const double valid = test::numbers(trajectories.valid_BL[b].sum())[0];
    EXPECT_THAT(test::numbers(of_response.sum(1)), ElementsAre(valid - std::floor(valid / 2), std::floor(valid / 2)));
  }
}

TEST(CoupledRandomMasking, ASingleTokenIsMaskedOnce) {
  const auto trajectories = test::make_trajectories({{{0, 1}, {1, 0}, {.5, .5}}});
  EXPECT_THAT(test::numbers(test::draw_plan(*strategy("coupled_random_masking"), trajectories).term_F), ElementsAre(0));
}

TEST(AllMasking, MasksEveryValidToken) {
  const auto trajectories = test::random_trajectories(4, 9, 2);
  const MaskPlan plan = test::draw_plan(*strategy("all_masking"), trajectories);
  EXPECT_EQ(plan.terms, 1);
  EXPECT_TRUE(plan.masked_FL.equal(trajectories.valid_BL.index_select(0, plan.response_F)));
  EXPECT_TRUE(plan.target_FL.equal(plan.masked_FL));
}

}  // namespace drift::rldf_masking_properties_test
