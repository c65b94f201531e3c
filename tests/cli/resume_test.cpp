// A run that is killed at any instant continues as if nothing had happened.

#include <core/io/training_state.h>

#include <tests/support/training_run.h>

#include <signal.h>

#include <chrono>
#include <thread>

namespace drift::resume_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

constexpr int kKilled = 128 + SIGKILL;

// What a checkpoint or another file is called while it is written.
bool is_being_written(const fs::path& checkpoints) {
  std::error_code failed;
  for (fs::directory_iterator entry(checkpoints, failed), end; !failed && entry != end; entry.increment(failed)) {
    if (entry->path().filename().string().find(".tmp-") != std::string::npos) return true;
  }
  return false;
}

std::string step_folder(int step) {
  const std::string digits = std::to_string(step);
  return "step-" + std::string(6 - digits.size(), '0') + digits;
}

class Resume : public Test, public TrainingRuns {
 protected:
  /// The options that start run `killed`, or continue it if it can be continued.
  std::string start_or_resume(const std::string& command) const {
    const bool begun = fs::exists(path("killed/config.toml"));
    return command + " --out killed" + (begun ? " --resume" : "");
  }

  void expect_same_result() const {
    EXPECT_EQ(difference_of("killed", "unbroken"), "");
    const auto held_out = [&](const char* run) {
      const auto summary = nlohmann::json::parse(read_file(path(run) / "summary.json"));
      return summary.value("held_out", nlohmann::json());
    };
    EXPECT_EQ(held_out("killed"), held_out("unbroken"));
    EXPECT_FALSE(is_being_written(path("killed/checkpoints"))) << "leftovers of the killed writers";
  }

  /// Kill `command` once in the middle of a checkpoint write, then `kills` times somewhere in a step, then let it end.
  /// Every kill waits for something that the run does, so that a slow machine kills at the same places.
  void kill_and_compare(const std::string& command, int kills) {
    ASSERT_THAT(drift(command + " --out unbroken"), prints());
    ASSERT_TRUE(cut_off_a_checkpoint(command));
    for (int kill = 0; kill < kills; ++kill) kill_in_a_step(command, std::chrono::milliseconds(kill * 7 % 20));

    ASSERT_THAT(drift(start_or_resume(command)), prints());
    expect_same_result();
  }

  bool cut_off_a_checkpoint(const std::string& command) const {
    const auto checkpoints = path("killed/checkpoints");
    // A checkpoint that was complete before the kill moves the run on by a step; the others do not.
    for (int attempt = 0; attempt < 10; ++attempt) {
      RunningProgram program(path(), start_or_resume(command));
      program.wait_until([&] { return !is_being_written(checkpoints); });  // resuming sweeps what an earlier kill left
      program.wait_until([&] { return is_being_written(checkpoints); });
      program.send(SIGKILL);
      if (program.wait() == kKilled && is_being_written(checkpoints)) return true;
    }
    return false;
  }

  void kill_in_a_step(const std::string& command, std::chrono::milliseconds delay) const {
    const auto lines = [&] { return std::ranges::count(read("killed/metrics.jsonl"), '\n'); };
    const auto before = lines();
    RunningProgram program(path(), start_or_resume(command));
    ASSERT_TRUE(program.wait_until([&] { return lines() > before; })) << program.error();
    std::this_thread::sleep_for(delay);
    program.send(SIGKILL);
    ASSERT_EQ(program.wait(), kKilled) << "the run was over before it could be killed";
  }
};

TEST_F(Resume, AfterBeingKilledInRolloutUpdateAndCheckpoint) { kill_and_compare("train run.toml --steps 24", 5); }

// The learning rate is small enough that most updates lie below what bfloat16 weights can show: without its masters the
// resumed run would lose them.
TEST_F(Resume, InBfloat16WithFloat32Masters) {
  kill_and_compare("train run.toml --steps 12 --dtype bfloat16 --set train.learning_rate=1e-4", 2);
}

TEST_F(Resume, OfAModelWithBlocks) { kill_and_compare("train blocks.toml --steps 12", 2); }

