// What a run tells programs that watch runs: the event files of `[report] tensorboard`, read by TensorBoard's own
// package where there is a Python that has it; and scripts/follow_run, with a package that notes what it is told.

#include <tests/support/tracking.h>
#include <tests/support/training_run.h>

#include <core/base/child_process.h>

#include <chrono>
#include <future>

namespace drift::tracking_cli_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kTensorBoard = " --set report.tensorboard=true ";

/// An interpreter that can do this; empty if there is none. Tests look at DRIFT_TEST_TRACKING_PYTHON and at python3.
std::string python_that_can(const std::string& import) {
  const char* const named = std::getenv("DRIFT_TEST_TRACKING_PYTHON");
  for (const std::string& program : {std::string(named != nullptr ? named : ""), find_program("python3")}) {
    if (!program.empty() && run_command(shell_command({program, "-c", import})).status == 0) return program;
  }
  return "";
}

std::vector<std::int64_t> steps_of(const json& values) {
  std::vector<std::int64_t> steps;
  for (const json& value : values) steps.push_back(value.at(0));
  return steps;
}

class Tracked : public Test, public TrainingRuns {
 protected:
  /// A run of four steps that was stopped after the second and has lost the memory of it: step 2 is done twice.
  fs::path continued_run() const {
    EXPECT_THAT(train("a", std::string(kTensorBoard) + "--set train.steps=2 --set train.schedule=constant"), prints());
    const fs::path run = path("a");
    fs::remove_all(run / "checkpoints/step-000002");
    fs::remove(run / "checkpoints/last");
    fs::create_symlink("step-000001", run / "checkpoints/last");
    EXPECT_THAT(drift("train run.toml --out a --resume" + std::string(kTensorBoard) +
                      "--set train.steps=4 --set train.schedule=constant"),
                prints());
    return run;
  }
};

TEST_F(Tracked, IsOffByDefaultAndChangesNoNumber) {
  ASSERT_EQ(train("off").status, 0);
  EXPECT_FALSE(fs::exists(path("off/tensorboard")));
  ASSERT_EQ(train("on", kTensorBoard).status, 0);
  EXPECT_EQ(difference_of("on", "off"), "");
}

TEST_F(Tracked, HasEveryStep) {
  ASSERT_EQ(train("a", kTensorBoard).status, 0);
  const auto files = files_under(path("a/tensorboard"));
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_THAT(tf_records(read_file(files.front())), SizeIs(3 + metrics_in("a").size()));
}

TEST_F(Tracked, IsReplacedWithItsRun) {
  ASSERT_EQ(train("a", kTensorBoard).status, 0);
  ASSERT_EQ(train("a", "--overwrite").status, 0);
  EXPECT_FALSE(fs::exists(path("a/tensorboard")));
}

TEST_F(Tracked, IsReadByTensorBoard) {
  const std::string python = python_that_can("import tensorboard");
  if (python.empty()) GTEST_SKIP() << "no Python has the package tensorboard: name one by DRIFT_TEST_TRACKING_PYTHON";
  const fs::path run = continued_run();
  const auto script = source_dir() / "tests/cli/read_tensorboard.py";
  const json read = printed_json(run_command(shell_command({python, script.string(), (run / "tensorboard").string()})));
  const auto metrics = metrics_of(run);
  EXPECT_THAT(steps_of(read.at("scalars").at("reward")), ElementsAre(1, 2, 3, 4)) << "step 2 once";
  for (const json& reward : read.at("scalars").at("reward")) {
    const auto step = reward.at(0).get<std::size_t>();
    EXPECT_EQ(reward.at(1).get<float>(), metrics.at(step).at("reward").get<float>()) << step;
  }
  EXPECT_THAT(steps_of(read.at("scalars").at("held_out/accuracy")), ElementsAre(0, 4));
  EXPECT_THAT(steps_of(read.at("histograms").at("rewards")), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(read.at("histograms").at("rewards").at(0).at(1), 8) << "two prompts of four responses";
  for (const char* name : {"advantages", "log_probabilities", "rollout_log_probabilities"})
    EXPECT_TRUE(read.at("histograms").contains(name)) << name;
  EXPECT_THAT(read.at("texts").at("configuration").back().at(1).at(0).get<std::string>(), HasSubstr("    [train]\n"));
  EXPECT_THAT(read.at("texts").at("samples").at(0).at(1), SizeIs(4 * 5)) << "a table with a row of names";
  EXPECT_EQ(read.at("hyperparameters").at("train.group_size"), 4);
}

// A package that writes each call into the file CALLS, and one that is not there.
constexpr const char* kNotes = R"(
import json, os

def note(**call):
    with open(os.environ["CALLS"], "a") as file:
        file.write(json.dumps(call) + "\n")

class Run:
    def log(self, numbers, step):
        note(step=step, numbers=numbers)

    def finish(self, exit_code):
        note(exit=exit_code)

def init(**settings):
    note(**settings)
    return Run()
)";
constexpr const char* kMissing = "raise ModuleNotFoundError('No module named trackio', name='trackio')\n";

