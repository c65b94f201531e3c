// Ranks that Slurm starts: `srun --mpi=pmix`, on a real Slurm of one node.

#include "tests/ranks/ranks_run.h"
#include "tests/support/slurm_cluster.h"
#include "tests/support/support.h"

#include <signal.h>

namespace drift::slurm_ranks_test {

using test::count_of;
using test::RanksRun;
using testing::HasSubstr;

class SlurmRanks : public RanksRun {
 protected:
  void SetUp() override {
    RanksRun::SetUp();
    if (IsSkipped()) return;
    std::string missing;
    cluster_ = test::SlurmCluster::if_possible(missing);
    if (cluster_ && cluster_->run("srun --mpi=list").find("pmix") == std::string::npos)
      missing = "Slurm has no PMIx here";
    if (!missing.empty()) GTEST_SKIP() << missing;
  }

  std::string srun_command(const std::string& options, const std::string& arguments) const {
    return "export OMP_NUM_THREADS=1 " + cluster_->environment() + " && cd " + runs_.path().string() + " && srun " +
           options + " " + test::program().string() + " " + arguments;
  }
  test::CommandResult srun(const std::string& options, const std::string& arguments) const {
    return test::run_command(srun_command(options, arguments));
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

TEST_F(SlurmRanks, WithoutPmixAreToldWhatConnectsThem) {
  const auto apart = srun("-n 2 --mpi=none", "train run.toml --out apart");
  EXPECT_THAT(apart.error, HasSubstr("srun --mpi=pmix"));
}

// srun leaves the other tasks alone when one is killed; Drift's ranks see it themselves.
TEST_F(SlurmRanks, OfWhichOneIsKilledEndWithinHalfAMinute) {
  const auto result = disturbed(
      srun_command("-n 2 --mpi=pmix", "train run.toml --out killed --steps 100000"),
      [&] { return has_checkpoint("killed"); }, [&] { send(SIGKILL, 1); });
  EXPECT_THAT(test::ranks_in(folder()), testing::IsEmpty());
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("rank 1"));
}

TEST_F(SlurmRanks, OfWhichOneFailsEndWithOneMessage) {
  const auto failed = srun("-n 2 --mpi=pmix", "train run.toml --out failed --set algorithm.nam=rldf");
  EXPECT_NE(failed.status, 0);
  EXPECT_EQ(count_of("algorithm.nam", failed.error), 1u) << failed.error;
}

}  // namespace drift::slurm_ranks_test
