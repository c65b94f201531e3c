// What a response may take in all, beside the limits of each call: time that passes without work, and the tests' own
// work.

#include <tests/support/code.h>

#include <gmock/gmock.h>

#include <string>
#include <vector>

namespace drift::code_budgets_test {
namespace {

using testing::HasSubstr;

class CodeBudgets : public test::NeedsSandbox<> {
 protected:
  static RewardResult judge(const std::string& code, const nlohmann::json& reference) {
    return test::judge_response(test::in_block(code), test::code_item(reference));
  }

  const std::string sleeps_ = "import time\ndef f(x):\n    time.sleep(0.2)\n    return x + 1";
};

TEST_F(CodeBudgets, ATestWhoseCallsSleepIsEnded) {
  const auto result =
      judge(sleeps_, {{"test_list", {"for i in range(1000): assert f(i) == i + 1"}}, {"test_time_limit", 0.02}});
  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.status, RewardStatus::kTimeout) << result.reason;
}

TEST_F(CodeBudgets, AResponseWhoseCallsSleepIsEnded) {
  const std::vector<std::string> tests(1000, "assert f(1) == 2");
  const auto result = judge(sleeps_, {{"test_list", tests}, {"test_time_limit", 0.02}});
  EXPECT_GT(result.value, 0);
  EXPECT_LT(result.value, 0.2);
  EXPECT_EQ(result.status, RewardStatus::kTimeout) << result.reason;
}

TEST_F(CodeBudgets, AProgramThatSleepsInEachRunIsEnded) {
  const std::vector<std::string> lines(40, "1\n");
  const auto result = judge("import time\ntime.sleep(1.8)\nprint(input())",
                            {{"test_input", lines}, {"test_output", lines}, {"test_time_limit", 0.05}});
  EXPECT_GT(result.value, 0);
  EXPECT_LT(result.value, 0.5);
  EXPECT_THAT(result.reason, HasSubstr("the runs before took too long"));
}

// Calls and runs that each stay below their limit.
TEST_F(CodeBudgets, AResponseThatComputesInEachCallIsEnded) {
  const std::vector<std::string> tests(200, "assert f(1) == 2");
  const auto result = judge(
      "import time\ndef f(x):\n    end = time.process_time() + 0.05\n"
      "    while time.process_time() < end: time.sleep(0)\n    return x + 1",
      {{"test_list", tests}, {"test_time_limit", 0.1}});
  EXPECT_GT(result.value, 0);
  EXPECT_LT(result.value, 0.5);
  EXPECT_EQ(result.status, RewardStatus::kTimeout) << result.reason;
}

TEST_F(CodeBudgets, AProgramThatComputesInEachRunIsEnded) {
  const std::vector<std::string> lines(100, "1\n");
  const auto result =
      judge("import time\nend = time.process_time() + 0.05\nwhile time.process_time() < end: pass\nprint(input())",
            {{"test_input", lines}, {"test_output", lines}, {"test_time_limit", 0.1}});
  EXPECT_GT(result.value, 0);
  EXPECT_LT(result.value, 0.8);
  EXPECT_THAT(result.reason, HasSubstr("the runs before took too long"));
}

// Values that are short, and make comparing, hashing or converting them long. The second loss of the judge is the last.
TEST_F(CodeBudgets, ValuesThatKeepTheTestBusy) {
  const struct {
    const char *value, *test;
  } cases[] = {
      {"[i * (2**61 - 1) for i in range(65000)]", "assert set(f(1)) == {1}"},
      {"'a' * 40 + '!'", "import re\nassert re.fullmatch('(a+)+b?', f(1))"},
      {"range(10**15)", "assert 0.5 in f(1)"},
      {"10**9", "assert 3 ** f(1) == 1"},
  };
  for (const auto& [value, test] : cases) {
    const auto result = judge(std::string("def f(x):\n    return ") + value, {{"test_list", {test, test, test}}});
    EXPECT_EQ(result.value, 0) << test;
    EXPECT_EQ(result.status, RewardStatus::kTimeout) << test << ": " << result.reason;
  }
}

// The value makes the test itself endless: seconds of work for the judge, each time.
TEST_F(CodeBudgets, AResponseThatKeepsTheTestsBusyIsGivenUp) {
  const std::vector<std::string> tests(6, "assert sum(range(f(1))) == 0\nassert f(0) == 0");
  const auto result = judge("def f(x):\n    return 10**11 if x else 0", {{"test_list", tests}});
  EXPECT_EQ(result.status, RewardStatus::kTimeout);
  EXPECT_THAT(result.reason, HasSubstr("0 of 12 tests passed; test 1: the test does not finish with this value"));
}

}  // namespace
}  // namespace drift::code_budgets_test
