// A run that is killed at any instant goes on as if nothing had happened.

#include <tests/support/training_run.h>

#include <gmock/gmock.h>

#include <signal.h>

#include <chrono>
#include <string>
#include <thread>

namespace drift {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr int kKilled = 128 + SIGKILL;

// What a checkpoint or another file is called while it is written.
bool is_being_written(const fs::path& checkpoints) {
  std::error_code failed;
  for (fs::directory_iterator entry(checkpoints, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().filename().string().find(".tmp-") != std::string::npos) return true;
  }
  return false;
}

class Resume : public testing::Test {
 protected:
  /// The options that start run `killed`, or go on with it where there is something to go on with.
  std::string start_or_resume(const std::string& command) const {
    const bool begun = fs::exists(runs_.run("killed/config.toml"));
    return command + " --out killed" + (begun ? " --resume" : "");
  }

  void expect_same_result() const {
    EXPECT_EQ(test::difference(runs_.run("killed"), runs_.run("unbroken")), "");
    const auto held_out = [&](const char* run) {
      const auto summary = nlohmann::json::parse(test::read_file(runs_.run(run) / "summary.json"));
      return summary.value("held_out", nlohmann::json());
    };
    EXPECT_EQ(held_out("killed"), held_out("unbroken"));
    EXPECT_FALSE(is_being_written(runs_.run("killed/checkpoints"))) << "leftovers of the killed writers";
  }

  /// Kill `command` during checkpoint writes, then at these parts of the time that an unbroken run takes, then let it
  /// end.
  void kill_and_compare(const std::string& command, int writes, const std::vector<double>& moments, int least_kills) {
    const auto begin = Clock::now();
    const auto unbroken = runs_.drift(command + " --out unbroken");
    ASSERT_EQ(unbroken.status, 0) << unbroken.error;
    const auto duration = Clock::now() - begin;

    int kills = 0, hits = 0;
    for (int write = 0; write < writes; ++write) {
      test::RunningProgram program(runs_.path(), start_or_resume(command));
      const auto checkpoints = runs_.run("killed/checkpoints");
      // Resuming sweeps what an earlier kill left.
      program.wait_until([&] { return !is_being_written(checkpoints); });
      program.wait_until([&] { return is_being_written(checkpoints); });
      program.send(SIGKILL);
      kills += program.wait() == kKilled;
      hits += is_being_written(checkpoints);
    }
    for (const double moment : moments) {
      test::RunningProgram program(runs_.path(), start_or_resume(command));
      std::this_thread::sleep_for(duration * moment);
      program.send(SIGKILL);
      kills += program.wait() == kKilled;
    }
    EXPECT_GE(kills, least_kills) << "the run was over before it could be killed";
    EXPECT_GE(hits, 1) << "no checkpoint was cut off";

    const auto end = runs_.drift(start_or_resume(command));
    ASSERT_EQ(end.status, 0) << end.error;
    expect_same_result();
  }

