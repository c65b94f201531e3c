#include "tests/support/golden_cases.h"
#include "tests/support/plugins.h"
#include "tests/support/rollouts.h"

#include <gmock/gmock.h>

namespace drift::tracerl_masking_test {

using testing::ElementsAreArray;

// Raw steps 0 3 1 1 4 7; position 5 is padding.
const test::ResponseRow kResponse = {{0, 3, 1, 1, 4, 7}, {1, 1, 1, 1, 1, 0}, {.5, .5, .5, .5, .5, .5}};

TEST(TracerlMaskingGolden, SlicesAreMaskedAndScoredAsInTheOriginal) {
  for (const auto& expected : test::read_golden_cases("tracerl_masking.txt")) {
    std::map<std::string, Parameter::Value> values;
    const auto* entry = test::load_plugin("tracerl").find(ComponentKind::kMaskingStrategy, "tracerl");
    for (const auto& [key, text] : expected.settings) values[key] = test::param_from_text(*entry, key, text);
    const auto strategy = test::create<MaskingStrategy>("tracerl", "tracerl", values);
    const auto trajectories = test::make_trajectories({kResponse});
    const MaskPlan plan = test::draw_plan(*strategy, trajectories);

    const auto& first_steps = expected.row("first_step");
    EXPECT_THAT(test::shown_steps(plan, trajectories), ElementsAreArray(first_steps)) << expected.name;
    EXPECT_EQ(plan.terms, static_cast<std::int64_t>(first_steps.size())) << expected.name;
    for (std::size_t f = 0; f < first_steps.size(); ++f) {
      const auto view = test::find_view(plan, static_cast<std::int64_t>(f), 0);
      ASSERT_GE(view, 0) << expected.name;
      EXPECT_THAT(test::numbers(plan.masked_FL, view), ElementsAreArray(expected.row("masked_" + std::to_string(f))))
          << expected.name << ", row " << f;
      EXPECT_THAT(test::numbers(plan.target_FL, view), ElementsAreArray(expected.row("target_" + std::to_string(f))))
          << expected.name << ", row " << f;
    }
  }
}

}  // namespace drift::tracerl_masking_test
