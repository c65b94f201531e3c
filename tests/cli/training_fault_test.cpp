// What goes wrong during a run: a clear message, exit status 1, and everything that was saved is still there.

#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <unistd.h>
#include <csignal>

#include <string>

namespace drift::training_fault_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class TrainingFault : public testing::Test {
 protected:
  /// Run `a` after two steps, and `unbroken` after three, which `a` can still become. Made once.
  void SetUp() override {
    static const test::TrainingRuns made;
    if (!fs::exists(made.run("a"))) {
      ASSERT_EQ(made.train("unbroken", "--steps 3 " + same_metrics_).status, 0);
      const auto result = made.train("a", "--steps 2 " + same_metrics_);
      ASSERT_EQ(result.status, 0) << result.error;
    }
    for (const char* run : {"a", "unbroken"})
      fs::copy(made.run(run), runs_.run(run), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }

  test::CommandResult resume(const std::string& options = "") const {
    return runs_.train("a", "--steps 3 --resume " + same_metrics_ + options);
  }

  void expect_that_it_goes_on() const {
    const auto result = resume();
    EXPECT_EQ(result.status, 0) << result.error;
    EXPECT_EQ(test::difference(runs_.run("a"), runs_.run("unbroken")), "");
  }

  static void flip_byte(const fs::path& file) {
    std::string content = test::read_file(file);
    content[content.size() / 2] ^= 1;
    test::write_file(file, content);
  }

  const std::string same_metrics_ = "--set evaluation.before=false --set evaluation.every=1 ";
  test::TrainingRuns runs_;
};

TEST_F(TrainingFault, AFileThatMayNotGrow) {
  // 512 or 1024 bytes a unit, as the shell likes: the optimizer state does not fit, the metrics do.
  const auto result = test::run_command("ulimit -f 1000; " +
                                        runs_.command("train run.toml --out a --steps 3 --resume " + same_metrics_));
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, AllOf(HasSubstr("error: step 3: cannot write a/checkpoints/"), HasSubstr("File too large"),
                                  HasSubstr("ulimit -f"), HasSubstr("safe on disk: a/checkpoints/step-000002")));
  EXPECT_EQ(fs::read_symlink(runs_.run("a/checkpoints/last")), "step-000002");
  expect_that_it_goes_on();
}

TEST_F(TrainingFault, AFullDisk) {
  // A separate disk, which disappears with the namespace; its contents are copied out first.
  const std::string disk = (runs_.path() / "disk").string();
  fs::create_directory(disk);
  if (test::run_command("unshare -m mount -t tmpfs none " + disk).status != 0)
    GTEST_SKIP() << "a small disk needs the right to mount one";
  const auto result = test::run_command(
      "unshare -m sh -c 'mount -t tmpfs -o size=7m none " + disk + " && cp -a " + runs_.run("a").string() + " " + disk +
      " && { " + runs_.command("train run.toml --out disk/a --steps 3 --resume " + same_metrics_) +
      "; status=$?; cp -a " + disk + "/a " + runs_.run("after").string() + "; exit $status; }'");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error,
              AllOf(HasSubstr("error: step 3: cannot write disk/a/checkpoints/"), HasSubstr("No space left on device"),
                    HasSubstr("free some space"), HasSubstr("safe on disk: disk/a/checkpoints/step-000002")));
  fs::remove_all(runs_.run("a"));
  fs::rename(runs_.run("after"), runs_.run("a"));
  expect_that_it_goes_on();
}

