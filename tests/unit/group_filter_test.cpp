#include "tests/support/rollouts.h"
#include "tests/support/support.h"

#include <core/train/group_filter.h>

namespace drift::group_filter_test {

using namespace testing;

using Kept = std::vector<std::int64_t>;

/// Groups of two: 'v' varies, 'r' is all right, 'w' is all wrong; `steps` per group.
GroupFilterInput groups(const std::string& kinds, const std::vector<double>& steps = {}, std::int64_t step = 0) {
  std::vector<double> rewards, step_counts;
  for (std::size_t g = 0; g < kinds.size(); ++g) {
    rewards.insert(rewards.end(), {kinds[g] == 'w' ? 0.0 : 1.0, kinds[g] == 'r' ? 1.0 : 0.0});
    const double mean = steps.empty() ? 1 : steps[g];
    step_counts.insert(step_counts.end(), {mean - 1, mean + 1});
  }
  return {test::vector_tensor(rewards),
          test::vector_tensor(step_counts).to(at::kLong),
          2,
          RandomStream(1, "filter"),
          step,
          {}};
}

constexpr GroupFilterSettings require_variance(std::int64_t max_groups = 0) {
  return {true, max_groups, GroupFill::kNone};
}
constexpr GroupFilterSettings fill(std::int64_t max_groups) {
  return {true, max_groups, GroupFill::kKeepConstantGroups};
}

TEST(GroupFilter, DropsGroupsOfEqualRewardsIfVarianceIsRequired) {
  EXPECT_THAT(kept_groups(groups("vrwv"), require_variance()), ElementsAre(0, 3));
  EXPECT_THAT(kept_groups(groups("rw"), require_variance()), IsEmpty());
  EXPECT_THAT(kept_groups(groups("vrwv"), {false, 0, GroupFill::kNone}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kept_groups(groups("vrwv"), {false, 2, GroupFill::kNone}), SizeIs(2));
  GroupFilterInput input = groups("v");
  input.rewards_B = test::vector_tensor({0.3, 0.1 + 0.2});
  EXPECT_THAT(kept_groups(input, require_variance()), IsEmpty());
}

TEST(GroupFilter, ChoosesUniformlyAmongTooManyVaryingGroups) {
  std::map<std::int64_t, int> times;
  for (int step = 0; step < 4000; ++step) {
    const Kept kept = kept_groups(groups("vvwvv", {}, step), require_variance(2));
    ASSERT_THAT(kept, SizeIs(2));
    for (const auto group : kept) ++times[group];
  }
  EXPECT_EQ(times.count(2), 0u);
  for (const std::int64_t group : {0, 1, 3, 4}) EXPECT_NEAR(times[group], 2000, 130) << group;  // four standard errors
}

TEST(GroupFilter, FillsWithRightGroupsThenWithTheLongestWrongOnesAndDropsNothingBelowTheLimit) {
  EXPECT_THAT(kept_groups(groups("wrw"), fill(3)), ElementsAre(0, 1, 2));
  EXPECT_THAT(kept_groups(groups("wrw"), fill(0)), ElementsAre(0, 1, 2));
  const GroupFilterInput input = groups("wrwvww", {5, 9, 8, 1, 3, 8});
  EXPECT_THAT(kept_groups(input, fill(1)), ElementsAre(3));
  EXPECT_THAT(kept_groups(input, fill(2)), ElementsAre(1, 3));
  EXPECT_THAT(kept_groups(input, fill(3)), ElementsAre(1, 2, 3));
  EXPECT_THAT(kept_groups(input, fill(4)), ElementsAre(1, 2, 3, 5));
  EXPECT_THAT(kept_groups(input, fill(5)), ElementsAre(0, 1, 2, 3, 5));
}

TEST(GroupFilter, TheRightGroupThatFillsUpIsDrawn) {
  std::set<Kept> seen;
  for (int step = 0; step < 50; ++step) seen.insert(kept_groups(groups("rrw", {}, step), fill(1)));
  EXPECT_EQ(seen, (std::set<Kept>{{0}, {1}}));
}

TEST(GroupFilter, DropsGroupsWhoseShareOfSolvedResponsesIsOutOfBounds) {
  GroupFilterInput input;
  input.group_size = 4;
  input.random = RandomStream(1, "filter");
  input.solved_B = test::vector_tensor({0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1}).to(at::kLong);
  input.rewards_B = input.solved_B.to(at::kDouble);
  input.steps_B = input.solved_B;
  const auto kept = [&](double low, double high, bool variance = false, GroupFill filler = GroupFill::kNone,
                        std::int64_t max_groups = 0) {
    return kept_groups(input, {variance, max_groups, filler, low, high});
  };
  EXPECT_THAT(kept(0, 1), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(kept(0.3, 0.7), ElementsAre(2));
  EXPECT_THAT(kept(0.25, 0.75), ElementsAre(1, 2, 3)) << "the bounds belong to the range";
  EXPECT_THAT(kept(0.2, 0.8), ElementsAre(1, 2, 3));
  EXPECT_THAT(kept(0.25, 1), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(kept(0.25, 1, true), ElementsAre(1, 2, 3));
  EXPECT_THAT(kept(0, 0.75, true, GroupFill::kKeepConstantGroups, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kept(0.9, 1, true, GroupFill::kKeepConstantGroups, 4), ElementsAre(4));
  EXPECT_THAT(kept(0.3, 0.4), IsEmpty());
}

TEST(GroupFilter, IsAFunctionOfTheStreamAndTheStep) {
  EXPECT_EQ(kept_groups(groups("vvvvvvvv", {}, 3), require_variance(4)),
            kept_groups(groups("vvvvvvvv", {}, 3), require_variance(4)));
}

}  // namespace drift::group_filter_test
