// Reward `math`: the truth out of a reference, what the parameters choose, and what is said of a verdict. The judging
// itself has tests of its own, plugins/rewards/math/math_answers/tests.

#include <core/text/utf8.h>
#include <drift/error.h>
#include <drift/reward.h>
#include <gmock/gmock.h>

#include <map>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift::math_reward_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Values = std::map<std::string, Parameter::Value>;

RewardResult score(const std::string& response, const std::string& reference, const Values& values = {}) {
  TaskItem item;
  item.id = "algebra/7";
  item.reference = reference;
  RewardResult result;
  result.reason = "left over from the response before";
  test::create<Reward>("math", "math", values)->score({response, &item}, result);
  return result;
}

void expect(const RewardResult& result, RewardStatus status, const std::string& reason) {
  const bool solved = status == RewardStatus::kOk;
  EXPECT_EQ(result.value, solved ? 1 : 0) << result.reason;
  EXPECT_EQ(result.solved, solved) << result.reason;
  EXPECT_EQ(result.status, status) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr(reason));
}

void expect_error(const std::string& reference, const std::string& what) {
  try {
    score("\\boxed{5}", reference);
    ADD_FAILURE() << "no error for " << reference;
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("item algebra/7"));
    EXPECT_THAT(error.what(), HasSubstr(what));
    EXPECT_THAT(error.hint(), Not(HasSubstr("\n")));
    EXPECT_FALSE(error.hint().empty());
  }
}

TEST(MathReward, ReferencesAreTheTruthOrARecordThatHoldsIt) {
  for (const char* reference :
       {"18", " 18\n", R"({"ground_truth_answer": "18"})", R"({"ground_truth_answer": 18})",
        R"({"question": "?", "answer": "18", "level": 3})", R"({"answer": "9 * 2 = 18\n#### 18"})",
        R"({"ground_truth_answer": "18", "answer": "19"})", "9 * 2\n#### 18"}) {
    expect(score("so \\boxed{18}", reference), RewardStatus::kOk, "\\boxed{18} equals 18");
  }
}

TEST(MathReward, NumbersInRecordsAreTheirValues) {
  for (const auto& [number, answer] : {std::pair{"0.00005", "0.00005"},
                                       {"5e-5", "\\frac{1}{20000}"},
                                       {"1e21", "10^{21}"},
                                       {"-2.5e-7", "-0.00000025"},
                                       {"1.0E+2", "100"},
                                       {"18446744073709551615", "18446744073709551615"},
                                       {"18446744073709551617", "18446744073709551617"},
                                       {"-9223372036854775809", "-9223372036854775809"},
                                       {"0.1234567890123456789", "\\frac{1234567890123456789}{10000000000000000000}"},
                                       {"1e-400", "10^{-400}"}}) {
    const std::string reference = std::string(R"({"ground_truth_answer": )") + number + "}";
    EXPECT_TRUE(score("\\boxed{" + std::string(answer) + "}", reference).solved) << reference;
    EXPECT_FALSE(score("\\boxed{e+21}", reference).solved) << reference;
    EXPECT_FALSE(score("\\boxed{18446744073709551616}", reference).solved) << reference;
    EXPECT_FALSE(score("\\boxed{5e-6}", reference).solved) << reference;
  }
}

