// Reward `countdown`: which expressions solve a puzzle.

#include <drift/error.h>
#include <drift/reward.h>

#include "tests/support/plugins.h"
#include "tests/support/reward_cases.h"
#include "tests/support/support.h"

namespace drift::countdown_reward_test {

using testing::HasSubstr;
using Values = std::map<std::string, Parameter::Value>;

TaskItem item_of(const std::string& numbers, const std::string& target) {
  TaskItem item;
  item.id = numbers + "=" + target;
  item.reference = R"({"numbers": [)" + numbers + R"(], "target": )" + target + "}";
  return item;
}

RewardResult score(const std::string& response, const Values& values = {},
                   const TaskItem& item = item_of("3, 7, 12", "48")) {
  RewardResult result;
  result.reason = "left over from the response before";
  test::create<Reward>("countdown", "countdown", values)->score({response, &item}, result);
  return result;
}

void expect(const RewardResult& result, double value, RewardStatus status, const std::string& reason) {
  EXPECT_DOUBLE_EQ(result.value, value) << result.reason;
  EXPECT_EQ(result.solved, value == 1) << result.reason;
  EXPECT_EQ(result.status, status) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr(reason));
}

void expect_solved(const RewardResult& result) { expect(result, 1, RewardStatus::kOk, "solved"); }

TEST(CountdownReward, IsAsTheTableSays) { test::check_reward_cases("countdown", item_of("3, 7, 12", "48")); }

TEST(CountdownReward, BytesThatAreNoTextAreNoArithmetic) {
  expect(score("12\xFF"), 0, RewardStatus::kParseError, "cannot read a sign that is not part of arithmetic");
}

// By the default rules it is solved; the paper's prompt asks for more.
TEST(CountdownReward, ASolutionWithAnOddStepIsTold) {
  const auto reason = [](const std::string& response, const TaskItem& item) {
    return score(response, {}, item).reason;
  };
  EXPECT_EQ(reason("3+12-7", item_of("3, 7, 12", "8")), "solved");
  EXPECT_EQ(reason("3-7+12", item_of("3, 7, 12", "8")), "solved, but a step gives -4, not a positive integer");
  EXPECT_EQ(reason("-7+3+12", item_of("3, 7, 12", "8")), "solved, but a step gives -7, not a positive integer");
  EXPECT_EQ(reason("7/3*12", item_of("3, 7, 12", "28")), "solved, but a step gives 7/3, not a positive integer");
}

// What takes the originals for ever is refused at once: powers are no arithmetic here, and nothing is deep or long.
TEST(CountdownReward, NoAnswerIsExpensive) {
  expect(score("9**9**9"), 0, RewardStatus::kParseError, "expected where `*`");
  expect(score(std::string(30, '(') + "12" + std::string(30, ')')), 0, RewardStatus::kWrong, "the value is 12");
  expect(score(std::string(32, '(') + "12" + std::string(32, ')')), 0, RewardStatus::kParseError, "more than 32 deep");
  expect(score(std::string(200, '-') + "12"), 0, RewardStatus::kParseError, "nested more than 32 deep");
  for (const char c : {'(', '-', '{', '9', ' ', '$', '\0'}) {
    expect(score(std::string(1 << 20, c)), 0, RewardStatus::kParseError, "1048576 bytes, more than 256");
  }
}

TEST(CountdownReward, ReferencesAreReadAsDataSetsHaveThem) {
  for (const std::string reference :
       {R"({"target": 48, "numbers": [3, 7, 12]})", R"({"target": 48, "nums": [3, 7, 12]})",
        R"({"question": "Make 48.", "ground_truth_answer": {"target": 48, "numbers": [3, 7, 12]}})"}) {
    TaskItem item;
    item.reference = reference;
    expect_solved(score("12*(7-3)", {}, item));
    expect(score("48", {}, item), 0, RewardStatus::kWrong, "48 is not given");
  }
}

TEST(CountdownReward, AReferenceWithoutItsNumbersIsAnError) {
  const auto reward = test::create<Reward>("countdown", "countdown");
  RewardResult result;
  const auto error_of = [&](const std::string& reference) {
    TaskItem item;
    item.id = "the item";
    item.reference = reference;
    return test::error_of([&] { reward->score({"48", &item}, result); });
  };
  for (const std::string reference :
       {"", "{}", "[", R"({"numbers": [3, 7]})", R"({"question": "Make 48.", "ground_truth_answer": [3]})"}) {
    EXPECT_THAT(error_of(reference), testing::StartsWith("cannot read the reference of item the item | "));
  }
  for (const std::string reference :
       {"48", "\"48\"", R"({"target": 48})", R"({"numbers": [], "target": 48})",
        R"({"numbers": [3, "7"], "target": 48})", R"({"question": "Make 48.", "ground_truth_answer": "48"})"}) {
    EXPECT_THAT(error_of(reference), HasSubstr("it has a target without numbers, and to repeat the target would be"));
  }
  EXPECT_THROW(reward->score({"48", nullptr}, result), Error);
}

TEST(CountdownReward, AnyBytesAreJudgedAndThreadsAgree) {
  const std::vector<std::string> words = {"12",      "7",      "3",        "+", "-",   "*",        "/",    "(",  ")",
                                          "\\frac{", "}{",     "}",        "=", "48",  "\\left",   "\xC3", "\n", "$",
                                          "\\times", "\u00F7", "<answer>", "0", "999", "</answer>"};
  const auto reward = test::create<Reward>("countdown", "countdown", {{"score", "partial"}});
  EXPECT_THAT(test::judge_any_bytes(*reward, item_of("3, 7, 12", "48"), words, 9, 24),
              testing::Contains(HasSubstr("the value is")));
}

}  // namespace drift::countdown_reward_test
