// The masked contexts of AGRPO, UniGRPO, GDPO, d2-StepMerge, MDPO and VRPO, by hand from the formulas on their pages
// (docs/algorithms).

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"
#include "tests/support/tensors.h"

namespace drift::estimator_maskings_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

std::unique_ptr<MaskingStrategy> masking(const std::string& name, const Values& values = {}) {
  return test::create<MaskingStrategy>(name, name, values);
}
Parameter::Value text(const char* value) { return std::string(value); }
std::int64_t number(std::int64_t value) { return value; }

// Raw steps 0 3 1 1 4 7; position 5 is padding, and no token ends.
Trajectories six_positions() {
  return test::make_trajectories({{{0, 3, 1, 1, 4, 7}, {1, 1, 1, 1, 1, 0}, {.5, .5, .5, .5, .5, .5}}});
}

/// "masked / scored" of a view, as digits.
std::string shown(const MaskPlan& plan, std::int64_t view) {
  std::string out;
  for (const double bit : test::numbers(plan.masked_FL, view)) out += bit != 0 ? '1' : '0';
  out += " / ";
  for (const double bit : test::numbers(plan.target_FL, view)) out += bit != 0 ? '1' : '0';
  return out;
}

std::vector<std::string> all_shown(const MaskPlan& plan) {
  std::vector<std::string> views;
  for (std::int64_t view = 0; view < plan.response_F.size(0); ++view) views.push_back(shown(plan, view));
  return views;
}

double weight(const MaskPlan& plan, std::int64_t view) {
  return plan.weight_F.defined() ? plan.weight_F[view].item<double>() : 1;
}

double masked(const MaskPlan& plan, std::int64_t view) { return plan.masked_FL[view].sum().item<double>(); }

// ---- d2-StepMerge: boundaries int(n S / N) of the S steps, as in the release ----

TEST(D2Masking, SegmentsOfTheTrajectoryArePredictedFromTheStateBeforeThem) {
  const auto plan = [](std::int64_t segments) {
    return test::draw_plan(*masking("d2", {{"segments", segments}, {"p_mask_prompt", 0.0}}), six_positions());
  };
  EXPECT_THAT(all_shown(plan(1)), ElementsAre("111111 / 111111"));
  EXPECT_THAT(all_shown(plan(2)), ElementsAre("111111 / 101100", "010011 / 010011"));
  EXPECT_THAT(all_shown(plan(3)), ElementsAre("111111 / 100000", "011111 / 011100", "000011 / 000011"));
  EXPECT_THAT(all_shown(plan(5)), ElementsAre("111111 / 100000", "011111 / 001100", "010011 / 010000",
                                              "000011 / 000010", "000001 / 000001"));
  EXPECT_EQ(all_shown(plan(16)), all_shown(plan(5))) << "every step is a segment";
}

TEST(D2Masking, EveryTokenIsScoredOnceWhateverTheNumberOfSegments) {
  const auto trajectories = test::random_trajectories(6, 12, 5);
  for (const std::int64_t segments : {1, 2, 3, 7, 100}) {
    const MaskPlan plan = test::draw_plan(*masking("d2", {{"segments", segments}}), trajectories);
    const auto committed_BL = (trajectories.step_BL >= 0).to(at::kDouble);
    const auto scored_BL = at::zeros_like(committed_BL).index_add(0, plan.response_F, plan.target_FL.to(at::kDouble));
    EXPECT_EQ(test::numbers(scored_BL), test::numbers(committed_BL)) << segments;
  }
}

TEST(D2Masking, AllSegmentsOfAnIterationSeeTheSamePrompt) {
  const auto trajectories = test::token_trajectories({{1, 2, 3, 4}}, /*prompt_length=*/40);
  const auto strategy = masking("d2", {{"segments", number(4)}, {"p_mask_prompt", 0.5}});
  EXPECT_EQ(strategy->refresh(), PlanRefresh::kEachInnerIteration);
  std::set<std::vector<double>> prompts;
  for (const std::int64_t iteration : {0, 1, 2}) {
    const MaskPlan plan = test::draw_inner_plan(*strategy, trajectories, 0, iteration);
    for (std::int64_t view = 0; view < plan.response_F.size(0); ++view)
      prompts.insert(test::numbers(plan.prompt_masked_FP, view));
  }
  EXPECT_EQ(prompts.size(), 3) << "one for each iteration";
}

// ---- AGRPO ----

