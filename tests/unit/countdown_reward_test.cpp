// Reward `countdown`: which expressions solve a puzzle.

#include <core/text/utf8.h>
#include <drift/error.h>
#include <drift/reward.h>
#include <gmock/gmock.h>

#include <map>
#include <thread>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift {
namespace {

using testing::HasSubstr;
using Values = std::map<std::string, ParamValue>;

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

TEST(CountdownReward, ARightExpressionIsSolved) {
  expect_solved(score("12*(7-3)"));
  expect_solved(score(" ( 7 - 3 ) * 12 "));
  expect_solved(score("((12)*((7-3)))"));
}

TEST(CountdownReward, SaysWhatIsWrong) {
  expect(score("12+7+3"), 0, RewardStatus::kWrong, "the value is 22, not 48");
  expect(score("12*7/3"), 0, RewardStatus::kWrong, "the value is 28, not 48");
  expect(score("12*4"), 0, RewardStatus::kWrong, "4 is not given");
  expect(score("12*(7-3)+7-7"), 0, RewardStatus::kWrong, "7 is used more often than it is given");
  expect(score("12/(7-7)"), 0, RewardStatus::kWrong, "divides by zero");
}

TEST(CountdownReward, TheTargetAloneIsAnAnswerOnlyWhereItIsGiven) {
  expect(score("48"), 0, RewardStatus::kWrong, "48 is not given");
  expect_solved(score("48", {}, item_of("3, 48, 12", "48")));
}

TEST(CountdownReward, EveryNumberMustBeUsedWhereTheRulesSaySo) {
  const TaskItem item = item_of("3, 4, 5", "12");
  expect_solved(score("3*4", {}, item));
  expect(score("3*4", {{"use", "exactly_once"}}, item), 0, RewardStatus::kWrong, "5 is not used");
  expect_solved(score("3+4+5", {{"use", "exactly_once"}}, item));
  const TaskItem twins = item_of("6, 6, 6", "18");
  expect_solved(score("6+6+6", {{"use", "exactly_once"}}, twins));
  expect(score("6+6+6+6", {{"use", "exactly_once"}}, twins), 0, RewardStatus::kWrong, "more often than it is given");
}

TEST(CountdownReward, CalculationIsExact) {
  expect_solved(score("1/3*3", {}, item_of("1, 3, 3", "1")));
  // Within 1e-6 of the target, which is what the originals ask for, but not equal to it.
  expect(score("3+1/1000000000", {}, item_of("3, 1, 1000000000", "3")), 0, RewardStatus::kWrong,
         "the value is 3000000001/1000000000, not 3");
  // Far beyond 64 bits and back.
  const std::string big = "1000000000*1000000000*1000000000/1000000000/1000000000/1000000000";
  expect_solved(score(big, {}, item_of("1000000000,1000000000,1000000000,1000000000,1000000000,1000000000", "1")));
}

TEST(CountdownReward, OperatorsBindAsInArithmetic) {
  expect_solved(score("2+3*4", {}, item_of("2, 3, 4", "14")));
  expect_solved(score("20-5-3", {}, item_of("20, 5, 3", "12")));
  expect_solved(score("24/4/2", {}, item_of("24, 4, 2", "3")));
  expect_solved(score("24/4*2", {}, item_of("24, 4, 2", "12")));
}

TEST(CountdownReward, StepsMayHaveToBePositiveIntegers) {
  const Values strict = {{"intermediates", "positive_integer"}};
  const TaskItem item = item_of("3, 7, 12", "8");
  expect_solved(score("3-7+12", {}, item));
  expect(score("3-7+12", strict, item), 0, RewardStatus::kWrong, "a step gives -4, not a positive integer");
  expect_solved(score("3+12-7", strict, item));
  expect(score("7/3*12", strict, item_of("3, 7, 12", "28")), 0, RewardStatus::kWrong, "a step gives 7/3");
  expect(score("3-3+7", strict, item_of("3, 3, 7", "7")), 0, RewardStatus::kWrong, "a step gives 0");
  // A sign makes a negative step.
  expect_solved(score("-7+3+12", {}, item));
  expect(score("-7+3+12", strict, item), 0, RewardStatus::kParseError, "a number expected where `-` stands");
}

TEST(CountdownReward, MathematicalWritingIsRead) {
  const TaskItem item = item_of("3, 6, 12", "24");
  for (const char* written : {"12\u00D76\u00F73", "12 \\times 6 \\div 3", "12 \\cdot \\frac{6}{3}", "$12 * {6} / 3$",
                              "\\left( 12 \\right) \\, * \\! \\frac{6}{3}"}) {
    expect_solved(score(written, {}, item));
  }
}

// The same signs as in the reward `math`.
TEST(CountdownReward, SignsOfOtherScriptsAndCommandsAreRead) {
  for (const char* written :
       {"12*(7\u22123)", "12*(7\u20133)", "\uFF11\uFF12*(\uFF17-\uFF13)", "`12*(7-3)`", "[7-3]*12", "12*[7-3]",
        "12*(7-3).", "12*(7-3) = 48.", "\uFF08\uFF17\uFF0D\uFF13\uFF09\u00D7\uFF11\uFF12\u3002", "\\(12\\ast(7-3)\\)",
        "12\\;\\times\\left(7-3\\right)", "\\[ 12 \\cdot (7-3) \\]", "12\u00A0*\u200B(7-3)"}) {
    expect_solved(score(written));
  }
  expect_solved(score("12 : \\dfrac{3}{7}", {}, item_of("3, 7, 12", "28")));
  expect(score("12*[7-3)"), 0, RewardStatus::kParseError, "`]` expected where `)` stands");
  expect(score("12*(7-3)..", {}), 0, RewardStatus::kParseError, "cannot read `.`");
}

TEST(CountdownReward, ATailSaysTheTarget) {
  expect_solved(score("12*(7-3) = 48"));
  expect(score("12*(7-3) = 47"), 0, RewardStatus::kWrong, "ends in = 47, not = 48");
  expect(score("12+7+3 = 48"), 0, RewardStatus::kWrong, "the value is 22");
  expect(score("12*(7-3) = 6*8"), 0, RewardStatus::kParseError, "cannot read `*`");
  expect(score("= 48"), 0, RewardStatus::kParseError, "a number expected where `=` stands");
}

TEST(CountdownReward, OnlyArithmeticIsAnExpression) {
  const auto refused = [](const std::string& response, const std::string& reason) {
    expect(score(response), 0, RewardStatus::kParseError, reason);
  };
  refused("12**7", "a number expected where `*` stands");
  refused("12//7", "a number expected where `/` stands");
  refused("12.0*7", "cannot read `.`");
  refused("12*(7-3", "`)` expected where the end of the answer stands");
  refused("12*(7-3))", "cannot read `)`");
  refused("12 7", "cannot read `7`");
  refused("12*07", "a number begins with 0");
  refused("+12", "a number expected where `+` stands");
  refused("12*", "a number expected where the end of the answer stands");
  refused("twelve", "a number expected where `t` stands");
  refused("12\xFF", "cannot read a sign that is not part of arithmetic");
  refused("()", "a number expected where `)` stands");
  refused("\\frac{12}", "`{` expected");
  refused("1000000001", "a number is above 1000000000");
  expect(score(""), 0, RewardStatus::kNoAnswer, "the response is empty");
}

TEST(CountdownReward, TheLastClosedBoxCounts) {
  const auto boxed = [](const std::string& response, const Values& values = {}) {
    Values all = {{"answer", "boxed"}};
    all.insert(values.begin(), values.end());
    return score(response, all);
  };
  expect_solved(boxed("7 - 3 is \\boxed{4}, so \\boxed{12*(7-3)}."));
  expect_solved(boxed("$\\boxed {12 \\times \\left(7 - 3\\right) = 48}$"));
  expect_solved(boxed("\\fbox\n{ 12*(7-3). }"));
  expect_solved(boxed("\\boxed{\\boxed{12}*{(7-3)}}"));
  expect_solved(boxed("} \\{ { \\boxed{12*(7-3)}"));
  expect(boxed("\\boxed{12*(7-3)} or \\boxed{12}"), 0, RewardStatus::kWrong, "the value is 12");
  expect(boxed("\\boxed{}"), 0, RewardStatus::kParseError, "the end of the answer");
  expect(boxed("12*(7-3)"), 0, RewardStatus::kNoAnswer, "the response has no \\boxed{}");
  expect(boxed("{12*(7-3)} \\boxed12"), 0, RewardStatus::kNoAnswer, "the response has no \\boxed{}");
  // Cut off: what was boxed on the way is not the answer, unless that is wanted.
  const std::string cut_off = "\\boxed{12*(7-3)} and \\boxed{12";
  expect(boxed(cut_off), 0, RewardStatus::kNoAnswer, "the last \\boxed{} is not closed");
  expect_solved(boxed(cut_off, {{"unclosed", "lenient"}}));
  expect(boxed("\\boxed{12*(7-3)", {{"unclosed", "lenient"}}), 0, RewardStatus::kNoAnswer, "is not closed");
  expect_solved(boxed("\\boxed{so \\boxed{12*(7-3)}"));
}

// What d1's evaluation asks for.
TEST(CountdownReward, ABoxMayStandInTheAnswerTags) {
  expect_solved(score("<answer>\n\\boxed{12*(7-3)}\n</answer>", {{"answer", "tags"}}));
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

TEST(CountdownReward, PartialCreditIsPaidForAnyAnswer) {
  const auto partial = [](const std::string& response) {
    return score(response, {{"score", "partial"}, {"answer", "tags"}, {"use", "exactly_once"}});
  };
  expect_solved(partial("<answer>12*(7-3)</answer>"));
  expect(partial("<answer>12+7+3</answer>"), 0.1, RewardStatus::kWrong, "the value is 22");
  expect(partial("<answer>12*7</answer>"), 0.1, RewardStatus::kWrong, "3 is not used");
  expect(partial("<answer>no idea</answer>"), 0.1, RewardStatus::kParseError, "expected");
  expect(partial("12*(7-3)"), 0, RewardStatus::kNoAnswer, "no <answer>");
}

TEST(CountdownReward, TheLastAnswerTagsCount) {
  const auto tagged = [](const std::string& response) { return score(response, {{"answer", "tags"}}); };
  expect_solved(tagged("3 and 7 make 4 <answer>\n12*(7-3)\n</answer> so"));
  expect_solved(tagged("<answer>12</answer><Answer>12*(7-3)</ANSWER>"));
  expect(tagged("<answer>12*(7-3)</answer><answer>12</answer>"), 0, RewardStatus::kWrong, "the value is 12");
  expect(tagged("<answer>12</answer><answer>12*(7-3)"), 0, RewardStatus::kNoAnswer, "the last <answer> is not closed");
  expect(tagged("<answer></answer>"), 0, RewardStatus::kParseError, "the end of the answer");
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
  const auto error_of = [&](const std::string& reference) -> std::string {
    TaskItem item;
    item.id = "the item";
    item.reference = reference;
    try {
      reward->score({"48", &item}, result);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  };
  for (const std::string reference :
       {"", "{}", "[", R"({"numbers": [3, 7]})", R"({"question": "Make 48.", "ground_truth_answer": [3]})"}) {
    EXPECT_EQ(error_of(reference), "cannot read the reference of item the item");
  }
  for (const std::string reference :
       {"48", "\"48\"", R"({"target": 48})", R"({"numbers": [], "target": 48})",
        R"({"numbers": [3, "7"], "target": 48})", R"({"question": "Make 48.", "ground_truth_answer": "48"})"}) {
    EXPECT_THAT(error_of(reference), HasSubstr("it has a target without numbers, and to repeat the target would be"));
  }
  EXPECT_THROW(reward->score({"48", nullptr}, result), Error);
}

// Nothing that a model can write breaks the judge, and every reason is one printable line.
TEST(CountdownReward, AnyBytesAreJudgedAndThreadsAgree) {
  const RandomStream random(7, "bytes");
  const std::vector<std::string> words = {"12",      "7",      "3",        "+", "-",   "*",        "/",    "(",  ")",
                                          "\\frac{", "}{",     "}",        "=", "48",  "\\left",   "\xC3", "\n", "$",
                                          "\\times", "\u00F7", "<answer>", "0", "999", "</answer>"};
  const TaskItem item = item_of("3, 7, 12", "48");
  const auto reward = test::create<Reward>("countdown", "countdown", {{"score", "partial"}});
  const auto judge_all = [&](std::vector<std::string>& reasons) {
    for (std::int64_t i = 0; i < 5000; ++i) {
      std::string response;
      const std::int64_t length = random.below(24, {.step = i});
      for (std::int64_t j = 1; j <= length; ++j) {
        const RandomPoint point{.step = i, .position = j};
        if (i % 4 == 0) {
          response += static_cast<char>(random.below(256, point));
        } else {
          response += words[static_cast<std::size_t>(random.below(i % 4 == 1 ? 9 : 24, point))];
        }
      }
      RewardResult result;
      reward->score({response, &item}, result);
      reasons.push_back(result.reason);
    }
  };
  std::vector<std::string> alone;
  judge_all(alone);
  for (const std::string& reason : alone) {
    EXPECT_EQ(valid_utf8(reason), reason);
    EXPECT_THAT(reason, testing::Not(HasSubstr("\n")));
    EXPECT_NE(reason, "");
  }
  EXPECT_THAT(alone, testing::Contains(HasSubstr("the value is")));
  std::vector<std::vector<std::string>> together(3);
  std::vector<std::thread> threads;
  for (auto& reasons : together) threads.emplace_back([&] { judge_all(reasons); });
  for (auto& thread : threads) thread.join();
  for (const auto& reasons : together) EXPECT_EQ(reasons, alone);
}

}  // namespace
}  // namespace drift