TEST_F(TrainingFault, AFolderThatCannotBeMade) {
  test::write_file(runs_.path() / "file", "");
  const auto blocked = runs_.train("file/run");
  EXPECT_EQ(blocked.status, 1);
  EXPECT_THAT(blocked.error, AllOf(HasSubstr("file/run"), HasSubstr("is a file where a folder is needed")));

  if (geteuid() == 0) return;  // nothing forbids root to write
  fs::create_directory(runs_.path() / "locked");
  fs::permissions(runs_.path() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  const auto forbidden = runs_.train("locked/run");
  EXPECT_EQ(forbidden.status, 1);
  EXPECT_THAT(forbidden.error, AllOf(HasSubstr("locked/run"), HasSubstr("change the permissions")));
}

TEST_F(TrainingFault, ADamagedCheckpointIsNamedTogetherWithACompleteOne) {
  flip_byte(runs_.run("a/checkpoints/last/model.safetensors"));
  const auto result = resume();
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, AllOf(HasSubstr("checkpoint a/checkpoints/step-000002 is damaged"),
                                  HasSubstr("model.safetensors has the checksum"),
                                  HasSubstr("ln -sfn step-000001 a/checkpoints/last")));
  ASSERT_EQ(test::run_command("cd " + runs_.path().string() + " && ln -sfn step-000001 a/checkpoints/last").status, 0);
  expect_that_it_goes_on();
}

TEST_F(TrainingFault, FoldersThatHoldNoRunOfDrift) {
  fs::create_directory(runs_.path() / "photos");
  test::write_file(runs_.path() / "photos/cat.txt", "");
  const auto foreign = runs_.train("photos", "--resume");
  EXPECT_EQ(foreign.status, 1);
  EXPECT_THAT(foreign.error, HasSubstr("there is no run in photos to continue\n  = start it without --resume"));
  EXPECT_EQ(std::distance(fs::directory_iterator(runs_.path() / "photos"), fs::directory_iterator()), 1);

  fs::remove(runs_.run("a/checkpoints/last/training_state.json"));
  const auto weights_only = resume();
  EXPECT_EQ(weights_only.status, 1);
  EXPECT_THAT(weights_only.error, HasSubstr("has no training state"));
}

TEST_F(TrainingFault, AnotherConfigurationDoesNotContinue) {
  const std::string config = test::read_file(runs_.run("a/config.toml"));
  for (const std::string other : {"--seed 6", "--set advantage.std=none", "--set rollout.temperature=0.5"}) {
    const auto result = resume(other);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.error, AllOf(HasSubstr("was written with a different configuration"),
                                    HasSubstr("continue with the run's own config.toml")));
  }
  EXPECT_EQ(test::read_file(runs_.run("a/config.toml")), config);
  expect_that_it_goes_on();
}

TEST_F(TrainingFault, WeightsThatDiverge) {
  const auto result =
      runs_.train("b", "--set train.learning_rate=1e30 --set train.gradient_clip=0 --set evaluation.before=false");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, AllOf(HasSubstr("error: step 1: the optimizer step left `"), HasSubstr("not finite"),
                                  HasSubstr("a lower learning_rate"), HasSubstr("no checkpoint had been written yet")));
  EXPECT_FALSE(fs::exists(runs_.run("b/checkpoints/step-000001"))) << "diverged weights are not saved";
}

TEST_F(TrainingFault, ARunThatDivergedContinuesAsItsErrorSays) {
  const auto diverged = resume("--set train.learning_rate=1e30 --set train.gradient_clip=0");
  EXPECT_EQ(diverged.status, 1);
  EXPECT_THAT(diverged.error, AllOf(HasSubstr("continue from a checkpoint with a lower learning_rate (--resume --set"),
                                    HasSubstr("to go back one more: ln -sfn step-000001 a/checkpoints/last")));
  const std::string text = "to continue from there: drift ";
  const auto begin = diverged.error.find(text);
  ASSERT_NE(begin, std::string::npos) << diverged.error;
  const std::string command = diverged.error.substr(begin + text.size());
  const auto healed = runs_.drift(command.substr(0, command.find('\n')) +
                                  " --set train.learning_rate=1e-4 --set train.gradient_clip=1");
  ASSERT_EQ(healed.status, 0) << healed.error;
  EXPECT_EQ(test::metrics_of(runs_.run("a")).back().at("step"), 3);
}

