// d1's one view (docs/spec/d1.md 3.1, 3.2).

#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"
#include "tests/support/support.h"

namespace drift::d1_masking_test {

using namespace testing;
using Values = std::map<std::string, Parameter::Value>;

constexpr std::int64_t kEnd = 7;

MaskPlan draw(const Values& values, const Trajectories& trajectories) {
  MaskingInput input = test::masking_input(trajectories);
  input.end_id = kEnd;
  return test::draw_plan(*test::create<MaskingStrategy>("d1", "d1", values), input);
}

TEST(D1MaskingGolden, EveryResponsePositionIsMaskedAndThoseThroughTheFirstEndAreScored) {
  const auto trajectories = test::token_trajectories({{5, 6, kEnd, kEnd}, {5, 6, 5, 6}, {kEnd, 5, 5, 5}});
  const MaskPlan plan = draw({}, trajectories);
  EXPECT_EQ(plan.terms, 1);
  EXPECT_THAT(test::numbers(plan.response_F), ElementsAre(0, 1, 2));
  EXPECT_THAT(test::numbers(plan.masked_FL), Each(1));
  EXPECT_THAT(test::numbers(plan.target_FL, 0), ElementsAre(1, 1, 1, 0));
  EXPECT_THAT(test::numbers(plan.target_FL, 1), ElementsAre(1, 1, 1, 1)) << "no end: all";
  EXPECT_THAT(test::numbers(plan.target_FL, 2), ElementsAre(1, 0, 0, 0));
  const MaskPlan chosen = draw({{"end_id", std::int64_t{6}}}, trajectories);
  EXPECT_THAT(test::numbers(chosen.target_FL, 0), ElementsAre(1, 1, 0, 0)) << "another token ends";
}

// 3.2's example: uniforms .05, .50, .149, .15 with p = .15 give 1, 0, 1, 0. Here p is one of the uniforms drawn.
TEST(D1MaskingGolden, APromptTokenIsMaskedWhereItsUniformIsBelowP) {
  constexpr std::int64_t kPrompt = 6;
  const auto trajectories = test::token_trajectories({{1, 2}, {1, 2}}, kPrompt);
  MaskingInput input = test::masking_input(trajectories);
  input.step = 3;
  input.inner_iteration = 2;
  std::vector<std::vector<double>> uniforms;
  for (std::int64_t b = 0; b < 2; ++b) {
    uniforms.emplace_back();
    for (std::int64_t p = 0; p < kPrompt; ++p)
      uniforms.back().push_back(input.random.uniform({3, b, kPrompt - 1 - p, 2}));
  }
  auto sorted = uniforms[0];
  std::sort(sorted.begin(), sorted.end());
  const double p_mask_prompt = sorted[3];
  const auto strategy = test::create<MaskingStrategy>("d1", "d1", {{"p_mask_prompt", p_mask_prompt}});
  const MaskPlan plan = test::draw_plan(*strategy, input);
  for (std::int64_t b = 0; b < 2; ++b) {
    std::vector<double> expected;
    for (const double u : uniforms[b]) expected.push_back(u < p_mask_prompt);
    EXPECT_EQ(test::numbers(plan.prompt_masked_FP, b), expected);
  }
  const auto first = test::numbers(plan.prompt_masked_FP, 0);
  EXPECT_EQ(std::count(first.begin(), first.end(), 1.0), 3) << "the position whose uniform equals p stays";
}

}  // namespace drift::d1_masking_test
