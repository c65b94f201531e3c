// Ranks that Slurm starts: `srun --mpi=pmix`, on a real Slurm of one node.

#include "tests/ranks/ranks_run.h"
#include "tests/support/slurm_cluster.h"

#include <gmock/gmock.h>

#include <signal.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace drift {
namespace {

using test::count_of;
using test::RanksRun;
using testing::HasSubstr;

class SlurmRanks : public RanksRun {
 protected:
  void SetUp() override {
    RanksRun::SetUp();
    if (IsSkipped()) return;
    std::string missing = test::SlurmCluster::missing();
    try {
      if (missing.empty()) cluster_ = std::make_unique<test::SlurmCluster>();
    } catch (const std::runtime_error& error) {  // a container may forbid what the daemons need
      missing = error.what();
    }
    if (cluster_ && cluster_->run("srun --mpi=list").find("pmix") == std::string::npos)
      missing = "Slurm has no PMIx here";
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  test::CommandResult srun(const std::string& options, const std::string& arguments) const {
    return test::run_command("export OMP_NUM_THREADS=1 " + cluster_->environment() + " && cd " + runs_.path().string() +
                             " && srun " + options + " " + test::program().string() + " " + arguments);
  }

  std::unique_ptr<test::SlurmCluster> cluster_;
};

TEST_F(SlurmRanks, AreTheRunOfOneProcess) {
  ASSERT_EQ(runs_.train("one").status, 0);
  const auto two = srun("-n 2 --mpi=pmix", "train run.toml --out two");
  ASSERT_EQ(two.status, 0) << two.error;
  expect_same_run("two", "one");
  EXPECT_EQ(count_of("two/report.html", two.output), 1u) << "one process speaks: " << two.output;
  EXPECT_THAT(two.output, HasSubstr("2 ranks of 1 thread"));
}

TEST_F(SlurmRanks, OfMpichComeByPmi2) {
  if (const auto missing = test::missing_mpich(); !missing.empty()) GTEST_SKIP() << missing;
  const auto two = srun("-n 2 --mpi=pmi2", "train run.toml --out two");
  ASSERT_EQ(two.status, 0) << two.error;
  EXPECT_THAT(two.output, HasSubstr("2 ranks of 1 thread"));
}

TEST_F(SlurmRanks, WithoutPmixAreToldWhatConnectsThem) {
  const auto apart = srun("-n 2 --mpi=none", "train run.toml --out apart");
  EXPECT_THAT(apart.error, HasSubstr("srun --mpi=pmix"));
}

// srun leaves the other tasks alone when one is killed; Drift's ranks see it themselves.
TEST_F(SlurmRanks, OfWhichOneIsKilledEndWithinHalfAMinute) {
  test::CommandResult result;
  std::thread run([&] { result = srun("-n 2 --mpi=pmix", "train run.toml --out killed --steps 100000"); });
  const auto ranks = [&] { return test::ranks_in(folder(), "SLURM_PROCID="); };
  const auto begin = std::chrono::steady_clock::now();
  const auto within = [&](int seconds) {
    return std::chrono::steady_clock::now() - begin < std::chrono::seconds(seconds);
  };
  while (within(120) && !has_checkpoint("killed")) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const auto found = ranks();
  const auto second = std::ranges::find(found, 1, &std::pair<pid_t, int>::second);
  EXPECT_NE(second, found.end());
  if (second != found.end()) ::kill(second->first, SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  run.join();
  EXPECT_LT(std::chrono::steady_clock::now() - killed, std::chrono::seconds(30));
  EXPECT_THAT(ranks(), testing::IsEmpty());
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("rank 1"));
}

TEST_F(SlurmRanks, OfWhichOneFailsEndWithOneMessage) {
  const auto failed = srun("-n 2 --mpi=pmix", "train run.toml --out failed --set algorithm.nam=rldf");
  EXPECT_NE(failed.status, 0);
  EXPECT_EQ(count_of("algorithm.nam", failed.error), 1u) << failed.error;
}

}  // namespace
}  // namespace drift
