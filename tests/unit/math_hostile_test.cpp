// Answers that want to cost much. What they cost: bench/math_bench.

#include <gmock/gmock.h>
#include <reward.h>

#include <string>

#include "tests/support/hostile_answers.h"

namespace drift {
namespace {

RewardResult judge(const std::string& truth, const std::string& response, const std::string& legacy = "none") {
  const math_reward::MathReward reward{
      Params(math_reward::MathReward::parameters(), {{"legacy", legacy}, {"unclosed", "lenient"}})};
  TaskItem item;
  item.reference = truth;
  RewardResult result;
  reward.score({response, &item}, result);
  return result;
}

TEST(HostileAnswers, AreJudgedRightly) {
  for (const auto& hostile : test::hostile_answers()) {
    const RewardResult result = judge(hostile.truth, hostile.response);
    const bool lenient = hostile.name == "9,000 boxes that are never closed after the answer";
    EXPECT_EQ(result.solved, hostile.solved || lenient) << hostile.name << ": " << result.reason;
    EXPECT_LT(result.reason.size(), 1000u) << hostile.name;
  }
}

// As truths they are no better; a response to one of them may say what it likes.
TEST(HostileAnswers, AreHarmlessAsTruthsToo) {
  for (const auto& hostile : test::hostile_answers()) {
    EXPECT_FALSE(judge(hostile.response, "\\boxed{17.25}").solved) << hostile.name;
    EXPECT_LE(hostile.response.size(), 64u << 10) << hostile.name;
    const auto swapped = math_reward::extract_box(hostile.response, {});
    if (swapped.answer.empty()) continue;
    EXPECT_EQ(judge(swapped.answer, "\\boxed{" + hostile.truth + "}").solved, hostile.solved) << hostile.name;
  }
}

TEST(HostileAnswers, DoNotStopTheOriginalsRules) {
  for (const auto& hostile : test::hostile_answers()) {
    EXPECT_FALSE(judge(hostile.truth + " or so", hostile.response, "rldf_release").solved) << hostile.name;
  }
}

}  // namespace
}  // namespace drift
