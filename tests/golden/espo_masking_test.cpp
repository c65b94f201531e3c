// The sizes of ESPO's masks (docs/spec/espo.md 4.2).

#include "tests/support/golden_cases.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"

#include <gmock/gmock.h>

namespace drift::espo_masking_test {

using testing::Each;

/// Masked positions in forward 0 of each response.
std::vector<double> mask_sizes(const MaskPlan& plan, std::int64_t responses) {
  std::vector<double> sizes;
  for (std::int64_t b = 0; b < responses; ++b) {
    const std::int64_t view = test::find_view(plan, 0, b);
    sizes.push_back(view < 0 ? 0 : plan.masked_FL[view].sum().item<double>());
  }
  return sizes;
}

TEST(EspoMaskingGolden, TheSizesOfAMicroBatchAreSpreadFromItsRandomFirst) {
  constexpr std::int64_t kSteps = 3000;  // enough to meet one c of 257
  for (const auto& golden : test::read_golden_cases("espo_masking.txt")) {
    SCOPED_TRACE(golden.name);
    const std::int64_t length = std::stoll(golden.settings.at("length"));
    const std::int64_t micro_batch = std::stoll(golden.settings.at("micro_batch"));
    const auto trajectories = test::equal_trajectories(2 * micro_batch, length);
    const auto strategy = test::create<MaskingStrategy>("espo", "espo", {{"micro_batch", micro_batch}});
    for (const auto& [name, sizes] : golden.rows) {
      bool met = false;
      for (std::int64_t step = 0; step < kSteps && !met; ++step) {
        MaskingInput input = test::masking_input(trajectories);
        input.step = step;
        const auto all = mask_sizes(test::draw_plan(*strategy, input), 2 * micro_batch);
        // The second micro-batch starts from a different size.
        for (const std::int64_t first : {std::int64_t{0}, micro_batch}) {
          if (all[static_cast<std::size_t>(first)] != sizes.front()) continue;
          EXPECT_EQ(std::vector<double>(all.begin() + first, all.begin() + first + micro_batch), sizes) << name;
          met = true;
        }
      }
      EXPECT_TRUE(met) << name;
    }
  }
}

TEST(EspoMaskingGolden, AViewScoresWhatItMasksAndItsComplementTheRest) {
  const auto trajectories = test::equal_trajectories(7, 6);
  for (const bool coupled : {true, false}) {
    const auto strategy =
        test::create<MaskingStrategy>("espo", "espo", {{"num_mc", std::int64_t{2}}, {"coupled", coupled}});
    const MaskPlan plan = test::draw_plan(*strategy, trajectories);
    EXPECT_EQ(plan.terms, coupled ? 4 : 2);
    EXPECT_EQ(test::numbers(plan.masked_FL), test::numbers(plan.target_FL));
    EXPECT_FALSE(plan.weight_F.defined());
    EXPECT_FALSE(plan.prompt_masked_FP.defined());
    if (!coupled) continue;
    for (std::int64_t b = 0; b < 7; ++b) {
      for (const std::int64_t m : {0, 1}) {
        std::vector<double> covered(6);
        for (const std::int64_t forward : {2 * m, 2 * m + 1}) {
          const std::int64_t view = test::find_view(plan, forward, b);
          if (view < 0) continue;  // nothing masked
          const auto masked = test::numbers(plan.masked_FL, view);
          for (std::size_t i = 0; i < 6; ++i) covered[i] += masked[i];
        }
        EXPECT_THAT(covered, Each(1));
      }
    }
  }
}

}  // namespace drift::espo_masking_test
