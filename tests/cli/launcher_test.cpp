// `--launcher slurm` with stand-ins for Slurm's commands: what is submitted, what is said when that fails, and that
// nothing is submitted twice. The stand-in of sbatch runs the tasks one after the other before it answers.

#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <algorithm>
#include <string>

namespace drift::launcher_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class Launchers : public testing::Test {
 protected:
  Launchers() {
    test::write_file(runs_.path() / "grid.toml", R"(extends = ["run.toml"]
[train]
steps = 1
[sweep]
seeds = [1, 2]
[sweep.slurm]
partition = "tiny"
time = "00:10:00"
gpus = 1
lines = ["--mem=2G"]
)");
    stand_in("squeue", "cat queue 2>/dev/null; true");
    stand_in("sbatch", kRunsTheTasks);
  }

  static constexpr const char* kRunsTheTasks = R"(script=$2
for task in $(seq $(sed -n 's/.*--array=1-\([0-9]*\).*/\1/p' $script)); do
  SLURM_ARRAY_JOB_ID=77 SLURM_ARRAY_TASK_ID=$task SLURM_CPUS_ON_NODE=1 bash $script
done
echo "$*" >>submitted
echo "77;cluster")";

  void stand_in(const std::string& name, const std::string& script) const {
    test::write_file(commands() / name, "#!/bin/bash\n" + script + "\n");
    fs::permissions(commands() / name, fs::perms::owner_all);
  }

  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("cd " + runs_.path().string() + " && PATH=" + commands().string() + ":/usr/bin:/bin " +
                             test::program().string() + " " + arguments);
  }
  test::CommandResult sweep(const std::string& options = "--launcher slurm") const {
    return drift("sweep grid.toml --out out " + options);
  }

  /// Calls of sbatch.
  std::ptrdiff_t submissions() const {
    const fs::path file = runs_.path() / "submitted";
    if (!fs::exists(file)) return 0;
    const std::string text = test::read_file(file);
    return std::ranges::count(text, '\n');
  }
  std::string array(const std::string& number) const {
    return test::read_file(runs_.path() / "out/slurm" / ("array-" + number + ".sh"));
  }
  fs::path commands() const { return runs_.path() / "commands"; }

  test::TrainingRuns runs_;
};

TEST_F(Launchers, AnUnknownOneIsAMistake) {
  const auto result = sweep("--launcher slrum");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.error, AllOf(HasSubstr("there is no launcher `slrum`"), HasSubstr("did you mean `slurm`?"),
                                  HasSubstr("local, slurm")));
}

TEST_F(Launchers, SlurmNeedsItsCommands) {
  const auto result = test::run_command("cd " + runs_.path().string() + " && PATH=/nowhere " +
                                        test::program().string() + " sweep grid.toml --out out --launcher slurm");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, AllOf(HasSubstr("--launcher slurm needs `sbatch`"), HasSubstr("login node")));
  EXPECT_FALSE(fs::exists(runs_.path() / "out"));
}

TEST_F(Launchers, AnEvaluationWithoutASuiteHasNoUseForOne) {
  const auto result = drift("eval out --launcher slurm");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.error, HasSubstr("--launcher is for suites"));
}

TEST_F(Launchers, MistakesOfTheSectionAreNamed) {
  const std::string text = test::read_file(runs_.path() / "grid.toml");
  test::write_file(runs_.path() / "grid.toml", text + "gpu = 2\n");
  EXPECT_THAT(sweep().error, AllOf(HasSubstr("unknown key `gpu` in [sweep.slurm]"), HasSubstr("did you mean `gpus`?")));
  test::write_file(runs_.path() / "grid.toml", "[sweep]\n[sweep.slurm]\nlines = [\"mem=2G\"]\ngpus = -1\n");
  EXPECT_THAT(sweep().error, AllOf(HasSubstr("`lines` must be a list of options of sbatch"), HasSubstr("--mem=32G"),
                                   HasSubstr("`gpus` must be an integer of 0 or more")));
}

TEST_F(Launchers, ASweepOnSlurmEndsAsALocalOneDoes) {
  const auto result = sweep("--launcher slurm --jobs 3");
  ASSERT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, AllOf(HasSubstr("submitted  job 77: 2 tasks, "), HasSubstr("out/slurm/array-1.sh"),
                                   HasSubstr("2/2  grid, seed "), HasSubstr("held-out accuracy %")));
  EXPECT_THAT(array("1"), AllOf(HasSubstr("#SBATCH --array=1-2%3\n"), HasSubstr("#SBATCH --partition=tiny\n"),
                                HasSubstr("#SBATCH --time=00:10:00\n"), HasSubstr("#SBATCH --gpus=1\n"),
                                HasSubstr("#SBATCH --mem=2G\n"), HasSubstr("1)  # grid, seed 1\n")));
  EXPECT_EQ(sweep().status, 0);
  EXPECT_EQ(submissions(), 1);
}

