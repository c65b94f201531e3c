// Sweeps and suites on a real Slurm, which this test starts and stops: one node, this machine.

#include <tests/support/slurm_cluster.h>
#include <tests/support/training_run.h>

#include <signal.h>

namespace drift::slurm_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class Slurm : public Test, public TrainingRuns {
 protected:
  static void SetUpTestSuite() { cluster_ = SlurmCluster::if_possible(missing_); }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override {
    if (!cluster_) GTEST_SKIP() << missing_;
  }
  void TearDown() override {
    if (HasFailure() && cluster_) std::cerr << cluster_->run("squeue --states=all");
  }

  /// Four runs of the tests' small run.
  void write_sweep(const std::string& steps) const {
    write("grid.toml", "extends = [\"run.toml\"]\n[train]\nsteps = " + steps + R"(
[sweep]
seeds = [1, 2]
[sweep.slurm]
partition = "tests"
time = "00:05:00"
lines = ["--cpus-per-task=1"]
[sweep.grid]
algorithm.masking.k = [1, 2]
)");
  }

  CommandResult drift(const std::string& arguments) const {
    return run_command("export " + cluster_->environment() + " && " + command(arguments));
  }
  std::unique_ptr<RunningProgram> watch(const std::string& arguments) const {
    return std::make_unique<RunningProgram>(path(), arguments, std::vector<std::string>{cluster_->environment()});
  }

  fs::path out() const { return path("out"); }
  /// Job arrays that were submitted.
  std::size_t arrays() const {
    std::size_t count = 0;
    while (fs::exists(script(count + 1))) ++count;
    return count;
  }
  fs::path script(std::size_t array) const { return out() / "slurm" / ("array-" + std::to_string(array) + ".sh"); }
  /// The number that Slurm gave it.
  std::string job(std::size_t array = 1) const {
    std::istringstream lines(cluster_->run("squeue --states=all --noheader --format='%F %o'"));
    for (std::string number, file; lines >> number && std::getline(lines >> std::ws, file);) {
      std::error_code gone;  // with the folder of an earlier test
      if (fs::equivalent(file, script(array), gone)) return number;
    }
    return "none";
  }
  std::size_t begun() const {
    std::size_t count = 0;
    if (!fs::exists(out() / "runs")) return 0;
    for (const auto& run : fs::directory_iterator(out() / "runs")) count += fs::exists(run.path() / "checkpoints/last");
    return count;
  }

  static inline std::unique_ptr<SlurmCluster> cluster_;
  static inline std::string missing_;
};

TEST_F(Slurm, ASweepEndsInTheResultsOfALocalOne) {
  write_sweep("2");
  const auto swept = drift("sweep grid.toml --out out --launcher slurm");
  ASSERT_THAT(swept, prints("submitted  job " + job() + ": 4 tasks",
                            "4/4  k=", "algorithm.masking.k  runs  held-out accuracy %"));
  ASSERT_EQ(drift("sweep grid.toml --out local").status, 0);
  EXPECT_EQ(results_of(out()), results_of(path("local")));
  EXPECT_THAT(drift("sweep grid.toml --out out --launcher slurm"), prints(Not(HasSubstr("submitted"))));
  EXPECT_EQ(arrays(), 1u);
}

TEST_F(Slurm, AWatchThatWasInterruptedGoesOn) {
  write_sweep("40");
  auto killed = watch("sweep grid.toml --out out --launcher slurm");
  ASSERT_TRUE(killed->wait_until([&] { return begun() > 0; })) << killed->output() << killed->error();
  // What has not begun waits from here on: there is something to watch, however fast the machine.
  cluster_->run("scontrol update PartitionName=tests State=DOWN");
  killed->send(SIGKILL);
  killed->wait();

  auto stopped = watch("sweep grid.toml --out out --launcher slurm");
  ASSERT_TRUE(stopped->wait_until([&] { return stopped->output().find("PartitionDown") != std::string::npos; }))
      << stopped->output() << stopped->error();
  stopped->send(SIGINT);
  EXPECT_EQ(stopped->wait(), 130);
  EXPECT_THAT(stopped->output(), AllOf(HasSubstr("watching   job " + job()), HasSubstr("waits: PartitionDown"),
                                       HasSubstr("without this command"), HasSubstr("to cancel: scancel " + job())));

  cluster_->run("scontrol update PartitionName=tests State=UP");
  EXPECT_THAT(drift("sweep grid.toml --out out --launcher slurm"), prints("4/4  k=", Not(HasSubstr("submitted"))));
  EXPECT_EQ(arrays(), 1u);
}

TEST_F(Slurm, ACancelledTaskIsToldAndTriedAgain) {
  write_sweep("40");
  auto watched = watch("sweep grid.toml --out out --launcher slurm");
  ASSERT_TRUE(watched->wait_until([&] { return begun() > 0; })) << watched->output() << watched->error();
  cluster_->run("scancel " + job() + "_1 " + job() + "_4");  // one at work, and one that waits
  EXPECT_EQ(watched->wait(), 1);
  EXPECT_THAT(watched->output(), AllOf(HasSubstr("failed  k=1, seed 1: cancelled (Slurm task " + job() + "_1)"),
                                       HasSubstr("output.txt"), HasSubstr("out/slurm/" + job() + "_1.txt"),
                                       HasSubstr("failed  k=2, seed 2: cancelled before it began"),
                                       HasSubstr("2 runs failed; the same command tries again")));
  const auto again = drift("sweep grid.toml --out out --launcher slurm");
  EXPECT_THAT(again, prints("submitted  job " + job(2) + ": 2 tasks", "4/4  k="));
}

TEST_F(Slurm, ASuiteHasTheResponsesOfALocalOne) {
  const std::string task = "file = \"" + source("configs/tasks/sudoku.toml") + "\"";
  write("suite.toml", R"([rollout]
name = "block"
[evaluation]
items = 16
[evaluation.rollout]
temperature = 0.0
[suite]
schedules = ["dynamic", "static"]
tasks = [{ name = "grids", )" +
                          task + R"(, lengths = [20] }]
[suite.slurm]
time = "00:05:00"
)");
  const std::string eval = "eval " + source("assets/sudoku-llada") + " --suite suite.toml --set run.threads=1 ";
  const auto answered = drift(eval + "--out out --launcher slurm");
  ASSERT_THAT(answered, prints("submitted  job " + job() + ": 2 tasks", "[2/2] grids-20-", "sudoku-llada"));
  ASSERT_EQ(drift(eval + "--out local").status, 0);
  for (const char* cell : {"grids-20-dynamic", "grids-20-static"})
    EXPECT_EQ(responses_in("out", cell), responses_in("local", cell)) << cell;
  EXPECT_THAT(drift(eval + "--out out --launcher slurm"),
              prints("all responses are there", Not(HasSubstr("submitted"))));
}

}  // namespace drift::slurm_test
