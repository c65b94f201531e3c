// Whole programs, judged by what they print.

#include <gmock/gmock.h>

#include "program_runs.h"
#include "tests/support/code.h"

namespace drift::code_programs_test {
namespace {

using code::OutputComparison;
using code::same_output;
using test::code_item;
using test::expect;
using test::in_block;
using test::judge_response;

using CodePrograms = test::NeedsSandbox<>;

// Two numbers in, their sum out.
TaskItem sums() {
  return code_item({{"test_input", {"1 2\n", "10 -4\n"}},
                    {"test_output", {"3\n", "6\n"}},
                    {"test_time_limit", 0.5},
                    {"test_method", "stdio"}});
}

RewardResult run(const std::string& program, const TaskItem& item = sums()) {
  return judge_response(in_block(program), item);
}

TEST_F(CodePrograms, ReadsItsInputAndIsJudgedByItsOutput) {
  expect(run("a, b = map(int, input().split())\nprint(a + b)"), 1, RewardStatus::kOk,
         "2 of 2 tests passed (the last block)");
  expect(run("print(3)"), 0.5, RewardStatus::kWrong, "1 of 2 tests passed; test 2: wrong output");
}

TEST_F(CodePrograms, InputComesInEveryWay) {
  for (const char* program :
       {"import sys\na, b = sys.stdin.read().split()\nprint(int(a) + int(b))",
        "import sys\nprint(sum(map(int, sys.stdin.buffer.read().split())))",
        "import sys\nfor line in sys.stdin: print(sum(map(int, line.split())))",
        "import os\nos.write(1, str(sum(map(int, os.read(0, 99).split()))).encode())",
        "print(sum(map(int, open(0).read().split())))", "print(sum(map(int, open('/dev/stdin').read().split())))",
        "print(sum(int(x) for line in open('/dev/fd/0') for x in line.split()))",
        "import fileinput\nprint(sum(int(x) for line in fileinput.input() for x in line.split()))",
        "with open('/dev/stdin', 'rb') as f: print(sum(map(int, f.read().split())))",
        "a = input()\nprint(sum(map(int, open('/dev/stdin').readline().split())))"}) {
    expect(run(program), 1, RewardStatus::kOk, "2 of 2 tests passed");
  }
}

TEST_F(CodePrograms, RunsCoroutines) {
  const auto item = code_item({{"test_input", {"1 2\n"}}, {"test_output", {"3\n"}}, {"test_time_limit", 10}});
  expect(run("import asyncio\nasync def main():\n    await asyncio.sleep(0.001)\n    print(sum(map(int, "
             "input().split())))\n"
             "asyncio.run(main())",
             item),
         1, RewardStatus::kOk, "1 of 1");
}

TEST_F(CodePrograms, RunsAsTheMainProgram) {
  expect(run("def main():\n    print(sum(map(int, input().split())))\nif __name__ == '__main__':\n    main()"), 1,
         RewardStatus::kOk, "2 of 2");
  expect(run("import sys\nassert sys.modules['__main__'].__name__ == '__main__' and __name__ in sys.modules\n"
             "x = 1\nprint(sum(map(int, input().split())) * sys.modules['__main__'].x)"),
         1, RewardStatus::kOk, "2 of 2");
}

TEST_F(CodePrograms, MustEndAsProgramsDo) {
  const std::string right = "print(sum(map(int, input().split())))\n";
  for (const char* end : {"exit()", "import sys; sys.exit()", "import sys; sys.exit(0)", "quit()",
                          "import os, sys; sys.stdout.flush(); os._exit(0)"}) {
    expect(run(right + end), 1, RewardStatus::kOk, "2 of 2");
  }
  for (const char* end :
       {"exit(1)", "raise SystemExit('no')", "1 / 0", "import os, sys; sys.stdout.flush(); os._exit(3)"}) {
    expect(run(right + end), 0, RewardStatus::kCrashed, "0 of 2 tests passed; test 1: exit status");
  }
  expect(run(right + "import sys\nsys.stdout.flush()\nwhile True: pass"), 0, RewardStatus::kTimeout,
         "0 of 2 tests passed; test 1: timeout");
  expect(run("this is not Python"), 0, RewardStatus::kCrashed, "0 of 2 tests passed; test 1: exit status 1");
}

TEST_F(CodePrograms, LongInputsAndOutputsPass) {
  std::string numbers;
  for (int i = 0; i < 30'000; ++i) numbers += std::to_string(i) + "\n";
  const auto item = code_item({{"test_input", {numbers}}, {"test_output", {numbers}}});
  expect(run("import sys\nsys.stdout.write(sys.stdin.read())", item), 1, RewardStatus::kOk, "1 of 1 test passed");
  expect(run("while True: print('x' * 10000)", item), 0, RewardStatus::kResource,
         "0 of 1 test passed; test 1: prints more than 1 MiB");
}

TEST_F(CodePrograms, AnEmptyInputIsAnEmptyFile) {
  const auto item = code_item({{"test_input", {""}}, {"test_output", {"nothing"}}});
  expect(run("import sys\nprint(sys.stdin.read() or 'nothing')", item), 1, RewardStatus::kOk, "1 of 1");
  expect(run("print(open('/dev/stdin').read() or 'nothing')", item), 1, RewardStatus::kOk, "1 of 1");
}

TEST_F(CodePrograms, HangingIsEndedSoon) {
  const std::vector<std::string> inputs = {"1", "0", "2", "3", "4", "5", "6"};
  const auto item = code_item({{"test_input", inputs}, {"test_output", inputs}, {"test_time_limit", 0.1}});
  expect(run("x = input()\nwhile x != '0': pass\nprint(x)", item), 1. / 7, RewardStatus::kTimeout,
         "1 of 7 tests passed; test 1: timeout");
  expect(run("x = input()\nwhile x == '4': pass\nprint(x)", item), 6. / 7, RewardStatus::kTimeout,
         "6 of 7 tests passed; test 5: timeout");
}

TEST_F(CodePrograms, NumbersMayHaveAnyLength) {
  const auto item = code_item({{"test_input", {"5000\n"}}, {"test_output", {"1" + std::string(5000, '0')}}});
  expect(run("print(10**int(input()))", item), 1, RewardStatus::kOk, "1 of 1");
  expect(test::judge_code("def f(n):\n    return 10**n, str(10**n)", {"assert f(5000) == (10**5000, str(10**5000))"}),
         1, RewardStatus::kOk, "1 of 1");
}

TEST_F(CodePrograms, DecimalsMayBeRoundedAsJudgesAllow) {
  const auto item = code_item({{"test_input", {""}}, {"test_output", {"0.333333333333 7\n"}}});
  expect(run("print('0.333333', 7)", item), 1, RewardStatus::kOk, "1 of 1");
  expect(run("print('0.3333', 7)", item), 0, RewardStatus::kWrong, "0 of 1");
  const auto exact = test::create<Reward>("code", "code", {{"output_tolerance", 0.0}});
  expect(judge_response(in_block("print('0.333333', 7)"), item, *exact), 0, RewardStatus::kWrong, "0 of 1");
}

TEST(CodePrograms_SameOutput, OnlyDecimalsHaveATolerance) {
  const auto same = [](const char* printed, const char* expected, double tolerance = 1e-6) {
    return same_output(printed, expected, OutputComparison::kCollapsed, tolerance);
  };
  EXPECT_TRUE(same("0.333333", "0.333333333333"));
  EXPECT_TRUE(same("2", "2.0"));
  EXPECT_TRUE(same("-1e-7", "0.0"));
  EXPECT_TRUE(same("1234567.2", "1234567.9"));
  EXPECT_TRUE(same("x: 1.0000001", "x: 1.0"));
  EXPECT_FALSE(same("0.33333", "0.333333333333"));
  EXPECT_FALSE(same("0.333333", "0.333333333333", 0));
  EXPECT_FALSE(same("1234568", "1234567"));
  EXPECT_FALSE(same("2.0", "2"));
  EXPECT_FALSE(same("nan", "1.0"));
  EXPECT_FALSE(same("inf", "1e308"));
  EXPECT_FALSE(same("1.0x", "1.0"));
  EXPECT_FALSE(same("1.0 2", "1.0"));
  EXPECT_FALSE(same_output("1.0000001", "1.0", OutputComparison::kExactLines, 1e-6));
}

TEST(CodePrograms_SameOutput, WhiteSpaceIsCollapsedOrLinesAreCompared) {
  const auto collapsed = OutputComparison::kCollapsed;
  EXPECT_TRUE(same_output("1  2\n3", "1 2 3\n", collapsed, 0));
  EXPECT_TRUE(same_output("", " \n", collapsed, 0));
  EXPECT_FALSE(same_output("12 3", "1 23", collapsed, 0));
  EXPECT_FALSE(same_output("1", "", collapsed, 0));
  const auto lines = OutputComparison::kExactLines;
  EXPECT_TRUE(same_output("1 2 \n3\n\n", "1 2\n3", lines, 0));
  EXPECT_TRUE(same_output("1\r\n2\r\n", "1\n2\n", lines, 0));
  EXPECT_FALSE(same_output("1 2\n3", "1 2 3", lines, 0));
  EXPECT_FALSE(same_output("1  2", "1 2", lines, 0));
  EXPECT_FALSE(same_output("\n1", "1", lines, 0));
}

}  // namespace
}  // namespace drift::code_programs_test
