// Sweeps and suites on a real Slurm, which this test starts and stops: one node, this machine.

#include <tests/support/slurm_cluster.h>
#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <signal.h>

#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

namespace drift::slurm_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Slurm : public testing::Test {
 protected:
  static void SetUpTestSuite() { cluster_ = test::SlurmCluster::if_possible(missing_); }
  static void TearDownTestSuite() { cluster_.reset(); }
  void SetUp() override {
    if (!cluster_) GTEST_SKIP() << missing_;
  }
  void TearDown() override {
    if (HasFailure() && cluster_) std::cerr << cluster_->run("squeue --states=all");
  }

  /// Four runs of the tests' small run.
  void write_sweep(const std::string& steps) const {
    test::write_file(runs_.path() / "grid.toml", "extends = [\"run.toml\"]\n[train]\nsteps = " + steps + R"(
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

  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("export " + cluster_->environment() + " && " + runs_.command(arguments));
  }
  std::unique_ptr<test::RunningProgram> watch(const std::string& arguments) const {
    return std::make_unique<test::RunningProgram>(runs_.path(), arguments,
                                                  std::vector<std::string>{cluster_->environment()});
  }

  fs::path out() const { return runs_.path() / "out"; }
  /// Job arrays that were submitted.
  std::size_t arrays() const {
    std::size_t count = 0;
    while (fs::exists(script(count + 1))) ++count;
    return count;
  }
  fs::path script(std::size_t array) const { return out() / "slurm" / ("array-" + std::to_string(array) + ".sh"); }
  /// The number that Slurm gave it.
  std::string job(std::size_t array = 1) const {
    std::istringstream lines(cluster_->run("squeue --states=all --noheader --format='%A %o'"));
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

  /// What every run computed, but for times; by folder, and folders are named by settings.
  std::map<std::string, std::string> results(const fs::path& folder) const {
    std::map<std::string, std::string> all;
    for (const auto& run : fs::directory_iterator(folder / "runs")) {
      std::string& text = all[run.path().filename().string()];
      for (nlohmann::json line : test::metrics_of(run.path())) {
        line.erase("seconds");
        line.erase("tokens_per_second");
        if (line.contains("held_out")) line["held_out"].erase("seconds");
        text += line.dump() + "\n";
      }
    }
    return all;
  }

  test::TrainingRuns runs_;
  static inline std::unique_ptr<test::SlurmCluster> cluster_;
  static inline std::string missing_;
};

TEST_F(Slurm, ASweepEndsInTheResultsOfALocalOne) {
  write_sweep("2");
  const auto result = drift("sweep grid.toml --out out --launcher slurm");
  ASSERT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, AllOf(HasSubstr("submitted  job " + job() + ": 4 tasks"), HasSubstr("4/4  k="),
                                   HasSubstr("algorithm.masking.k  runs  held-out accuracy %")));
  ASSERT_EQ(drift("sweep grid.toml --out local").status, 0);
  EXPECT_EQ(results(out()), results(runs_.path() / "local"));
  const auto again = drift("sweep grid.toml --out out --launcher slurm");
  EXPECT_EQ(again.status, 0);
  EXPECT_THAT(again.output, Not(HasSubstr("submitted")));
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
  const auto result = drift("sweep grid.toml --out out --launcher slurm");
  EXPECT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, AllOf(HasSubstr("4/4  k="), Not(HasSubstr("submitted"))));
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
  const auto result = drift("sweep grid.toml --out out --launcher slurm");
  EXPECT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, AllOf(HasSubstr("submitted  job " + job(2) + ": 2 tasks"), HasSubstr("4/4  k=")));
}

TEST_F(Slurm, ASuiteHasTheResponsesOfALocalOne) {
  const std::string task = "file = \"" + (test::source_dir() / "configs/tasks/sudoku.toml").string() + "\"";
  test::write_file(runs_.path() / "suite.toml", R"([rollout]
name = "block"
[evaluation]
items = 16
[evaluation.rollout]
temperature = 0.0
[suite]
schedules = ["dynamic", "static"]
tasks = [{ name = "grids", )" + task + R"(, lengths = [20] }]
[suite.slurm]
time = "00:05:00"
)");
  const std::string eval =
      "eval " + (test::source_dir() / "assets/sudoku-llada").string() + " --suite suite.toml --set run.threads=1 ";
  const auto result = drift(eval + "--out out --launcher slurm");
  ASSERT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, AllOf(HasSubstr("submitted  job " + job() + ": 2 tasks"), HasSubstr("[2/2] grids-20-"),
                                   HasSubstr("sudoku-llada")));
  ASSERT_EQ(drift(eval + "--out local").status, 0);
  const auto responses = [&](const std::string& folder, const std::string& cell) {
    std::istringstream lines(test::read_file(runs_.path() / folder / "responses" / (cell + ".jsonl")));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      auto record = nlohmann::json::parse(line);
      record.erase("seconds");
      text += record.dump() + "\n";
    }
    return text;
  };
  for (const char* cell : {"grids-20-dynamic", "grids-20-static"})
    EXPECT_EQ(responses("out", cell), responses("local", cell)) << cell;
  const auto again = drift(eval + "--out out --launcher slurm");
  EXPECT_EQ(again.status, 0) << again.error;
  EXPECT_THAT(again.output, AllOf(HasSubstr("all responses are there"), Not(HasSubstr("submitted"))));
}

}  // namespace
}  // namespace drift::slurm_test