  test::TrainingRuns runs_;
};

TEST_F(Resume, AfterBeingKilledInRolloutUpdateAndCheckpoint) {
  kill_and_compare("train run.toml --steps 12", 4, {0.2, 0.35, 0.5, 0.3, 0.45, 0.4, 0.25}, 8);
}

TEST_F(Resume, WithInnerIterationsAndAReferencePolicy) {
  kill_and_compare(
      "train run.toml --steps 6 --set train.inner_iterations=2 --set algorithm.loss.beta=0.05 "
      "--set train.checkpoint_every=2 --set train.schedule=cosine --set evaluation.every=3",
      2, {0.35, 0.5, 0.4, 0.45}, 4);
}

TEST_F(Resume, WhilePretraining) {
  test::write_file(runs_.path() / "pretrain.toml",
                   test::read_file(runs_.path() / "run.toml")
                           .substr(0, test::read_file(runs_.path() / "run.toml").find("[algorithm]")) +
                       "[pretrain]\nsteps = 8\nbatch_size = 4\nresponse_length = 20\nwarmup_steps = 3\n"
                       "checkpoint_every = 2\n");
  kill_and_compare("pretrain pretrain.toml", 2, {0.35, 0.5, 0.45}, 3);
}

TEST_F(Resume, AFinishedRunStaysAsItIs) {
  ASSERT_EQ(runs_.train("unbroken", "--steps 2").status, 0);
  ASSERT_EQ(runs_.train("killed", "--steps 2").status, 0);
  fs::remove(runs_.run("killed/summary.json"));  // as if killed between the last checkpoint and the summary
  const auto again = runs_.train("killed", "--steps 2 --resume");
  ASSERT_EQ(again.status, 0) << again.error;
  expect_same_result();
}

TEST_F(Resume, ALongerRunOnTwoThreads) {
  const std::string options = " --set run.threads=2 --set evaluation.before=false --set evaluation.every=2";
  ASSERT_EQ(runs_.train("unbroken", "--steps 3" + options).status, 0);
  ASSERT_EQ(runs_.train("killed", "--steps 2" + options).status, 0);
  ASSERT_EQ(runs_.train("killed", "--steps 3 --resume" + options).status, 0);
  expect_same_result();
}

class Interrupted : public Resume {
 protected:
  // Long enough steps to be interrupted within one.
  static constexpr const char* kRun = "train run.toml --steps 5 --set train.prompts_per_step=24";

  void interrupt(test::RunningProgram& program, int signal) const {
    const auto metrics = runs_.run("killed/metrics.jsonl");
    ASSERT_TRUE(program.wait_until([&] { return fs::exists(metrics) && test::read_file(metrics).size() > 900; }))
        << program.error();
    program.send(signal);
  }

  void stop_and_go_on(int signal) {
    ASSERT_EQ(runs_.drift(std::string(kRun) + " --out unbroken").status, 0);
    test::RunningProgram program(runs_.path(), std::string(kRun) + " --out killed");
    interrupt(program, signal);
    ASSERT_EQ(program.wait(), 128 + signal) << program.error();
    EXPECT_THAT(program.error(), testing::HasSubstr("stopping after this step, then saving"));

    const auto last = test::metrics_of(runs_.run("killed")).back().at("step").get<int>();
    EXPECT_EQ(fs::read_symlink(runs_.run("killed/checkpoints/last")), "step-00000" + std::to_string(last));
    EXPECT_EQ(nlohmann::json::parse(test::read_file(runs_.run("killed/summary.json"))).at("interrupted"), true);

    // What it says goes on as it stands.
    const std::string output = program.output();
    const auto begin = output.find("drift train ");
    ASSERT_NE(begin, std::string::npos) << output;
    const std::string command = output.substr(begin, output.find('\n', begin) - begin);
    EXPECT_THAT(command, testing::EndsWith("--resume"));
    const auto resumed = runs_.drift(command.substr(6));
    ASSERT_EQ(resumed.status, 0) << resumed.error;
    expect_same_result();
  }
};

TEST_F(Interrupted, CtrlCFinishesTheStepSavesAndSaysHowToGoOn) { stop_and_go_on(SIGINT); }

TEST_F(Interrupted, SoDoesTerminate) { stop_and_go_on(SIGTERM); }

TEST_F(Interrupted, ASecondCtrlCLeavesAtOnce) {
  const std::string run = "train run.toml --steps 3 --set train.prompts_per_step=64 --set evaluation.before=false";
  ASSERT_EQ(runs_.drift(run + " --out unbroken").status, 0);
  test::RunningProgram program(runs_.path(), run + " --out killed");
  const auto metrics = runs_.run("killed/metrics.jsonl");
  ASSERT_TRUE(program.wait_until([&] { return fs::exists(metrics); })) << program.error();
  program.send(SIGINT);
  ASSERT_TRUE(program.wait_until([&] { return program.error().find("once more") != std::string::npos; }));
  program.send(SIGINT);
  EXPECT_EQ(program.wait(), 128 + SIGINT);
  EXPECT_FALSE(fs::exists(runs_.run("killed/summary.json"))) << "it did not leave at once";
  const auto resumed = runs_.drift(start_or_resume(run));
  ASSERT_EQ(resumed.status, 0) << resumed.error;
  expect_same_result();
}

}  // namespace
}  // namespace drift
