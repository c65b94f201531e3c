// Python programs of models, judged end to end: the plugin, its judge and its sandbox.

#include <gmock/gmock.h>

#include "tests/support/code.h"

namespace drift {
namespace {

using test::code_item;
using test::in_block;
using test::judge_code;
using test::judge_response;
using testing::HasSubstr;
using testing::StartsWith;

class CodeReward : public testing::Test {
 protected:
  void SetUp() override {
    if (!test::missing_sandbox().empty()) GTEST_SKIP() << test::missing_sandbox();
  }
};

void expect(const RewardResult& result, double value, RewardStatus status, const std::string& reason) {
  EXPECT_DOUBLE_EQ(result.value, value) << result.reason;
  EXPECT_EQ(result.solved, value == 1) << result.reason;
  EXPECT_EQ(result.status, status) << result.reason;
  EXPECT_THAT(result.reason, StartsWith(reason));
}

void expect_solved(const RewardResult& result) { expect(result, 1, RewardStatus::kOk, ""); }

TEST_F(CodeReward, ARightFunctionPassesAllTests) {
  expect(judge_code("def double(x):\n    return 2 * x", {"assert double(2) == 4", "assert double(-1) == -2"}), 1,
         RewardStatus::kOk, "2 of 2 tests passed (the last block that defines what is tested)");
}

TEST_F(CodeReward, TheValueIsTheShareOfPassedTests) {
  const std::vector<std::string> tests = {"assert f(2) == 4", "assert f(3) == 9", "assert f(0) == 0",
                                          "assert f(-2) == 4"};
  expect(judge_code("def f(x):\n    return x + x", tests), 0.5, RewardStatus::kWrong,
         "2 of 4 tests passed; test 2: wrong");
  expect(judge_code("def f(x):\n    return 100 // x", tests), 0, RewardStatus::kWrong, "0 of 4 tests passed");
}

}  // namespace
}  // namespace drift