TEST_F(Resume, InAnotherTypeIsRefused) {
  ASSERT_EQ(train("killed", "--steps 1 --dtype bfloat16").status, 0);
  EXPECT_THAT(train("killed", "--steps 2 --resume"),
              fails("a different configuration", "\n       model.dtype: \"bfloat16\" there, \"float32\" here\n"));
}

TEST_F(Resume, ACheckpointOfABuildThatLackedAKeyHasItsDefault) {
  ASSERT_EQ(train("killed", "--steps 1").status, 0);
  const auto checkpoint = path("killed/checkpoints") / step_folder(1);
  auto state = read_training_state(checkpoint);
  ASSERT_EQ(state.settings.erase("adapter.kind"), 1u);
  ASSERT_TRUE(fs::remove(checkpoint / "training_state.json"));  // it counts the folder's other files
  write_training_state(checkpoint, state);
  EXPECT_THAT(train("killed", "--steps 2 --resume --set adapter.kind=lora"),
              fails("adapter.kind: nothing there, \"lora\" here"));
  EXPECT_THAT(train("killed", "--steps 2 --resume"), prints());
}

// Another build of a loss may compute another thing: nobody is stopped, but it is said.
TEST_F(Resume, AndEvalNameAPluginThatHasChanged) {
  const fs::path plugin = path("libsoft_clip.so");
  fs::copy_file(build_dir() / "tests/plugins/libtest_soft_clip.so", plugin);
  const std::string settings = " --set 'plugins.paths=[\"" + plugin.string() +
                               "\"]' --set algorithm.loss.name=soft_clip --set evaluation.items=4";
  ASSERT_EQ(train("killed", "--steps 1" + settings).status, 0);
  ASSERT_THAT(train("killed", "--steps 2 --resume" + settings), warns(Not(HasSubstr("has changed"))));

  write_file(plugin, read_file(plugin) + "another build");
  const std::string changed = "plugin `soft_clip` has changed: 1.0.0 with SHA-256 ";
  ASSERT_THAT(drift("eval killed/checkpoints/last --set evaluation.items=4"), warns(changed));
  ASSERT_THAT(train("killed", "--steps 3 --resume" + settings), warns(changed));
  EXPECT_THAT(train("killed", "--steps 4 --resume" + settings).error, Not(HasSubstr(changed)))
      << "said once: the folder now names this build";
}

TEST_F(Resume, TheModelCountsByItsContentWhereverItLies) {
  for (const char* folder : {"here", "there"})
    fs::copy(source_dir() / "assets/sudoku-llada", path(folder), fs::copy_options::recursive);
  ASSERT_EQ(train("killed", "--steps 1 --model here").status, 0);
  EXPECT_THAT(train("killed", "--steps 2 --model there --resume"), prints());
  write("there/config.json", read("there/config.json") + "\n");
  EXPECT_THAT(train("killed", "--steps 3 --model there --resume"),
              fails(ContainsRegex("\n       model.path: content [0-9a-f]+ there, content")));
}

TEST_F(Resume, WithAnotherLearningRateIfItIsAskedFor) {
  ASSERT_EQ(train("killed", "--steps 2 --set train.learning_rate=2e-3").status, 0);
  EXPECT_THAT(train("killed", "--steps 3 --resume"), fails("\n       train.learning_rate: 0.002 there, 0.001 here\n",
                                                           "add --set train.learning_rate=0.001; or continue"))
      << "run.toml has another one, and nobody said that the run should change";

  const auto asked = train("killed", "--steps 3 --resume --set train.learning_rate=5e-4");
  ASSERT_THAT(asked, prints());
  EXPECT_EQ(metrics_in("killed").back().at("learning_rate"), 5e-4);
  EXPECT_THAT(asked.output, HasSubstr("from step 3 on: train.learning_rate = 5e-4, was 0.002"));
  const auto changes = read("killed/changes.jsonl");
  EXPECT_THAT(changes, HasSubstr(R"({"step":2,"key":"train.learning_rate","before":"0.002","after":"5e-4"})"));

  const auto own = drift("train killed/config.toml --steps 4 --resume");
  ASSERT_THAT(own, prints());
  EXPECT_EQ(metrics_in("killed").back().at("learning_rate"), 5e-4) << "its own file has the change";
}

