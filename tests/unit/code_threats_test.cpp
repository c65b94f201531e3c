// Programs that attack the machine or try to get a reward without solving the problem, and what each earns. Most are in
// code_threats.txt and code_cheats.txt.

#include "tests/support/code_threats.h"

namespace drift::test::code_threats_test {
namespace {

using testing::HasSubstr;

constexpr auto kTimeout = RewardStatus::kTimeout;
const std::vector<std::string> kOneTest = {"assert f(1) == 2"};

// Loads, then runs `attack` in each call, and is right only if it did not raise.
std::string in_call(const std::string& attack) { return "import os\ndef f(x):\n" + attack + "    return x + 1\n"; }

// Honest code after an attack whose failure it catches.
std::string caught(const std::string& attack) {
  return "import os\ntry:\n" + attack + "except Exception:\n    pass\n" + kHonest;
}

TEST_P(Threats, IsPaidWhatItEarns) {
  const Threat& threat = GetParam();
#ifndef __x86_64__
  if (threat.name.starts_with("KernelByNumber")) GTEST_SKIP() << "system calls by the numbers of x86_64";
#endif
  const RewardResult result = judge(threat);
  EXPECT_DOUBLE_EQ(result.value, threat.value) << result.reason;
  EXPECT_EQ(result.solved, threat.value == 1);
  EXPECT_EQ(result.status, threat.status) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr(threat.reason));
}

const auto name_of = [](const testing::TestParamInfo<Threat>& info) { return info.param.name; };
INSTANTIATE_TEST_SUITE_P(Attacks, Threats, testing::ValuesIn(read_threats("code_threats.txt")), name_of);
INSTANTIATE_TEST_SUITE_P(Cheats, Threats, testing::ValuesIn(read_threats("code_cheats.txt")), name_of);

// A value can be chosen so that the test itself never ends: it fails, and the judge continues with the next response.
TEST_F(Threats, AValueThatKeepsTheTestBusy) {
  const RewardResult result = judge("def f(x):\n    return 10**9\n", {"assert sum(range(f(1) * 100)) == 0"}, kRunsOut);
  EXPECT_EQ(result.value, 0);
  EXPECT_EQ(result.status, kTimeout);
  EXPECT_THAT(result.reason, HasSubstr("the test does not finish with this value"));
  EXPECT_EQ(judge(kHonest, kAddsOne).value, 1);
}

// If threads are allowed, one that continues after the last call ends with the process.
TEST_F(Threats, AThreadThatStays) {
  const auto threads = create<Reward>("code", "code", {{"threads", true}, {"workers", 1}});
  const std::string code =
      "import threading\ndef spin():\n    while True: pass\nthreading.Thread(target=spin).start()\n" +
      std::string(kHonest);
  EXPECT_EQ(judge_code(code, kAddsOne, *threads).value, 1);
  EXPECT_EQ(judge_code(code, kAddsOne, *reward_).value, 0);
}

// These end at the first limit that they meet: of the stack, memory or files, or of time on a slow machine.
TEST_F(Threats, WhatEndsAtALimitOrAnother) {
  const std::string code = "import sys\nsys.setrecursionlimit(10**9)\ndef f(x):\n    return [f(x), x]\n";
  EXPECT_EQ(judge(code, kOneTest, kRunsOut).value, 0);
  const std::string deep = "def f(x):\n    a = ()\n    for _ in range(10**6): a = (a,)\n    return hash(a)\n";
  EXPECT_EQ(judge(deep, kOneTest, kRunsOut).value, 0);
  const std::string files = "    i = 0\n    while True:\n        open(f'/tmp/{i}', 'w').close()\n        i += 1\n";
  EXPECT_EQ(judge(in_call(files), kOneTest, kRunsOut).value, 0);
}

TEST_F(Threats, AFileOfTheHostCannotBeRead) {
  const RewardResult result = judge(in_call("    open('" + secret_file() + "').read()\n"), kAddsOne);
  EXPECT_EQ(result.value, 0) << result.reason;
  EXPECT_TRUE(std::filesystem::exists(secret_file()));
}

TEST_F(Threats, AFolderOfTheHostCannotBeRemoved) {
  const std::string folder = std::filesystem::path(secret_file()).parent_path();
  EXPECT_EQ(judge(caught("    import shutil\n    shutil.rmtree('" + folder + "')\n"), kAddsOne).value, 1);
  EXPECT_TRUE(std::filesystem::exists(secret_file()));
}

}  // namespace
}  // namespace drift::test::code_threats_test
