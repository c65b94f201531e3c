// judge() as its users see it: statuses, reasons, threads. What equals what, and which part of a response is the
// answer, have tests of their own.

#include <gmock/gmock.h>
#include <math_answers.h>

#include <thread>
#include <vector>

namespace math_answers::math_judge_test {
namespace {

using testing::HasSubstr;

void expect(const Verdict& verdict, Status status, const std::string& reason) {
  EXPECT_EQ(verdict.status, status) << verdict.reason;
  EXPECT_EQ(verdict.equal(), status == Status::kEqual);
  EXPECT_THAT(verdict.reason, HasSubstr(reason));
}

TEST(Judge, SaysHowAResponseWasJudged) {
  expect(judge("so \\boxed{3/4}.", "\\frac{6}{8}"), Status::kEqual, "\\boxed{3/4} equals \\frac{6}{8}");
  expect(judge("\\boxed{x=3}", "y=3"), Status::kUnequal, "x=3 is not y=3");
  expect(judge("\\boxed{\\frac{1}}", "5"), Status::kUnreadable, "a value is missing");
  expect(judge("\\boxed{" + std::string(600, '1') + "}", "5"), Status::kUnreadable, "has 600 bytes");
  expect(judge("it is 5", "5"), Status::kNoAnswer, "the response has no \\boxed{...}");
  expect(judge("\\boxed{}", "5"), Status::kNoAnswer, "the box is empty");
}

TEST(Judge, LooksWhereItIsTold) {
  Options options;
  options.where = Where::kTags;
  expect(judge("<answer>5</answer>", "5", options), Status::kEqual, "5 equals 5");
  options.where = Where::kWholeResponse;
  expect(judge(" 5\n", "5", options), Status::kEqual, "5 equals 5");
}

TEST(Judge, AnEmptyTruthIsEqualledByNothing) {
  Options options;
  options.where = Where::kWholeResponse;
  for (const char* response : {"", "5", "?"}) EXPECT_FALSE(judge(response, "", options).equal());
}

TEST(Judge, AsRldfReleaseHasItsMistakes) {
  expect(judge_as_rldf_release("\\boxed{1,2}", "12"), Status::kEqual, "to the original, \\boxed{1,2} equals 12");
  expect(judge_as_rldf_release("\\boxed{0.25}", "\\frac14"), Status::kUnequal, "\\boxed{0.25} is not \\frac14");
  expect(judge_as_rldf_release("\\boxed {5}", "5"), Status::kNoAnswer, "no closed \\boxed{...}");
}

TEST(Judge, GivesReasonsOfOneLine) {
  for (const std::string& answer :
       {std::string("\xFF\xC3\nx\r\x01"), std::string(400, 'y'), std::string("\xE2\x88\x9E")}) {
    for (const std::string& truth : {answer, std::string("5")}) {
      const std::string response = "\\boxed{" + answer + "}";
      for (const Verdict& verdict : {judge(response, truth), judge_as_rldf_release(response, truth)}) {
        EXPECT_LT(verdict.reason.size(), 300u);
        EXPECT_EQ(verdict.reason.find_first_of("\r\n\x01\xFF"), std::string::npos) << verdict.reason;
        EXPECT_EQ(verdict.equal(), truth == answer) << verdict.reason;
      }
    }
  }
}

TEST(Judge, ThreadsDoNotDisturbEachOther) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      const std::string truth = "\\frac{" + std::to_string(i) + "}{7} + \\sqrt{2}\\pi";
      for (int k = 0; k < 200; ++k) {
        const std::string response = "\\boxed{\\pi\\sqrt{2} + " + std::to_string(k % 8) + "/7}";
        ASSERT_EQ(judge(response, truth).equal(), k % 8 == i);
        for (const auto& [answer, same] : {std::pair("\\boxed{\\cos 13^\\circ}", "\\sin 77^\\circ"),
                                           std::pair("\\boxed{2\\sin x\\cos x}", "\\sin 2x"),
                                           std::pair("\\boxed{\\frac{2005}{2005!}}", "\\frac{1}{2004!}")})
          ASSERT_TRUE(judge(answer, same).equal());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace math_answers::math_judge_test