TEST_F(Resume, WithAnotherAlgorithmIsRefusedAlsoIfItIsAskedFor) {
  ASSERT_EQ(train("killed", "--steps 1").status, 0);
  EXPECT_THAT(train("killed", "--steps 2 --resume --algorithm d1"),
              fails("algorithm.name: \"rldf\" there, \"d1\" here"));
}

TEST_F(Resume, WithoutItsCheckpointsIsAnError) {
  ASSERT_EQ(train("killed", "--steps 1").status, 0);
  fs::remove_all(path("killed/checkpoints"));
  EXPECT_THAT(train("killed", "--steps 2 --resume"), fails("has lost its folder checkpoints"));
  EXPECT_EQ(metrics_in("killed").back().at("step"), 1) << "nothing was begun anew";
}

TEST_F(Resume, AfterTheWholeProjectOrTheRunAloneWasMoved) {
  const fs::path project = path("project");
  fs::create_directory(project);
  fs::copy(source_dir() / "assets/sudoku-llada", project / "model", fs::copy_options::recursive);
  write_file(project / "run.toml", read("run.toml"));
  const auto in = [&](const fs::path& folder, const std::string& arguments) {
    return run_command("cd " + folder.string() + " && " + program().string() + " " + arguments);
  };
  ASSERT_THAT(in(project, "train run.toml --model model --steps 1 --out runs/a"), prints());

  fs::rename(project, path("moved"));
  const auto moved = in(path("moved"), "train runs/a/config.toml --resume --steps 2");
  ASSERT_THAT(moved, prints());

  fs::create_directories(path("archive/2026/november"));
  fs::rename(path("moved/runs/a"), path("archive/2026/november/a"));
  ASSERT_THAT(in(path(), "train archive/2026/november/a/config.toml --resume --steps 3"), prints());
  EXPECT_EQ(metrics_in("archive/2026/november/a").back().at("step"), 3);
}

TEST_F(Resume, WithInnerIterationsAndAReferencePolicy) {
  kill_and_compare(
      "train run.toml --steps 16 --set train.inner_iterations=2 --set algorithm.loss.beta=0.05 "
      "--set train.checkpoint_every=2 --set train.schedule=cosine --set evaluation.every=8",
      2);
}

TEST_F(Resume, WithAReferenceThatFollowsThePolicyAndSeveralUpdatesPerRollout) {
  kill_and_compare(
      "train run.toml --steps 14 --set algorithm.loss.beta=0.05 --set reference.policy=ema --set "
      "reference.sync_steps=3 "
      "--set train.views_per_update=20 --set train.learning_rate=1e-4 --set train.checkpoint_every=2",
      2);
}

TEST_F(Resume, WithAValueModel) {
  kill_and_compare(
      "train run.toml --steps 12 --algorithm tracerl --set algorithm.masking.shrink=4 --set train.views_per_update=8 "
      "--set filter.success_high=1 --set filter.success_low=0 --set reward.truncation_is_wrong=false "
      "--set value.enabled=true --set value.learning_rate=1e-3 --set value.every=2",
      2);
  EXPECT_TRUE(metrics_in("killed").back().contains("value_explained_variance"));
}

TEST_F(Resume, WhilePretraining) {
  const std::string run = read("run.toml");
  write("pretrain.toml", run.substr(0, run.find("[algorithm]")) +
                             "[pretrain]\nsteps = 20\nbatch_size = 4\nresponse_length = "
                             "20\nwarmup_steps = 3\ncheckpoint_every = 2\n");
  kill_and_compare("pretrain pretrain.toml", 2);
}

TEST_F(Resume, AFinishedRunStaysAsItIs) {
  ASSERT_EQ(train("unbroken", "--steps 2").status, 0);
  ASSERT_EQ(train("killed", "--steps 2").status, 0);
  fs::remove(path("killed/summary.json"));  // as if killed between the last checkpoint and the summary
  ASSERT_THAT(train("killed", "--steps 2 --resume"), prints());
  expect_same_result();
}

