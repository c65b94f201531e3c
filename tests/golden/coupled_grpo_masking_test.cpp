// Coupled-GRPO's masks and weights (docs/spec/coupled_grpo.md 6.1, 6.2).

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <drift/error.h>

namespace drift::coupled_grpo_masking_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

constexpr std::int64_t kEnd = 9;

std::unique_ptr<MaskingStrategy> coupled(const Values& values = {}) {
  return test::create<MaskingStrategy>("coupled_grpo", "coupled_grpo", values);
}

MaskPlan draw(const Values& values, const Trajectories& trajectories) {
  MaskingInput input = test::masking_input(trajectories);
  input.end_id = kEnd;
  return test::draw_plan(*coupled(values), input);
}

// As 6.8's masks, t = .4: uniforms .10, .50, .39, .90 give 1, 0, 1, 0. Here t is one of the uniforms drawn.
TEST(CoupledGrpoMaskingGolden, TheFirstMaskOfAPairIsWhereTheUniformIsBelowT) {
  constexpr std::int64_t kLength = 6;
  const auto trajectories = test::equal_trajectories(2, kLength);
  const MaskingInput input = test::masking_input(trajectories);
  std::vector<std::vector<double>> uniforms(2);
  for (std::int64_t b = 0; b < 2; ++b) {
    for (std::int64_t i = 0; i < kLength; ++i) uniforms[b].push_back(input.random.uniform({0, b, i, 0}));
  }
  auto sorted = uniforms[0];
  std::sort(sorted.begin(), sorted.end());
  const double t = sorted[3];
  const MaskPlan plan = draw({{"t_low", t}, {"t_high", t}}, trajectories);
  EXPECT_EQ(plan.terms, 3);
  for (std::int64_t b = 0; b < 2; ++b) {
    std::vector<double> first, second;
    for (const double u : uniforms[b]) {
      first.push_back(u < t);
      second.push_back(u >= t);
    }
    EXPECT_THAT(test::numbers(plan.masked_FL, test::find_view(plan, 0, b)), Each(1)) << "the full mask";
    EXPECT_EQ(test::numbers(plan.masked_FL, test::find_view(plan, 1, b)), first);
    EXPECT_EQ(test::numbers(plan.masked_FL, test::find_view(plan, 2, b)), second) << "equality is in the complement";
    EXPECT_FLOAT_EQ(plan.weight_F[test::find_view(plan, 0, b)].item<float>(), 1);
    EXPECT_FLOAT_EQ(plan.weight_F[test::find_view(plan, 1, b)].item<float>(), 1 / t);
    EXPECT_FLOAT_EQ(plan.weight_F[test::find_view(plan, 2, b)].item<float>(), 1 / (1 - t));
  }
}

TEST(CoupledGrpoMaskingGolden, MasksContinueAfterTheEndAndScoresDoNot) {
  const auto trajectories =
      test::token_trajectories({{1, 2, kEnd, kEnd, 3, 4, 5, 6}, {1, 1, 1, 1, 1, 1, 1, 1}, {kEnd, 1, 1, 1, 1, 1, 1, 1}});
  const MaskPlan plan = draw({{"t_low", 0.5}, {"t_high", 0.5}}, trajectories);
  const std::vector<std::int64_t> scored = {3, 8, 1};
  for (std::int64_t view = 0; view < plan.response_F.size(0); ++view) {
    const auto masked = test::numbers(plan.masked_FL, view), target = test::numbers(plan.target_FL, view);
    for (std::int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(target[i], masked[i] != 0 && i < scored[plan.response_F[view].item<std::int64_t>()])
          << view << " " << i;
  }
  EXPECT_EQ(test::views_of(plan, 2).size(), 2u) << "a view that scores nothing is left out";
  const MaskPlan other = draw({{"end_id", std::int64_t{2}}}, trajectories);
  EXPECT_THAT(test::numbers(other.target_FL, test::find_view(other, 0, 0)), ElementsAre(1, 1, 0, 0, 0, 0, 0, 0));
}

TEST(CoupledGrpoMaskingGolden, PairsAndTheFullMaskAreOptions) {
  const auto trajectories = test::equal_trajectories(3, 30);
  const MaskPlan three = draw({{"pairs", std::int64_t{3}}}, trajectories);
  EXPECT_EQ(three.terms, 7);
  EXPECT_EQ(test::views_of(three, 1).size(), 7u);
  const MaskPlan alone = draw({{"include_full_mask", false}}, trajectories);
  EXPECT_EQ(alone.terms, 2);
  EXPECT_EQ(test::numbers(alone.masked_FL, test::find_view(alone, 0, 2)),
            test::numbers(draw({}, trajectories).masked_FL, test::find_view(draw({}, trajectories), 1, 2)));
}

TEST(CoupledGrpoMaskingGolden, ARangeOfTTheWrongWayRoundIsRefused) {
  EXPECT_THROW(coupled({{"t_low", 0.8}, {"t_high", 0.2}}), Error);
}

}  // namespace drift::coupled_grpo_masking_test