TEST_F(Launchers, SbatchsRefusalIsShown) {
  stand_in("sbatch", "echo 'sbatch: error: invalid partition specified: tiny' >&2; exit 1");
  const auto result = sweep();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, AllOf(HasSubstr("sbatch did not take the job array: invalid partition specified: tiny"),
                                  HasSubstr("out/slurm/array-1.sh"), HasSubstr("`slurm`")));
}

TEST_F(Launchers, AFailedTaskIsShownWithItsReasonAndLogs) {
  stand_in("sbatch", R"(sed -i s/settings.toml/nothing.toml/ $2
SLURM_ARRAY_JOB_ID=77 SLURM_ARRAY_TASK_ID=1 SLURM_CPUS_ON_NODE=1 bash $2
echo 77)");
  test::write_file(runs_.path() / "queue", "77_2|TIMEOUT|TimeLimit|array-1.sh\n");
  const auto result = sweep();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("failed  grid, seed 1: exit status"), HasSubstr("nothing.toml"),
                                   HasSubstr("failed  grid, seed 2: time limit reached (Slurm task 77_2)"),
                                   HasSubstr("2 runs failed")));
  EXPECT_THAT(test::read_file(runs_.path() / "out/runs.csv"), HasSubstr("time limit reached"));
}

TEST_F(Launchers, ATaskOfWhichNothingIsKnownFails) {
  stand_in("sbatch", "echo slurmstepd: error: killed >out/slurm/77_1.txt; echo 77");
  const auto result = sweep();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, AllOf(HasSubstr("the task left no exit status; sacct -j 77_1 may know more"),
                                   HasSubstr("out/slurm/77_1.txt:\n    slurmstepd: error: killed"),
                                   HasSubstr("seed 2: cancelled before it began (Slurm task 77_2)")));
}

TEST_F(Launchers, WhatASweepThatWasKilledSubmittedIsNotSubmittedAgain) {
  stand_in("sbatch", "echo \"$*\" >>submitted; echo 77");
  const std::string script = (runs_.path() / "out/slurm/array-1.sh").string();
  const auto queue = [&](const std::string& state) {
    return "77_1|" + state + "|None|" + script + "\n77_2|PENDING|JobHeldUser|" + script + "\n";
  };
  test::write_file(runs_.path() / "queue", queue("RUNNING"));
  {
    test::RunningProgram program(runs_.path(), "sweep grid.toml --out out --launcher slurm",
                                 {"PATH=" + commands().string() + ":/usr/bin:/bin"});
    ASSERT_TRUE(program.wait_until([&] { return program.output().find("JobHeldUser") != std::string::npos; }))
        << program.output() << program.error();
    program.send(SIGKILL);
    program.wait();
    EXPECT_THAT(program.output(), HasSubstr("job 77 waits: JobHeldUser"));
  }
  // Nothing but squeue knows the job's number: it may be killed before sbatch has told it.
  test::write_file(runs_.path() / "queue", queue("RUNNING"));
  test::RunningProgram program(runs_.path(), "sweep grid.toml --out out --launcher slurm",
                               {"PATH=" + commands().string() + ":/usr/bin:/bin"});
  ASSERT_TRUE(program.wait_until([&] { return program.output().find("JobHeldUser") != std::string::npos; }))
      << program.output() << program.error();
  program.send(SIGINT);
  EXPECT_EQ(program.wait(), 130);
  EXPECT_THAT(program.output(), AllOf(HasSubstr("watching   job 77: 2 tasks"),
                                      HasSubstr("2 tasks of Slurm go on without this command, 1 at work and 1 waiting"),
                                      HasSubstr("to cancel: scancel 77"),
                                      HasSubstr("continue with  drift sweep grid.toml --out out --launcher slurm")));
  EXPECT_EQ(submissions(), 1);
  const auto local = sweep("");
  EXPECT_EQ(local.status, 1);
  EXPECT_THAT(local.error, AllOf(HasSubstr("are in Slurm's queue: 2 tasks"), HasSubstr("scancel 77"),
                                 HasSubstr("--launcher slurm")));
}

TEST_F(Launchers, SqueueThatFailsIsWaitedForButNotBeforeTheFirstLook) {
  stand_in("sbatch", "echo 77; touch again; echo \"$*\" >>submitted");
  stand_in("squeue",
           "if [ -e again ]; then rm again; echo 'slurm_load_jobs error: Unable to contact slurm controller' "
           ">&2; exit 1; fi");
  const auto result = sweep();
  EXPECT_THAT(result.output, HasSubstr("waiting for Slurm: squeue fails: slurm_load_jobs error: Unable to contact"));
  test::write_file(runs_.path() / "again", "");
  const auto repeated = sweep();
  EXPECT_EQ(repeated.status, 1);
  EXPECT_THAT(repeated.error, HasSubstr("squeue fails"));
  EXPECT_EQ(submissions(), 1);
}

}  // namespace
}  // namespace drift::launcher_test
