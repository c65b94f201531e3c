// What goes wrong on one of several ranks: all end, one message names the rank and its host, and no process is left.

#include "tests/ranks/ranks_run.h"
#include "tests/support/support.h"

#include <core/ranks/ranks.h>

#include <signal.h>
#include <sys/resource.h>

namespace drift::rank_failures_test {

using test::count_of;
using test::RanksRun;
using namespace testing;

class RankFailures : public RanksRun {
 protected:
  /// Of two ranks, of which rank 1 has a fault in a component.
  std::string faulty(const std::string& component, const std::string& fault, const std::string& options = "") const {
    std::string toml = "[run]\nseed = 1\n[plugins]\npaths = [\"" +
                       (test::build_dir() / "tests/plugins/libtest_faulty.so").string() +
                       "\"]\n[algorithm]\nname = \"rldf\"\n[train]\nsteps = 2\nprompts_per_step = 2\ngroup_size = 2\n";
    for (const char* section : {"model", "task", "reward", "rollout", "algorithm.masking", "algorithm.loss"}) {
      toml += "[" + std::string(section) + "]\nname = \"faulty\"\n";
      if (section == component) toml += "fault = \"" + fault + "\"\n";
      if (section == std::string("model"))
        toml += "initialize = \"random\"\npath = \"" + (test::source_dir() / "assets/sudoku-llada").string() + "\"\n";
    }
    test::write_file(runs_.path() / "faulty.toml", toml);
    return command("-x DRIFT_FAULTY_RANK=1 -n 2 drift train faulty.toml --out a " + options);
  }

  /// What is said once, of one rank.
  static void expect_said_of(int rank, const std::string& what, const test::CommandResult& result) {
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.error, HasSubstr("rank " + std::to_string(rank) + " (" + Ranks::host() + "): " + what));
    EXPECT_EQ(count_of("error: ", result.error), 1u) << result.error;
    EXPECT_EQ(count_of(what, result.error), 1u) << result.error;
  }
  /// A long run of two ranks whose launcher gets this signal.
  test::CommandResult signalled(int signal) const {
    return disturbed(
        "cd " + runs_.path().string() + " && echo $$ > launcher && exec env " + test::mpirun() + "-n 2 " +
            test::program().string() + " train run.toml --steps 4000 --out a",
        [&] { return has_checkpoint("a"); },
        [&] { ::kill(static_cast<pid_t>(std::stol(test::read_file(runs_.path() / "launcher"))), signal); });
  }
  void expect_that_it_goes_on() const {
    const std::size_t steps = test::metrics_of(runs_.run("a")).size() + 1;
    const auto resumed = train(2, "a", "--resume --steps " + std::to_string(steps));
    EXPECT_EQ(resumed.status, 0) << resumed.error;
  }
};

TEST_F(RankFailures, ARankThatIsStoppedGivesNoSignOfLife) {
  for (const int rank : {0, 1}) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const std::string name = "of-" + std::to_string(rank);
    const auto result = disturbed(
        command("-n 3 drift train run.toml --steps 4000 --set distributed.timeout=3 --out " + name),
        [&] { return has_checkpoint(name); }, [&] { send(SIGSTOP, rank); });
    expect_said_of(rank, "it has given no sign of life for 3 s", result);
    EXPECT_THAT(result.error, HasSubstr("--resume"));
  }
}

// The others wait for a rank that lives.
TEST_F(RankFailures, WorkThatDoesNotEndIsWaitedForOnlySoLong) {
  const auto result = test::run_command(faulty("reward", "hang", "--set distributed.longest_wait=2"));
  expect_said_of(1, "the others have waited for it for 2 s, though it lives", result);
}

TEST_F(RankFailures, ARankThatIsBusyIsWaitedFor) {
  const auto result = disturbed(
      faulty("reward", "hang", "--set distributed.timeout=1"),
      [begin = std::chrono::steady_clock::now()] {
        return std::chrono::steady_clock::now() > begin + std::chrono::seconds(5);
      },
      [&] { test::write_file(runs_.path() / "enough", ""); });
  EXPECT_EQ(result.status, 0) << result.error;
}

TEST_F(RankFailures, AProcessThatEndsIsNamed) {
  for (const int rank : {0, 1}) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const std::string name = "of-" + std::to_string(rank);
    const auto result = disturbed(
        command("-n 3 drift train run.toml --steps 4000 --out " + name), [&] { return has_checkpoint(name); },
        [&] { send(SIGKILL, rank); });
    // Open MPI ends the others within a second, which may be before they have said it.
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.error, HasSubstr("rank " + std::to_string(rank)));
    EXPECT_THAT(result.error, HasSubstr(Ranks::host()));
    EXPECT_LE(count_of("error: ", result.error), 1u) << result.error;
  }
}

TEST_F(RankFailures, ALauncherThatIsKilledLeavesNoProcess) { EXPECT_NE(signalled(SIGKILL).status, 0); }

// Open MPI gives the ranks a second: enough for these steps.
TEST_F(RankFailures, CtrlCAtTheLauncherSavesACheckpoint) {
  const auto result = signalled(SIGINT);
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(count_of("error: ", result.error), 0u) << result.error;
  expect_that_it_goes_on();
}

TEST_F(RankFailures, AFullDiskEndsTheRunWithWhatIsSafe) {
  const auto result = disturbed(
      command("-n 2 drift train run.toml --steps 4000 --out a"), [&] { return has_checkpoint("a"); },
      [&] {
        const rlimit limit{10'000, 10'000};  // bytes of a file
        ::prlimit(test::process_of(0, folder()), RLIMIT_FSIZE, &limit, nullptr);
      });
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(count_of("error: ", result.error), 1u) << result.error;
  EXPECT_THAT(result.error, AllOf(HasSubstr("File too large"), HasSubstr("safe on disk: "), HasSubstr("--resume")));
  expect_that_it_goes_on();
}

TEST_F(RankFailures, AFaultyComponentIsNamedWithItsRank) {
  for (const auto& [component, fault, says] :
       {std::tuple("model", "nan", "the hidden states are not finite"), {"reward", "error", "the disk is slow"}}) {
    const auto result = test::run_command(faulty(component, fault));
    EXPECT_THAT(result.error, HasSubstr("evaluation before the first step: rank 1 ("));
    EXPECT_THAT(result.error, HasSubstr(says));
    EXPECT_EQ(count_of("error: ", result.error), 1u) << result.error;
    if (component == std::string("reward")) EXPECT_THAT(result.error, HasSubstr("buy another"));
  }
}

TEST_F(RankFailures, APluginThatEndsItsProcessIsNamedWithItsRank) {
  const auto result = test::run_command("ulimit -c 0; " + faulty("reward", "segv"));
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("reward `faulty` of plugin `faulty`, score: it ended the program by SIGSEGV"));
  EXPECT_THAT(result.error, HasSubstr("rank 1"));
}

TEST_F(RankFailures, AWarningOfOneRankIsShownOnceWithItsRank) {
  const auto result = test::run_command(faulty("reward", "bytes"));
  ASSERT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("rank 1 (" + Ranks::host() + "): reward `faulty`"));
  EXPECT_EQ(count_of("not UTF-8", result.output + result.error), 1u) << result.output << result.error;
}

}  // namespace drift::rank_failures_test