class Followed : public Test, public TrainingRuns {
 protected:
  Followed() {
    write("packages/wandb.py", kNotes);
    write("packages/trackio.py", kMissing);
  }

  CommandResult follow(const std::string& arguments) const {
    return run_command("cd " + path().string() + " && PYTHONPATH=packages CALLS=calls python3 " +
                       source("scripts/follow_run") + " " + arguments);
  }

  /// The calls so far.
  std::vector<json> calls() const { return json_lines(read("calls")); }
};

TEST_F(Followed, SendsConfigurationAndNumbersOfAFinishedRun) {
  ASSERT_EQ(train("a").status, 0);
  ASSERT_THAT(follow("a --project puzzles --name mine"), prints());
  const auto sent = calls();
  const auto metrics = metrics_in("a");
  ASSERT_THAT(sent, SizeIs(1 + metrics.size() + 1));
  EXPECT_EQ(sent.front().at("project"), "puzzles");
  EXPECT_EQ(sent.front().at("name"), "mine");
  EXPECT_EQ(sent.front().at("config").at("train").at("group_size"), 4);
  for (std::size_t row = 0; row < metrics.size(); ++row) {
    const json& numbers = sent[1 + row].at("numbers");
    EXPECT_EQ(sent[1 + row].at("step"), metrics[row].at("step"));
    for (const auto& [name, value] : metrics[row].items()) {
      if (value.is_number() && name != "step") {
        EXPECT_EQ(numbers.at(name), value) << name;
      }
    }
  }
  EXPECT_EQ(sent[2].at("numbers").at("seconds/total"), metrics[1].at("seconds").at("total"));
  EXPECT_EQ(sent[1].at("numbers").at("held_out/accuracy"), metrics[0].at("held_out").at("accuracy"));
  EXPECT_EQ(sent.back().at("exit"), 0);
}

TEST_F(Followed, WaitsForTheStepsOfARunThatTrains) {
  const fs::path run = path("a");
  write_file(run / "config.toml", "[run]\nname = \"quick\"\n");
  write_file(run / "metrics.jsonl", "{\"step\": 1, \"loss\": 0.5}\n{\"step\": 2, \"lo");
  write_file(run / "summary.json", R"({"status": "unfinished"})");
  auto followed = std::async(std::launch::async, [&] { return follow("a"); });
  const auto wait_for_calls = [&](std::size_t count) {
    while (!fs::exists(path("calls")) || calls().size() < count) {
      if (followed.wait_for(std::chrono::milliseconds(20)) == std::future_status::ready) return false;
    }
    return true;
  };
  ASSERT_TRUE(wait_for_calls(2)) << followed.get().error;
  write_file(run / "metrics.jsonl", "{\"step\": 1, \"loss\": 0.5}\n{\"step\": 2, \"loss\": 0.25}\n");
  ASSERT_TRUE(wait_for_calls(3)) << followed.get().error;
  write_file(run / "next", R"({"status": "failed"})");
  fs::rename(run / "next", run / "summary.json");
  EXPECT_EQ(followed.get().status, 0);
  const auto sent = calls();
  ASSERT_THAT(sent, SizeIs(4));
  EXPECT_EQ(sent[0].at("name"), "quick");
  EXPECT_EQ(sent[2], (json{{"step", 2}, {"numbers", {{"loss", 0.25}}}}));
  EXPECT_EQ(sent[3].at("exit"), 1);
}

TEST_F(Followed, SaysWhatIsMissing) {
  write("a/config.toml", "");
  EXPECT_THAT(follow("a --to trackio"), fails("has no package trackio: pip install trackio"));
  EXPECT_THAT(follow("b"), fails("b is not the folder of a run"));
}

}  // namespace drift::tracking_cli_test