TEST(MathReward, AReferenceWithoutAnAnswerIsAnError) {
  expect_error("", "is empty");
  expect_error(" \n", "is empty");
  expect_error("####", "is empty");
  expect_error(R"({"ground_truth_answer": ""})", "is empty");
  expect_error(R"({"answer": "worked out\n#### "})", "is empty");
  expect_error(R"({"question": "?"})", "neither `ground_truth_answer` nor `answer`");
  expect_error(R"({"answer": true})", "neither text nor a number");
  expect_error(R"({"answer": []})", "is a list of 0 answers");
  RewardResult result;
  EXPECT_THROW(test::create<Reward>("math", "math")->score({"\\boxed{5}", nullptr}, result), Error);
}

TEST(MathReward, AListOfTruthsIsNotAnInterval) {
  for (const char* one : {R"(["18"])", R"({"answer": ["18"]})", R"({"answer": [18]})", R"(["9 * 2\n#### 18"])"}) {
    expect(score("\\boxed{18}", one), RewardStatus::kOk, "equals 18");
  }
  expect(score("\\boxed{[3,4]}", "[3, 4]"), RewardStatus::kOk, "equals [3, 4]");
  for (const char* several : {R"(["3","4"])", R"({"answer": ["3", "4"]})", R"({"ground_truth_answer": [3, 4]})"}) {
    expect_error(several, "is a list of 2 answers");
    const auto status = [&](const char* answer, const char* truths) {
      return score("\\boxed{" + std::string(answer) + "}", several, {{"truths", truths}}).status;
    };
    EXPECT_EQ(status("4, 3", "all"), RewardStatus::kOk);
    EXPECT_EQ(status("4", "all"), RewardStatus::kWrong);
    EXPECT_EQ(status("4", "any"), RewardStatus::kOk);
    EXPECT_EQ(status("4, 3", "any"), RewardStatus::kWrong);
    EXPECT_EQ(status("[3,4]", "all"), RewardStatus::kWrong);
    EXPECT_EQ(status("[3,4]", "any"), RewardStatus::kWrong);
  }
}

// How the data are checked: an empty response is judged for every item.
TEST(MathReward, AnEmptyResponseShowsATruthThatCannotBeRead) {
  expect(score("", "\\frac{1}{"), RewardStatus::kParseError, "cannot be read as mathematics: \\frac{1}{");
  expect(score("", "assert add(1, 2) == 3"), RewardStatus::kParseError, "assert add(1, 2) == 3");
  expect(score("", "\\frac{1}{2}"), RewardStatus::kNoAnswer, "no \\boxed");
  expect(score("", "\\text{Evelyn}"), RewardStatus::kNoAnswer, "no \\boxed");
  expect(score("", "\\frac{1}{", {{"legacy", "rldf_release"}}), RewardStatus::kNoAnswer, "no closed");
}

TEST(MathReward, BracesDoNotMakeATruthARecord) {
  expect(score("\\boxed{ {5} }", "{5}"), RewardStatus::kOk, "equals {5}");
}

TEST(MathReward, EachStatusHasItsVerdict) {
  expect(score("\\boxed{3/4}", "\\frac{6}{8}"), RewardStatus::kOk, "\\boxed{3/4} equals \\frac{6}{8}");
  expect(score("\\boxed{x=3}", "y=3"), RewardStatus::kWrong, "x=3 is not y=3");
  expect(score("\\boxed{\\frac{1}}", "5"), RewardStatus::kParseError, "a value is missing");
  expect(score("it is 5", "5"), RewardStatus::kNoAnswer, "the response has no \\boxed{...}");
}

TEST(MathReward, ParametersChooseWhatEquals) {
  const auto solved = [](const char* answer, const char* truth, const Values& values) {
    return score("\\boxed{" + std::string(answer) + "}", truth, values).solved;
  };
  EXPECT_TRUE(solved("10", "10\\%", {}));
  EXPECT_FALSE(solved("10", "10\\%", {{"percent", "strict"}}));
  EXPECT_TRUE(solved("0.1", "10\\%", {{"percent", "strict"}}));
  EXPECT_TRUE(solved("0.666667", "\\frac23", {}));
  EXPECT_FALSE(solved("0.6667", "\\frac23", {}));
  EXPECT_TRUE(solved("0.6667", "\\frac23", {{"decimal_places", std::int64_t{4}}}));
  EXPECT_FALSE(solved("0.666667", "\\frac23", {{"decimal_places", std::int64_t{-1}}}));
  EXPECT_FALSE(solved("-2 \\le x \\le 7", "[-2,7]", {}));
  EXPECT_TRUE(solved("-2 \\le x \\le 7", "[-2,7]", {{"interval_from_inequality", true}}));
  const char* vector = "\\begin{pmatrix} 1 \\\\ 2 \\end{pmatrix}";
  EXPECT_FALSE(solved("(1,2)", vector, {}));
  EXPECT_TRUE(solved("(1,2)", vector, {{"vector_as_tuple", true}}));
  EXPECT_TRUE(score("\\boxed{1} or \\boxed{2}", "2, 1", {{"join_boxes", true}}).solved);
  EXPECT_FALSE(score("\\boxed{1} or \\boxed{2}", "2, 1").solved);
}

TEST(MathReward, ParametersChooseTheAnswer) {
  expect(score("\\boxed{5} \\boxed{6", "5", {{"unclosed", "lenient"}}), RewardStatus::kOk, "\\boxed{5} equals 5");
  expect(score("<answer>5</answer>", "5", {{"extraction", "tags"}}), RewardStatus::kOk, "5 equals 5");
  expect(score(" 5\n", "5", {{"extraction", "raw"}}), RewardStatus::kOk, "5 equals 5");
  expect(score("so\n#### 116\n", "116", {{"extraction", "hash"}}), RewardStatus::kOk, "116 equals 116");
}

TEST(MathReward, LegacyJudgesAsTheOriginal) {
  const Values legacy = {{"legacy", "rldf_release"}};
  expect(score("\\boxed{1,2}", "12", legacy), RewardStatus::kOk, "to the original, \\boxed{1,2} equals 12");
  expect(score("\\boxed{0.25}", "\\frac14", legacy), RewardStatus::kWrong, "\\boxed{0.25} is not \\frac14");
  expect(score("\\boxed {5}", "5", legacy), RewardStatus::kNoAnswer, "no closed \\boxed{...}");
  expect(score("\\boxed{5} \\boxed{6", "5", {{"legacy", "rldf_release"}, {"unclosed", "lenient"}}),
         RewardStatus::kNoAnswer, "no closed \\boxed{...}");
  expect_error("", "is empty");
}

TEST(MathReward, ReasonsAreOneShortLineOfValidText) {
  for (const char* legacy : {"none", "rldf_release"}) {
    for (const std::string& answer :
         {std::string("\xFF\xC3\nx\r\x01"), std::string(400, 'y'), std::string("\xE2\x88\x9E")}) {
      for (const std::string& truth : {answer, std::string("5")}) {
        const RewardResult result = score("\\boxed{" + answer + "}", truth, {{"legacy", legacy}});
        EXPECT_TRUE(is_valid_utf8(result.reason)) << result.reason;
        EXPECT_LT(result.reason.size(), 300u);
        EXPECT_EQ(result.reason.find_first_of("\r\n"), std::string::npos);
        EXPECT_EQ(result.solved, truth == answer) << result.reason;
      }
    }
  }
}

}  // namespace
}  // namespace drift::math_reward_test