TEST(AgrpoMasking, ADrawnStepShowsTheStateBeforeItAndScoresWhatItCommitted) {
  // As many draws as steps, one in each part of the trajectory: every step once. Step 7 commits padding alone.
  const MaskPlan plan = test::draw_plan(*masking("agrpo", {{"mc_samples", number(4)}}), six_positions());
  EXPECT_THAT(all_shown(plan), ElementsAre("111111 / 100000", "011111 / 001100", "010011 / 010000", "000011 / 000010"));
  EXPECT_EQ(plan.terms, 4);
  EXPECT_FALSE(plan.weight_F.defined()) << "all count the same";
}

TEST(AgrpoMasking, TheWeightsMakeEveryStepCountTheSameOnAverage) {
  // Steps 0 to 3 commit a token each, with very different probabilities.
  const auto trajectories = test::make_trajectories({{{0, 1, 2, 3}, {1, 1, 1, 1}, {.99, .5, .1, .9}}});
  for (const double share : {0.0, 0.5, 0.9}) {
    for (const bool stratified : {false, true}) {
      const auto strategy =
          masking("agrpo", {{"mc_samples", number(2)}, {"surprise_share", share}, {"stratified", stratified}});
      constexpr std::int64_t kDraws = 4000;
      std::vector<double> mean(4), square(4);
      for (std::int64_t step = 0; step < kDraws; ++step) {
        const MaskPlan plan = test::draw_plan(*strategy, trajectories, step);
        std::vector<double> counted(4);
        for (std::int64_t view = 0; view < 2; ++view) {
          EXPECT_LE(weight(plan, view), 1 / (1 - share) + 1e-6);
          counted[static_cast<std::size_t>(4 - masked(plan, view))] += weight(plan, view) / 2;
        }
        for (std::size_t s = 0; s < 4; ++s)
          mean[s] += counted[s] / kDraws, square[s] += counted[s] * counted[s] / kDraws;
      }
      for (std::size_t s = 0; s < 4; ++s) {
        const double error = std::sqrt((square[s] - mean[s] * mean[s]) / kDraws);
        EXPECT_NEAR(mean[s], 0.25, 5 * error + 1e-9) << "step " << s << ", share " << share;
      }
    }
  }
}

TEST(AgrpoMasking, WithoutAValidTokenThereIsNoView) {
  const auto trajectories = test::make_trajectories({{{0, 1}, {0, 0}, {.5, .5}}, {{1, 0}, {0, 1}, {.5, .5}}});
  const MaskPlan plan = test::draw_plan(*masking("agrpo", {{"mc_samples", number(3)}}), trajectories);
  EXPECT_THAT(test::numbers(plan.response_F), ElementsAre(1, 1, 1));
  EXPECT_THAT(all_shown(plan), Each("11 / 01"));
}

// ---- UniGRPO ----

TEST(UnigrpoMasking, RatiosAreSpacedAsInAlgorithm1AndAsInThePapersExample) {
  const auto trajectories = test::equal_trajectories(1, 300);
  MaskingInput input = test::masking_input(trajectories);
  const RandomStream starts = input.random.child("first timestep");
  while (starts.below(1000, {input.step, 0, 0, 0}) != 100) ++input.step;  // the example begins at timestep 100
  const std::map<std::string, std::vector<double>> expected = {{"to_end", {100, 325, 550, 775, 1000}},
                                                               {"around", {100, 300, 500, 700, 900}}};
  for (const auto& [spacing, timesteps] : expected) {
    const auto strategy = masking("unigrpo", {{"iterations", number(5)}, {"spacing", spacing}});
    for (std::int64_t n = 0; n < 5; ++n) {
      input.inner_iteration = n;
      const MaskPlan plan = test::draw_plan(*strategy, input);
      ASSERT_EQ(plan.response_F.size(0), 1);
      for (std::int64_t i = 0; i < 300; ++i) {
        const bool hidden = input.random.uniform({input.step, 0, i, n}) < timesteps[static_cast<std::size_t>(n)] / 1000;
        ASSERT_EQ(plan.masked_FL[0][i].item<bool>(), hidden) << spacing << " " << n;
      }
      EXPECT_EQ(test::numbers(plan.masked_FL), test::numbers(plan.target_FL));
    }
  }
}

