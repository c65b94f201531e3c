// What goes wrong during a run: a clear message, exit status 1, and everything that was saved is still there.

#include <tests/support/training_run.h>

#include <unistd.h>
#include <csignal>

namespace drift::training_fault_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class TrainingFault : public Test, public TrainingRuns {
 protected:
  /// Run `a` after two steps, and `unbroken` after three, which `a` can still become. Made once.
  void SetUp() override {
    static const TrainingRuns made;
    if (!fs::exists(made.run("a"))) {
      ASSERT_EQ(made.train("unbroken", "--steps 3 " + same_metrics_).status, 0);
      ASSERT_THAT(made.train("a", "--steps 2 " + same_metrics_), prints());
    }
    for (const char* run : {"a", "unbroken"})
      fs::copy(made.run(run), path(run), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }

  CommandResult resume(const std::string& options = "") const {
    return train("a", "--steps 3 --resume " + same_metrics_ + options);
  }

  void expect_that_it_goes_on() const {
    EXPECT_THAT(resume(), prints());
    EXPECT_EQ(difference_of("a", "unbroken"), "");
  }

  static void flip_byte(const fs::path& file) {
    std::string content = read_file(file);
    content[content.size() / 2] ^= 1;
    write_file(file, content);
  }

  const std::string same_metrics_ = "--set evaluation.before=false --set evaluation.every=1 ";
};

TEST_F(TrainingFault, AFileThatMayNotGrow) {
  // 512 or 1024 bytes a unit, as the shell likes: the optimizer state does not fit, the metrics do.
  EXPECT_THAT(run_command("ulimit -f 1000; " + command("train run.toml --out a --steps 3 --resume " + same_metrics_)),
              fails("error: step 3: cannot write a/checkpoints/", "File too large", "ulimit -f",
                    "safe on disk: a/checkpoints/step-000002"));
  EXPECT_EQ(fs::read_symlink(path("a/checkpoints/last")), "step-000002");
  expect_that_it_goes_on();
}

TEST_F(TrainingFault, AFullDisk) {
  // A separate disk, which disappears with the namespace; its contents are copied out first.
  const std::string disk = path("disk").string();
  fs::create_directory(disk);
  if (run_command("unshare -m mount -t tmpfs none " + disk).status != 0)
    GTEST_SKIP() << "a small disk needs the right to mount one";
  EXPECT_THAT(
      run_command("unshare -m sh -c 'mount -t tmpfs -o size=7m none " + disk + " && cp -a " + path("a").string() + " " +
                  disk + " && { " + command("train run.toml --out disk/a --steps 3 --resume " + same_metrics_) +
                  "; status=$?; cp -a " + disk + "/a " + path("after").string() + "; exit $status; }'"),
      fails("error: step 3: cannot write disk/a/checkpoints/", "No space left on device", "free some space",
            "safe on disk: disk/a/checkpoints/step-000002"));
  fs::remove_all(path("a"));
  fs::rename(path("after"), path("a"));
  expect_that_it_goes_on();
}

TEST_F(TrainingFault, AFolderThatCannotBeMade) {
  write("file", "");
  EXPECT_THAT(train("file/run"), fails("file/run", "is a file where a folder is needed"));

  if (geteuid() == 0) return;  // nothing forbids root to write
  fs::create_directory(path("locked"));
  fs::permissions(path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_THAT(train("locked/run"), fails("locked/run", "change the permissions"));
}

TEST_F(TrainingFault, ADamagedCheckpointIsNamedTogetherWithACompleteOne) {
  flip_byte(path("a/checkpoints/last/model.safetensors"));
  EXPECT_THAT(resume(), fails("checkpoint a/checkpoints/step-000002 is damaged", "model.safetensors has the checksum",
                              "ln -sfn step-000001 a/checkpoints/last"));
  ASSERT_EQ(run_command("cd " + path().string() + " && ln -sfn step-000001 a/checkpoints/last").status, 0);
  expect_that_it_goes_on();
}

TEST_F(TrainingFault, FoldersThatHoldNoRunOfDrift) {
  fs::create_directory(path("photos"));
  write("photos/cat.txt", "");
  EXPECT_THAT(train("photos", "--resume"),
              fails("there is no run in photos to continue\n  = start it without --resume"));
  EXPECT_EQ(std::distance(fs::directory_iterator(path("photos")), fs::directory_iterator()), 1);

  fs::remove(path("a/checkpoints/last/training_state.json"));
  EXPECT_THAT(resume(), fails("has no training state"));
}

TEST_F(TrainingFault, AnotherConfigurationDoesNotContinue) {
  const std::string config = read("a/config.toml");
  for (const std::string other : {"--seed 6", "--set advantage.std=none", "--set rollout.temperature=0.5"})
    EXPECT_THAT(resume(other),
                fails("was written with a different configuration", "continue with the run's own config.toml"));
  EXPECT_EQ(read("a/config.toml"), config);
  expect_that_it_goes_on();
}

TEST_F(TrainingFault, WeightsThatDiverge) {
  EXPECT_THAT(train("b", "--set train.learning_rate=1e30 --set train.gradient_clip=0 --set evaluation.before=false"),
              fails("error: step 1: the optimizer step left `", "not finite", "a lower learning_rate",
                    "no checkpoint had been written yet"));
  EXPECT_FALSE(fs::exists(path("b/checkpoints/step-000001"))) << "diverged weights are not saved";
}

TEST_F(TrainingFault, ARunThatDivergedContinuesAsItsErrorSays) {
  const auto diverged = resume("--set train.learning_rate=1e30 --set train.gradient_clip=0");
  EXPECT_THAT(diverged, fails("continue from a checkpoint with a lower learning_rate (--resume --set",
                              "to go back one more: ln -sfn step-000001 a/checkpoints/last"));
  const std::string text = "to continue from there: drift ";
  const auto begin = diverged.error.find(text);
  ASSERT_NE(begin, std::string::npos) << diverged.error;
  const std::string command = diverged.error.substr(begin + text.size());
  ASSERT_THAT(
      drift(command.substr(0, command.find('\n')) + " --set train.learning_rate=1e-4 --set train.gradient_clip=1"),
      prints());
  EXPECT_EQ(metrics_in("a").back().at("step"), 3);
}

TEST_F(TrainingFault, AFailedRunHasItsSummaryAndReport) {
  const auto failed = resume("--set train.learning_rate=1e30 --set train.gradient_clip=0");
  ASSERT_THAT(failed, fails());
  const auto summary = read_json("a/summary.json");
  EXPECT_EQ(summary.at("status"), "failed");
  EXPECT_THAT(summary.at("error").get<std::string>(), HasSubstr("not finite"));
  EXPECT_EQ(summary.at("steps"), 2);
  EXPECT_THAT(read("a/report.html"), HasSubstr("not finite"));
}

// Nothing says how to continue a run that another process has continued.
TEST_F(TrainingFault, ARunWhoseLockWentToAnotherLeavesItTheFolder) {
  RunningProgram program(path(), "train run.toml --out b --steps 100000");
  ASSERT_TRUE(program.wait_until([&] { return fs::exists(path("b/checkpoints/step-000001")); })) << program.error();
  write("b/.lock", "process 12 on node7");
  EXPECT_EQ(program.wait(), 1);
  EXPECT_THAT(program.error(), AllOf(HasSubstr("went to process 12 on node7"), Not(HasSubstr("--resume"))));
}

TEST_F(TrainingFault, AKilledRunHasTheReportOfItsLastEvaluation) {
  RunningProgram program(path(), "train run.toml --out b --steps 100000 --set evaluation.every=1");
  ASSERT_TRUE(program.wait_until([&] { return fs::exists(path("b/samples.json")); })) << program.error();
  program.send(SIGKILL);
  program.wait();
  EXPECT_EQ(read_json("b/summary.json").at("status"), "unfinished");
  fs::remove(path("b/report.html"));
  const auto report = drift("report b");
  EXPECT_THAT(report, prints());
  EXPECT_EQ(report.output, "b/report.html\n");
  EXPECT_THAT(read("b/report.html"), HasSubstr("Held-out accuracy"));

  EXPECT_EQ(drift("report nothing").status, 1);
  EXPECT_FALSE(fs::exists(path("nothing")));
}

TEST_F(TrainingFault, AnEvaluationReadsNoDamagedCheckpoint) {
  flip_byte(path("a/checkpoints/last/model.safetensors"));
  EXPECT_THAT(drift("eval a/checkpoints/last"), fails("model.safetensors has the checksum"));
}

TEST_F(TrainingFault, WeightsThatAreNotNumbers) {
  const auto model = path("broken");
  fs::copy(base_checkpoint(), model);
  fs::remove(model / "training_state.json");  // and with it the checksums
  std::string weights = read_file(model / "model.safetensors");
  weights.replace(weights.size() - 65536, 65536, std::string(65536, '\xff'));
  write_file(model / "model.safetensors", weights);
  const auto before = train("b", "--model ./broken");
  EXPECT_THAT(before, fails("error: evaluation before the first step: ", "not finite"));
  EXPECT_THAT(train("c", "--model ./broken --set evaluation.before=false"),
              fails("error: step 1: ", "not finite", "no checkpoint had been written yet"));
  EXPECT_THAT(drift("eval ./broken --config c/config.toml"), fails("not finite"));
}

}  // namespace drift::training_fault_test
