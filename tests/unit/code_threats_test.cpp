// Programs that attack the machine or try to get a reward without solving the problem, and what each earns. Most are in
// code_threats.txt and code_cheats.txt.

#include <gmock/gmock.h>

#include <filesystem>
#include <future>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/code.h"
#include "tests/support/code_cases.h"
#include "tests/support/sandboxed.h"
#include "tests/support/support.h"

namespace drift::test::code_threats_test {
namespace {

using testing::HasSubstr;

/// The tests: f(1) == 2, f(2) == 3, f(3) == 4.
const std::vector<std::string> kAddsOne = {"assert f(1) == 2", "assert f(2) == 3", "assert f(3) == 4"};
constexpr const char* kHonest = "def f(x):\n    return x + 1\n";

struct Threat {
  std::string name;
  std::string code;
  double value;  ///< 0, or what honest code earns where the attack comes to nothing
  RewardStatus status;
  std::string reason;  ///< part of it: that the attack was tried, and what became of it
  std::vector<std::string> tests;
};

void PrintTo(const Threat& threat, std::ostream* out) { *out << threat.name; }

std::vector<Threat> read_threats(const std::string& file) {
  static const std::map<std::string, RewardStatus> kStatuses = {
      {"ok", RewardStatus::kOk},         {"wrong", RewardStatus::kWrong},     {"crashed", RewardStatus::kCrashed},
      {"forged", RewardStatus::kForged}, {"timeout", RewardStatus::kTimeout}, {"resource", RewardStatus::kResource}};
  std::vector<Threat> threats;
  for (const CodeCase& one : read_code_cases(file)) {
    std::istringstream words(one.expected);
    double value = 0, parts = 1;
    std::string status, reason;
    words >> value;
    if (words.peek() == '/') words.ignore() >> parts;
    words >> status;
    std::getline(words >> std::ws, reason);
    threats.push_back(
        {one.name, one.code, value / parts, kStatuses.at(status), reason, one.tests.empty() ? kAddsOne : one.tests});
  }
  return threats;
}

class Threats : public NeedsSandbox<testing::TestWithParam<Threat>> {
 protected:
  static void SetUpTestSuite() {
    if (!missing_sandbox().empty()) return;
    write_file(secret_file(), "what programs may not read");
    ::setenv("DRIFT_TEST_SECRET", "what programs may not read", 1);
    before_ = Belongings::now();
    reward_ = create<Reward>("code", "code", {{"workers", 2}});
  }

  // After all of them: nothing is left of any program, and nothing is missing.
  static void TearDownTestSuite() {
    if (!reward_) return;
    reward_.reset();
    EXPECT_TRUE(Belongings::now() == before_) << "processes, files, mounts or descriptors are left";
  }

  /// Seconds for a program that must run into its time limit, and for one that must not, however slow the machine.
  static constexpr double kRunsOut = 0.3;
  static constexpr double kPlenty = 10;

  /// Judged at the same time as an honest program, which must pass.
  static RewardResult judge(const std::string& code, const std::vector<std::string>& tests,
                            double time_limit = kPlenty) {
    auto neighbour = std::async(std::launch::async, [] { return judge_code(kHonest, kAddsOne, *reward_); });
    const TaskItem item = code_item({{"test_list", tests}, {"test_time_limit", time_limit}});
    RewardResult result = judge_response(in_block(code), item, *reward_);
    const RewardResult beside = neighbour.get();
    EXPECT_EQ(beside.value, 1) << "the neighbour: " << beside.reason;
    return result;
  }

  static RewardResult judge(const Threat& threat) {
    return judge(threat.code, threat.tests, threat.status == RewardStatus::kTimeout ? kRunsOut : kPlenty);
  }

  static std::string secret_file() { return (own_temporary_folder() / "secret").string(); }

  static inline std::unique_ptr<Reward> reward_;
  static inline Belongings before_;
};

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