// Eq. 5 of the paper: the loss's mean over the masked tokens, times their share, is their sum / the response's tokens.
TEST(UnigrpoMasking, TheWeightMakesTheResponsesLengthTheNormaliser) {
  const auto trajectories = test::token_trajectories({{1, 2, 3, 4, 9, 8, 8}});
  MaskingInput input = test::masking_input(trajectories);
  input.end_id = 9;  // n = 5
  std::set<double> shares;
  for (std::int64_t n = 0; n < 5; ++n) {
    input.inner_iteration = n;
    const MaskPlan plan = test::draw_plan(*masking("unigrpo", {{"normaliser", text("response")}}), input);
    for (std::int64_t view = 0; view < plan.response_F.size(0); ++view) {
      EXPECT_NEAR(weight(plan, view), plan.target_FL[view].sum().item<double>() / 5, 1e-6);
      shares.insert(weight(plan, view));
    }
    EXPECT_FALSE(test::draw_plan(*masking("unigrpo"), input).weight_F.defined());
  }
  EXPECT_GT(shares.size(), 1);
}

TEST(UnigrpoMasking, WhatFollowsTheEndIsMaskedAndNotScored) {
  const auto trajectories = test::token_trajectories({{1, 2, 9, 4, 5}});
  MaskingInput input = test::masking_input(trajectories);
  input.end_id = 9;
  input.inner_iteration = 4;  // the last of five: everything is masked
  const MaskPlan plan = test::draw_plan(*masking("unigrpo"), input);
  EXPECT_THAT(all_shown(plan), ElementsAre("11111 / 11100"));
}

// ---- GDPO: nodes and weights of Gauss-Legendre quadrature (Abramowitz and Stegun, table 25.4), from [-1, 1] to [0, 1]
// ----

TEST(GdpoMasking, SharesAndWeightsAreThoseOfTheQuadrature) {
  struct Rule {
    std::int64_t points;
    std::vector<double> node, weight;
  };
  for (const Rule& rule : {Rule{1, {0}, {2}}, Rule{2, {-0.5773502692, 0.5773502692}, {1, 1}},
                           Rule{3, {-0.7745966692, 0, 0.7745966692}, {0.5555555556, 0.8888888889, 0.5555555556}},
                           Rule{5,
                                {-0.9061798459, -0.5384693101, 0, 0.5384693101, 0.9061798459},
                                {0.2369268851, 0.4786286705, 0.5688888889, 0.4786286705, 0.2369268851}}}) {
    const MaskPlan plan =
        test::draw_plan(*masking("gdpo", {{"points", rule.points}}), test::equal_trajectories(1, 999));
    ASSERT_EQ(plan.terms, rule.points);
    for (std::int64_t view = 0; view < rule.points; ++view) {
      const auto v = static_cast<std::size_t>(view);
      const double expected = std::round((1 + rule.node[v]) / 2 * 999);
      EXPECT_EQ(masked(plan, view), expected);
      EXPECT_NEAR(weight(plan, view), static_cast<double>(rule.points) * rule.weight[v] / 2 * 999 / expected, 1e-5);
    }
  }
}

TEST(GdpoMasking, MasksOfOnePointDiffer) {
  const MaskPlan plan =
      test::draw_plan(*masking("gdpo", {{"points", number(1)}, {"masks", number(3)}}), test::equal_trajectories(1, 40));
  const auto views = all_shown(plan);
  EXPECT_EQ(std::set<std::string>(views.begin(), views.end()).size(), 3);
}

// ---- MDPO ----

TEST(MdpoMasking, AStepScoresAllThatItsStateMasksAndWeighsItByTheShare) {
  const MaskPlan plan = test::draw_plan(
      *masking("mdpo", {{"sample_train_steps", number(3)}, {"steps", text("earliest")}}), six_positions());
  EXPECT_THAT(all_shown(plan), ElementsAre("111111 / 111111", "011111 / 011111", "010011 / 010011"));
  EXPECT_THAT(test::numbers(plan.weight_F), Pointwise(DoubleNear(1e-6), std::vector<double>{1, 6.0 / 5, 2}));
}

TEST(MdpoMasking, DrawnStepsDoNotRepeat) {
  const auto strategy = masking("mdpo", {{"sample_train_steps", number(4)}});
  std::set<std::string> first;
  for (std::int64_t step = 0; step < 60; ++step) {
    const auto views = all_shown(test::draw_plan(*strategy, six_positions(), step));
    EXPECT_EQ(std::set<std::string>(views.begin(), views.end()).size(), 4);
    first.insert(views.front());
  }
  EXPECT_EQ(first.size(), 5) << "each of the five steps";
}

// ---- VRPO ----