TEST_F(TrainingFault, AFailedRunHasItsSummaryAndReport) {
  const auto failed = resume("--set train.learning_rate=1e30 --set train.gradient_clip=0");
  ASSERT_EQ(failed.status, 1);
  const auto summary = nlohmann::json::parse(test::read_file(runs_.run("a/summary.json")));
  EXPECT_EQ(summary.at("status"), "failed");
  EXPECT_THAT(summary.at("error").get<std::string>(), HasSubstr("not finite"));
  EXPECT_EQ(summary.at("steps"), 2);
  EXPECT_THAT(test::read_file(runs_.run("a/report.html")), HasSubstr("not finite"));
}

// Nothing says how to continue a run that another process has continued.
TEST_F(TrainingFault, ARunWhoseLockWentToAnotherLeavesItTheFolder) {
  test::RunningProgram program(runs_.path(), "train run.toml --out b --steps 100000");
  ASSERT_TRUE(program.wait_until([&] { return fs::exists(runs_.run("b/checkpoints/step-000001")); }))
      << program.error();
  test::write_file(runs_.run("b/.lock"), "process 12 on node7");
  EXPECT_EQ(program.wait(), 1);
  EXPECT_THAT(program.error(), AllOf(HasSubstr("went to process 12 on node7"), Not(HasSubstr("--resume"))));
}

TEST_F(TrainingFault, AKilledRunHasTheReportOfItsLastEvaluation) {
  test::RunningProgram program(runs_.path(), "train run.toml --out b --steps 100000 --set evaluation.every=1");
  ASSERT_TRUE(program.wait_until([&] { return fs::exists(runs_.run("b/samples.json")); })) << program.error();
  program.send(SIGKILL);
  program.wait();
  EXPECT_EQ(nlohmann::json::parse(test::read_file(runs_.run("b/summary.json"))).at("status"), "unfinished");
  fs::remove(runs_.run("b/report.html"));
  const auto report = runs_.drift("report b");
  EXPECT_EQ(report.status, 0) << report.error;
  EXPECT_EQ(report.output, "b/report.html\n");
  EXPECT_THAT(test::read_file(runs_.run("b/report.html")), HasSubstr("Held-out accuracy"));

  EXPECT_EQ(runs_.drift("report nothing").status, 1);
  EXPECT_FALSE(fs::exists(runs_.run("nothing")));
}

TEST_F(TrainingFault, AnEvaluationReadsNoDamagedCheckpoint) {
  flip_byte(runs_.run("a/checkpoints/last/model.safetensors"));
  const auto result = runs_.drift("eval a/checkpoints/last");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.error, HasSubstr("model.safetensors has the checksum"));
}

TEST_F(TrainingFault, WeightsThatAreNotNumbers) {
  const auto model = runs_.path() / "broken";
  fs::copy(test::base_checkpoint(), model);
  fs::remove(model / "training_state.json");  // and with it the checksums
  std::string weights = test::read_file(model / "model.safetensors");
  weights.replace(weights.size() - 65536, 65536, std::string(65536, '\xff'));
  test::write_file(model / "model.safetensors", weights);
  const auto before = runs_.train("b", "--model ./broken");
  EXPECT_EQ(before.status, 1);
  EXPECT_THAT(before.error, AllOf(HasSubstr("error: evaluation before the first step: "), HasSubstr("not finite")));
  const auto first = runs_.train("c", "--model ./broken --set evaluation.before=false");
  EXPECT_EQ(first.status, 1);
  EXPECT_THAT(first.error, AllOf(HasSubstr("error: step 1: "), HasSubstr("not finite"),
                                 HasSubstr("no checkpoint had been written yet")));
  const auto evaluation = runs_.drift("eval ./broken --config c/config.toml");
  EXPECT_EQ(evaluation.status, 1);
  EXPECT_THAT(evaluation.error, HasSubstr("not finite"));
}

}  // namespace
}  // namespace drift::training_fault_test
