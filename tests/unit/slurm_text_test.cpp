// The text that Slurm is given and the text that it answers; the real Slurm is in tests/cli/slurm_test.cpp.

#include <core/base/child_process.h>
#include <core/sweep/slurm_text.h>
#include <tests/support/support.h>

namespace drift::slurm_text_test {

using namespace testing;

SlurmScript script() { return {"grid", {}, "/data/out/slurm", "/home/me", "/opt/drift/bin/drift", 0}; }

const std::vector<Job> kJobs = {{"a1",
                                 "k=1, seed 1",
                                 {"train", "out/a1/settings.toml", "--set", "run.threads=0"},
                                 "/data/out/a1/output.txt",
                                 "/data/out/a1/config.toml"},
                                {"b2", "k=2\nseed 1", {"eval", "it's"}, "/data/with space/b2.txt"}};

TEST(SlurmScriptText, IsReadByPeople) {
  SlurmScript asked = script();
  asked.settings = {"gpu", "04:00:00", 2, {"--mem=32G"}};
  asked.at_a_time = 8;
  const std::string text = slurm_script_text(asked, kJobs);
  EXPECT_THAT(text, testing::StartsWith(R"(#!/bin/bash
#SBATCH --job-name=drift-grid
#SBATCH --array=1-2%8
#SBATCH --output=/data/out/slurm/%A_%a.txt
#SBATCH --partition=gpu
#SBATCH --time=04:00:00
#SBATCH --gpus=2
#SBATCH --mem=32G
)"));
  EXPECT_THAT(text, HasSubstr(R"(cd /home/me || exit
begun=
case $SLURM_ARRAY_TASK_ID in
  1)  # k=1, seed 1
    job=a1
    output=/data/out/a1/output.txt
    begun=/data/out/a1/config.toml
    set -- train out/a1/settings.toml --set run.threads=0 ;;
  2)  # k=2 seed 1
    job=b2
    output='/data/with space/b2.txt'
    set -- eval 'it'\''s' ;;
esac
)"));
  EXPECT_THAT(jobs_in_slurm_script(text), testing::ElementsAre("a1", "b2"));
}

TEST(SlurmScriptText, AsksForNothingThatIsNotSet) {
  const std::string text = slurm_script_text(script(), kJobs);
  EXPECT_THAT(text, HasSubstr("#SBATCH --array=1-2\n"));
  for (const char* option : {"--partition", "--time", "--gpus"}) EXPECT_THAT(text, Not(HasSubstr(option)));
}

TEST(SlurmScriptText, QuotesTheFolderAsSbatchReadsIt) {
  SlurmScript asked = script();
  asked.folder = "/data/100% \"sure\"";
  EXPECT_THAT(slurm_script_text(asked, kJobs), HasSubstr(R"(--output="/data/100%% \"sure\""/%A_%a.txt)"));
}

/// A task as a cluster's node runs it, of a program that shows what it is given.
class SlurmTaskShell : public testing::Test {
 protected:
  /// @return the exit status
  int run_task(const std::string& program, int number = 1) {
    test::write_file(folder_.path() / "program", "#!/bin/bash\n" + program);
    std::filesystem::permissions(folder_.path() / "program", std::filesystem::perms::owner_all);
    SlurmScript asked = script();
    asked.folder = asked.working = folder_.path();
    asked.program = folder_.path() / "program";
    const Job job{"a1", "k=1", {"train", "two words"}, folder_.path() / "output.txt", folder_.path() / "config.toml"};
    test::write_file(folder_.path() / "task.sh", slurm_script_text(asked, {job}));
    return run({.arguments = {"/bin/bash", (folder_.path() / "task.sh").string()},
                .environment = environment_with({"SLURM_ARRAY_JOB_ID=7", "SLURM_CPUS_ON_NODE=3",
                                                 "OMP_NUM_THREADS=", "SLURM_ARRAY_TASK_ID=" + std::to_string(number)})})
        .end.status();
  }
  std::string file(const char* name) const { return test::read_file(folder_.path() / name); }

  test::TemporaryFolder folder_;
};

TEST_F(SlurmTaskShell, RunsItsJobAndLeavesTheStatus) {
  EXPECT_EQ(run_task("printf '%s,' \"$@\" $OMP_NUM_THREADS; exit 3"), 3);
  EXPECT_EQ(file("output.txt"), "train,two words,3,");
  EXPECT_EQ(file("7_1.status"), "3\n");
}

TEST_F(SlurmTaskShell, ContinuesWhatWasBegun) {
  test::write_file(folder_.path() / "config.toml", "");
  EXPECT_EQ(run_task("printf '%s,' \"$@\""), 0);
  EXPECT_EQ(file("output.txt"), "train,two words,--resume,");
}

TEST_F(SlurmTaskShell, WaitsForAProgramThatSavesWhenItIsToldToStop) {
  const std::string saves =
      "trap 'sleep 0.2; echo saved; exit 143' TERM\nkill -TERM $PPID\nwhile :; do sleep 0.05; done\n";
  EXPECT_EQ(run_task(saves), 143);
  EXPECT_EQ(file("output.txt"), "saved\n");
  EXPECT_EQ(file("7_1.status"), "143\n");
}

TEST(SlurmQueue, IsReadLineByLine) {
  const auto tasks = parse_slurm_queue(
      "12_1|RUNNING|None|/out/slurm/array-1.sh\n"
      "12_2|PENDING|Resources|/with space/and|bar.sh\n"
      "13|RUNNING|None|/somebody/else.sh\n"
      "12_[3-9]|PENDING|JobArrayTaskLimit|/out/slurm/array-1.sh\n"
      "squeue: a warning\n");
  ASSERT_EQ(tasks.size(), 2u);
  EXPECT_EQ(tasks[0].job, "12");
  EXPECT_EQ(tasks[0].id, "12_1");
  EXPECT_EQ(tasks[0].number, 1u);
  EXPECT_FALSE(tasks[0].is_waiting());
  EXPECT_EQ(tasks[1].number, 2u);
  EXPECT_TRUE(tasks[1].is_waiting());
  EXPECT_EQ(tasks[1].reason, "Resources");
  EXPECT_EQ(tasks[1].script, "/with space/and|bar.sh");
}

TEST(SlurmQueue, KnowsWhichTasksHaveEndedAndHow) {
  const auto task = [](const std::string& state) { return SlurmTask{.id = "12_1", .state = state}; };
  for (const char* state : {"PENDING", "CONFIGURING", "RUNNING", "SUSPENDED", "COMPLETING", "REQUEUED", "STOPPED"})
    EXPECT_FALSE(task(state).has_ended()) << state;
  for (const char* state : {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL", "PREEMPTED"})
    EXPECT_TRUE(task(state).has_ended()) << state;
  EXPECT_EQ(task("TIMEOUT").how(), "time limit reached");
  EXPECT_EQ(task("CANCELLED").how(), "cancelled");
  EXPECT_EQ(task("OUT_OF_MEMORY").how(), "out of memory");
  EXPECT_EQ(task("FAILED").how(), "");  // the exit status says more
}

}  // namespace drift::slurm_text_test
