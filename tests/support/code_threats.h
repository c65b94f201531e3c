#pragma once

// Hostile programs and the verdict that each must get, judged beside an honest program that must get its own.

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <future>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/code.h"
#include "tests/support/code_cases.h"
#include "tests/support/support.h"

namespace drift::test {

/// The tests: f(1) == 2, f(2) == 3, f(3) == 4.
inline const std::vector<std::string> kAddsOne = {"assert f(1) == 2", "assert f(2) == 3", "assert f(3) == 4"};
inline constexpr const char* kHonest = "def f(x):\n    return x + 1\n";

struct Threat {
  std::string name;
  std::string code;
  double value;  ///< 0, or what honest code earns where the attack comes to nothing
  RewardStatus status;
  std::string reason;  ///< part of it: that the attack was tried, and what became of it
  std::vector<std::string> tests;
};

inline void PrintTo(const Threat& threat, std::ostream* out) { *out << threat.name; }

inline std::vector<Threat> read_threats(const std::string& file) {
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

/// What must not change: descriptors of this process, its files, its children.
struct Belongings {
  std::set<std::string> files;
  std::size_t descriptors = 0;

  static Belongings of(const std::filesystem::path& folder) {
    Belongings found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) found.files.insert(entry.path());
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      found.descriptors += entry.path().empty() ? 0 : 1;
    }
    return found;
  }
};

class Threats : public testing::TestWithParam<Threat> {
 protected:
  static void SetUpTestSuite() {
    if (!missing_sandbox().empty()) return;
    home_ = std::make_unique<TemporaryFolder>();
    write_file(home_->path() / "secret", "what programs may not read");
    ::setenv("DRIFT_TEST_SECRET", "what programs may not read", 1);
    before_ = Belongings::of(home_->path());
    reward_ = create<Reward>("code", "code", {{"workers", 2}});
  }

  // After all of them: nothing is left of any program, and nothing is missing.
  static void TearDownTestSuite() {
    if (!reward_) return;
    reward_.reset();
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child process is left";
    EXPECT_EQ(errno, ECHILD);
    const Belongings after = Belongings::of(home_->path());
    EXPECT_EQ(after.files, before_.files);
    EXPECT_EQ(after.descriptors, before_.descriptors);
    home_.reset();
  }

  void SetUp() override {
    if (!missing_sandbox().empty()) GTEST_SKIP() << missing_sandbox();
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

  static std::string secret_file() { return (home_->path() / "secret").string(); }

  static inline std::unique_ptr<TemporaryFolder> home_;
  static inline std::unique_ptr<Reward> reward_;
  static inline Belongings before_;
};

}  // namespace drift::test
