// `--launcher slurm` with stand-ins for Slurm's commands: what is submitted, what is said when that fails, and that
// nothing is submitted twice. The stand-in of sbatch runs the tasks one after the other before it answers.

#include <tests/support/training_run.h>

namespace drift::launcher_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class Launchers : public Test, public TrainingRuns {
 protected:
  Launchers() {
    write("grid.toml", R"(extends = ["run.toml"]
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
    write_file(commands() / name, "#!/bin/bash\n" + script + "\n");
    fs::permissions(commands() / name, fs::perms::owner_all);
  }

  CommandResult drift(const std::string& arguments) const {
    return ProgramFolder::drift(arguments, "PATH=" + commands().string() + ":/usr/bin:/bin");
  }
  CommandResult sweep(const std::string& options = "--launcher slurm") const {
    return drift("sweep grid.toml --out out " + options);
  }

  /// The sweep, when it has said that its job is held.
  std::unique_ptr<RunningProgram> watch_held_job() const {
    auto program =
        std::make_unique<RunningProgram>(path(), "sweep grid.toml --out out --launcher slurm",
                                         std::vector<std::string>{"PATH=" + commands().string() + ":/usr/bin:/bin"});
    EXPECT_TRUE(program->wait_until([&] { return program->output().find("JobHeldUser") != std::string::npos; }))
        << program->output() << program->error();
    return program;
  }

  /// Calls of sbatch.
  std::ptrdiff_t submissions() const {
    const fs::path file = path("submitted");
    if (!fs::exists(file)) return 0;
    const std::string text = read_file(file);
    return std::ranges::count(text, '\n');
  }
  std::string array(const std::string& number) const {
    return read_file(path("out/slurm") / ("array-" + number + ".sh"));
  }
  fs::path commands() const { return path("commands"); }
};

TEST_F(Launchers, AnUnknownOneIsAMistake) {
  EXPECT_THAT(sweep("--launcher slrum"),
              mistake("there is no launcher `slrum`", "did you mean `slurm`?", "local, slurm"));
}

TEST_F(Launchers, SlurmNeedsItsCommands) {
  EXPECT_THAT(ProgramFolder::drift("sweep grid.toml --out out --launcher slurm", "PATH=/nowhere"),
              fails("--launcher slurm needs `sbatch`", "login node"));
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(Launchers, AnEvaluationWithoutASuiteHasNoUseForOne) {
  EXPECT_THAT(drift("eval out --launcher slurm"), mistake("--launcher is for suites"));
}

TEST_F(Launchers, MistakesOfTheSectionAreNamed) {
  const std::string text = read("grid.toml");
  write("grid.toml", text + "gpu = 2\n");
  EXPECT_THAT(sweep().error, AllOf(HasSubstr("unknown key `gpu` in [sweep.slurm]"), HasSubstr("did you mean `gpus`?")));
  write("grid.toml", "[sweep]\n[sweep.slurm]\nlines = [\"mem=2G\"]\ngpus = -1\n");
  EXPECT_THAT(sweep().error, AllOf(HasSubstr("`lines` must be a list of options of sbatch"), HasSubstr("--mem=32G"),
                                   HasSubstr("`gpus` must be an integer of 0 or more")));
}

TEST_F(Launchers, ASweepOnSlurmEndsAsALocalOneDoes) {
  ASSERT_THAT(sweep("--launcher slurm --jobs 3"), prints("submitted  job 77: 2 tasks, ", "out/slurm/array-1.sh",
                                                         "2/2  grid, seed ", "held-out accuracy %"));
  EXPECT_THAT(array("1"), AllOf(HasSubstr("#SBATCH --array=1-2%3\n"), HasSubstr("#SBATCH --partition=tiny\n"),
                                HasSubstr("#SBATCH --time=00:10:00\n"), HasSubstr("#SBATCH --gpus=1\n"),
                                HasSubstr("#SBATCH --mem=2G\n"), HasSubstr("1)  # grid, seed 1\n")));
  EXPECT_EQ(sweep().status, 0);
  EXPECT_EQ(submissions(), 1);
}

TEST_F(Launchers, SbatchsRefusalIsShown) {
  stand_in("sbatch", "echo 'sbatch: error: invalid partition specified: tiny' >&2; exit 1");
  EXPECT_THAT(sweep(), fails("sbatch did not take the job array: invalid partition specified: tiny",
                             "out/slurm/array-1.sh", "`slurm`"));
}

TEST_F(Launchers, AFailedTaskIsShownWithItsReasonAndLogs) {
  stand_in("sbatch", R"(sed -i s/settings.toml/nothing.toml/ $2
SLURM_ARRAY_JOB_ID=77 SLURM_ARRAY_TASK_ID=1 SLURM_CPUS_ON_NODE=1 bash $2
echo 77)");
  write("queue", "77_2|TIMEOUT|TimeLimit|array-1.sh\n");
  EXPECT_THAT(sweep(), finds("failed  grid, seed 1: exit status", "nothing.toml",
                             "failed  grid, seed 2: time limit reached (Slurm task 77_2)", "2 runs failed"));
  EXPECT_THAT(read("out/runs.csv"), HasSubstr("time limit reached"));
}

TEST_F(Launchers, ATaskOfWhichNothingIsKnownFails) {
  stand_in("sbatch", "echo slurmstepd: error: killed >out/slurm/77_1.txt; echo 77");
  EXPECT_THAT(sweep(), finds("the task left no exit status; sacct -j 77_1 may know more",
                             "out/slurm/77_1.txt:\n    slurmstepd: error: killed",
                             "seed 2: cancelled before it began (Slurm task 77_2)"));
}

TEST_F(Launchers, WhatASweepThatWasKilledSubmittedIsNotSubmittedAgain) {
  stand_in("sbatch", "echo \"$*\" >>submitted; echo 77");
  const std::string script = path("out/slurm/array-1.sh").string();
  const auto queue = [&](const std::string& state) {
    return "77_1|" + state + "|None|" + script + "\n77_2|PENDING|JobHeldUser|" + script + "\n";
  };
  write("queue", queue("RUNNING"));
  {
    auto program = watch_held_job();
    program->send(SIGKILL);
    program->wait();
    EXPECT_THAT(program->output(), HasSubstr("job 77 waits: JobHeldUser"));
  }
  // Nothing but squeue knows the job's number: it may be killed before sbatch has told it.
  write("queue", queue("RUNNING"));
  auto program = watch_held_job();
  program->send(SIGINT);
  EXPECT_EQ(program->wait(), 130);
  EXPECT_THAT(program->output(),
              AllOf(HasSubstr("watching   job 77: 2 tasks"),
                    HasSubstr("2 tasks of Slurm go on without this command, 1 at work and 1 waiting"),
                    HasSubstr("to cancel: scancel 77"),
                    HasSubstr("continue with  drift sweep grid.toml --out out --launcher slurm")));
  EXPECT_EQ(submissions(), 1);
  EXPECT_THAT(sweep(""), fails("are in Slurm's queue: 2 tasks", "scancel 77", "--launcher slurm"));
}

TEST_F(Launchers, SqueueThatFailsIsWaitedForButNotBeforeTheFirstLook) {
  stand_in("sbatch", "echo 77; touch again; echo \"$*\" >>submitted");
  stand_in("squeue",
           "if [ -e again ]; then rm again; echo 'slurm_load_jobs error: Unable to contact slurm controller' "
           ">&2; exit 1; fi");
  const auto result = sweep();
  EXPECT_THAT(result.output, HasSubstr("waiting for Slurm: squeue fails: slurm_load_jobs error: Unable to contact"));
  write("again", "");
  EXPECT_THAT(sweep(), fails("squeue fails"));
  EXPECT_EQ(submissions(), 1);
}

}  // namespace drift::launcher_test