// On NFS the folder of a checkpoint cannot be removed while a file in it is open.
TEST_F(Resume, KeepsNoFileOfItsCheckpointOpen) {
  ASSERT_EQ(train("killed", "--steps 2").status, 0);
  RunningProgram program(path(), "train run.toml --steps 500 --out killed --resume");
  ASSERT_TRUE(program.wait_until([&] { return metrics_in("killed").back().at("step") >= 4; })) << program.error();
  const auto mapped = [&] { return read_file("/proc/" + std::to_string(program.id()) + "/maps"); };
  EXPECT_THAT(mapped(), HasSubstr("/libtorch_cpu.so"));
  // Each checkpoint that is written looks into the model's own for a moment.
  EXPECT_TRUE(program.wait_until([&] { return mapped().find("/checkpoints/") == std::string::npos; })) << mapped();
  program.send(SIGKILL);
}

TEST_F(Resume, ALongerRunOnTwoThreads) {
  const std::string options = " --set run.threads=2 --set evaluation.before=false --set evaluation.every=2";
  ASSERT_EQ(train("unbroken", "--steps 3" + options).status, 0);
  ASSERT_EQ(train("killed", "--steps 2" + options).status, 0);
  ASSERT_EQ(train("killed", "--steps 3 --resume" + options).status, 0);
  expect_same_result();
}

class Interrupted : public Resume {
 protected:
  // Long enough steps to be interrupted within one.
  static constexpr const char* kRun = "train run.toml --steps 4 --set train.prompts_per_step=12";

  void interrupt(RunningProgram& program, int signal) const {
    const auto metrics = path("killed/metrics.jsonl");
    ASSERT_TRUE(program.wait_until([&] { return fs::exists(metrics) && read_file(metrics).size() > 900; }))
        << program.error();
    program.send(signal);
  }

  /// @return what the program printed
  std::string stop(int signal) {
    RunningProgram program(path(), std::string(kRun) + " --out killed");
    interrupt(program, signal);
    EXPECT_EQ(program.wait(), 128 + signal) << program.error();
    EXPECT_THAT(program.error(), HasSubstr("stopping after this step, then saving"));

    const auto last = metrics_in("killed").back().at("step").get<int>();
    EXPECT_EQ(fs::read_symlink(path("killed/checkpoints/last")), step_folder(last));
    EXPECT_EQ(read_json("killed/summary.json").at("status"), "interrupted");
    return program.output();
  }

  void stop_and_go_on(int signal) {
    ASSERT_EQ(drift(std::string(kRun) + " --out unbroken").status, 0);
    const std::string output = stop(signal);
    const auto begin = output.find("drift train ");
    ASSERT_NE(begin, std::string::npos) << output;
    const std::string command = output.substr(begin, output.find('\n', begin) - begin);
    EXPECT_THAT(command, EndsWith("--resume"));
    ASSERT_THAT(drift(command.substr(6)), prints());
    expect_same_result();
  }
};

TEST_F(Interrupted, CtrlCFinishesTheStepSavesAndSaysHowToContinue) { stop_and_go_on(SIGINT); }

TEST_F(Interrupted, SoDoesTerminate) { stop(SIGTERM); }

TEST_F(Interrupted, SoDoesATerminalThatCloses) { stop(SIGHUP); }

TEST_F(Interrupted, ASecondCtrlCExitsImmediately) {
  const std::string run = "train run.toml --steps 2 --set train.prompts_per_step=64 --set evaluation.before=false";
  ASSERT_EQ(drift(run + " --out unbroken").status, 0);
  RunningProgram program(path(), run + " --out killed");
  const auto metrics = path("killed/metrics.jsonl");
  ASSERT_TRUE(program.wait_until([&] { return fs::exists(metrics); })) << program.error();
  program.send(SIGINT);
  ASSERT_TRUE(program.wait_until([&] { return program.error().find("once more") != std::string::npos; }));
  program.send(SIGINT);
  EXPECT_EQ(program.wait(), 128 + SIGINT);
  EXPECT_FALSE(fs::exists(path("killed/checkpoints/last"))) << "it did not exit immediately";
  ASSERT_THAT(drift(start_or_resume(run)), prints());
  expect_same_result();
}

}  // namespace drift::resume_test