TEST(VrpoMasking, EverySizeIsDrawnAndTheMasksOfATimestepShareIt) {
  const auto strategy = masking("vrpo", {{"num_t", number(2)}, {"num_masks", number(3)}});
  std::set<double> sizes;
  bool different_masks = false;
  for (std::int64_t step = 0; step < 100; ++step) {
    const MaskPlan plan = test::draw_plan(*strategy, test::equal_trajectories(1, 7), step);
    ASSERT_EQ(plan.terms, 6);
    for (const std::int64_t view : {0, 3}) {
      for (const std::int64_t next : {view + 1, view + 2}) {
        EXPECT_EQ(masked(plan, view), masked(plan, next));
        different_masks = different_masks || shown(plan, view) != shown(plan, next);
      }
      sizes.insert(masked(plan, view));
    }
  }
  EXPECT_EQ(sizes, (std::set<double>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(different_masks);
}

// The released code of BGPO and LLaDA's evaluation: from a drawn k, sizes k, k + n / n_t, … in a circle of n.
TEST(VrpoMasking, EvenlySpacedSizesCoverTheCircleAndEachIsAsLikely) {
  const auto sizes = [](std::int64_t tokens, std::int64_t timesteps, std::int64_t step) {
    const auto strategy = masking("vrpo", {{"num_t", timesteps}, {"spacing", text("even")}});
    const MaskPlan plan = test::draw_plan(*strategy, test::equal_trajectories(1, tokens), step);
    std::vector<std::int64_t> found;
    for (std::int64_t view = 0; view < timesteps; ++view) {
      found.push_back(static_cast<std::int64_t>(masked(plan, view)));
      EXPECT_NEAR(weight(plan, view), static_cast<double>(tokens) / masked(plan, view), 1e-5);
    }
    return found;
  };
  std::set<std::int64_t> first;
  std::map<std::int64_t, int> counted;
  for (std::int64_t step = 0; step < 700; ++step) {
    const std::int64_t k = sizes(8, 4, step).front();
    first.insert(k);
    const auto place = [&](std::int64_t on, std::int64_t n) { return (k - 1 + on) % n + 1; };
    EXPECT_THAT(sizes(8, 4, step), ElementsAre(k, place(2, 8), place(4, 8), place(6, 8)));
    for (const std::int64_t size : sizes(7, 3, step)) ++counted[size];
  }
  EXPECT_EQ(first.size(), 8);
  EXPECT_EQ(counted.size(), 7);
  for (const auto& [size, times] : counted) EXPECT_NEAR(times, 300, 85) << size;  // more than 5 deviations
  EXPECT_THAT(sizes(5, 5, 0), testing::UnorderedElementsAre(1, 2, 3, 4, 5)) << "as many as tokens: each once";
}

// ---- all of them ----

TEST(ElboMaskings, ConstantLogProbabilitiesGiveTheLengthTimesThem) {
  const auto trajectories = test::token_trajectories({{1, 2, 3, 4, 5, 6, 9, 8, 8}});
  MaskingInput input = test::masking_input(trajectories);
  input.end_id = 9;  // n = 7
  for (const char* name : {"gdpo", "vrpo"}) {
    const MaskPlan plan = test::draw_plan(*masking(name), input);
    double elbo = 0;
    for (std::int64_t view = 0; view < plan.terms; ++view) {
      EXPECT_EQ(shown(plan, view).substr(7, 2), "11") << "what follows the end is masked";
      elbo += weight(plan, view) * plan.target_FL[view].sum().item<double>() / static_cast<double>(plan.terms);
    }
    EXPECT_NEAR(elbo, 7, 1e-5) << name;
  }
}

TEST(EstimatorMaskings, EveryOptimizerStepHasItsOwnMasks) {
  const auto trajectories = test::equal_trajectories(2, 60);
  for (const char* name : {"unigrpo", "gdpo", "vrpo"}) {
    const auto strategy = masking(name);
    EXPECT_EQ(strategy->refresh(), PlanRefresh::kEachInnerIteration);
    const auto views = [&](std::int64_t step, std::int64_t iteration) {
      return test::views_of(test::draw_inner_plan(*strategy, trajectories, step, iteration), 1);
    };
    EXPECT_EQ(views(3, 1), views(3, 1)) << name;
    EXPECT_NE(views(3, 1), views(3, 2)) << name;
    EXPECT_NE(views(3, 1), views(4, 1)) << name;
  }
}

}  // namespace drift::estimator_maskings_test
