// `[report] tensorboard` and `wandb`: what a run's folder holds for programs that watch runs, read by their own
// packages where there is a Python that has them.

#include <tests/support/tracking.h>
#include <tests/support/training_run.h>

#include <core/process/child_process.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <cstdlib>
#include <string>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Key;
using testing::SizeIs;

constexpr const char* kBoth = " --set report.tensorboard=true --set report.wandb=offline ";

/// An interpreter that can do this; empty if there is none. Tests look at DRIFT_TEST_TRACKING_PYTHON and at python3.
std::string python_that_can(const std::string& import) {
  const char* const named = std::getenv("DRIFT_TEST_TRACKING_PYTHON");
  for (const std::string& program : {std::string(named != nullptr ? named : ""), find_program("python3")}) {
    if (!program.empty() && test::run_command(shell_command({program, "-c", import})).status == 0) return program;
  }
  return "";
}

json read_by_package(const std::string& python, const std::string& package, const fs::path& path) {
  const auto script = test::source_dir() / "tests/cli/read_tracking.py";
  const auto read = test::run_command(shell_command({python, script.string(), package, path.string()}));
  EXPECT_EQ(read.status, 0) << read.error;
  return read.status == 0 ? json::parse(read.output) : json();
}

std::vector<std::int64_t> steps_of(const json& values) {
  std::vector<std::int64_t> steps;
  for (const json& value : values) steps.push_back(value.at(0));
  return steps;
}

class Tracked : public testing::Test {
 protected:
  /// A run of four steps that was stopped after the second and has lost the memory of it: step 2 is done twice.
  fs::path continued_run() const {
    const auto first = runs_.train("a", std::string(kBoth) + "--set train.steps=2 --set train.schedule=constant");
    EXPECT_EQ(first.status, 0) << first.error;
    const fs::path run = runs_.run("a");
    fs::remove_all(run / "checkpoints/step-000002");
    fs::remove(run / "checkpoints/last");
    fs::create_symlink("step-000001", run / "checkpoints/last");
    const auto second = runs_.drift("train run.toml --out a --resume" + std::string(kBoth) +
                                    "--set train.steps=4 --set train.schedule=constant");
    EXPECT_EQ(second.status, 0) << second.error;
    return run;
  }

  test::TrainingRuns runs_;
};

TEST_F(Tracked, IsOffByDefaultAndChangesNoNumber) {
  ASSERT_EQ(runs_.train("off").status, 0);
  EXPECT_FALSE(fs::exists(runs_.run("off/tensorboard")));
  EXPECT_FALSE(fs::exists(runs_.run("off/wandb")));
  ASSERT_EQ(runs_.train("on", kBoth).status, 0);
  EXPECT_EQ(test::difference(runs_.run("on"), runs_.run("off")), "");
}

TEST_F(Tracked, HasEveryNumberOfEveryStep) {
  ASSERT_EQ(runs_.train("a", kBoth).status, 0);
  const auto metrics = test::metrics_of(runs_.run("a"));
  const auto history = test::history_of(test::offline_log(runs_.run("a/wandb")));
  ASSERT_THAT(history, SizeIs(metrics.size()));
  for (std::size_t row = 0; row < metrics.size(); ++row) {
    EXPECT_EQ(history[row].at("_step"), metrics[row].at("step"));
    for (const auto& [name, value] : metrics[row].items()) {
      if (value.is_number() && name != "step") EXPECT_EQ(history[row].at(name), value) << name;
    }
  }
  EXPECT_EQ(history[1].at("seconds/total"), metrics[1].at("seconds").at("total"));
  EXPECT_EQ(history[0].at("held_out/accuracy"), metrics[0].at("held_out").at("accuracy"));
  EXPECT_TRUE(history[0].contains("held_out_samples"));
  for (const char* name : {"rewards", "rollout_log_probabilities"})
    EXPECT_EQ(history[1].at(name).at("_type"), "histogram") << name;
  const auto table = test::offline_log(runs_.run("a/wandb")).parent_path() / "files" /
                     history[1].at("samples").at("path").get<std::string>();
  EXPECT_THAT(json::parse(test::read_file(table)).at("data"), SizeIs(4));

  const auto files = test::files_under(runs_.run("a/tensorboard"));
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_THAT(test::tf_records(test::read_file(files.front())), SizeIs(3 + metrics.size()));
}

TEST_F(Tracked, IsReplacedWithItsRun) {
  ASSERT_EQ(runs_.train("a", kBoth).status, 0);
  ASSERT_EQ(runs_.train("a", "--overwrite").status, 0);
  EXPECT_FALSE(fs::exists(runs_.run("a/tensorboard")));
  EXPECT_FALSE(fs::exists(runs_.run("a/wandb")));
}

TEST_F(Tracked, IsReadByTensorBoard) {
  const std::string python = python_that_can("import tensorboard");
  if (python.empty()) GTEST_SKIP() << "no Python has the package tensorboard: name one by DRIFT_TEST_TRACKING_PYTHON";
  const fs::path run = continued_run();
  const json read = read_by_package(python, "tensorboard", run / "tensorboard");
  const auto metrics = test::metrics_of(run);
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

TEST_F(Tracked, IsReadByWeightsAndBiases) {
  const std::string python = python_that_can("import wandb.sdk.internal.datastore");
  if (python.empty())
    GTEST_SKIP() << "no Python has the package wandb with its reader in Python (versions up to 0.26): name one by "
                    "DRIFT_TEST_TRACKING_PYTHON";
  const fs::path run = continued_run();
  const json read = read_by_package(python, "wandb", test::offline_log(run / "wandb"));
  const auto metrics = test::metrics_of(run);
  ASSERT_THAT(read.at("history"), SizeIs(5)) << "the evaluation before the first step, then four steps";
  for (std::size_t step = 0; step < 5; ++step) {
    EXPECT_EQ(read.at("history").at(step).at("_step"), step);
    EXPECT_EQ(read.at("history").at(step).value("reward", json()), metrics.at(step).at("reward")) << step;
  }
  EXPECT_EQ(read.at("project"), "drift");
  EXPECT_EQ(read.at("config").at("train").at("group_size"), 4);
  EXPECT_EQ(read.at("exit"), 0);
}

TEST_F(Tracked, IsUploadedByWandbSync) {
  const std::string python = python_that_can("import wandb");
  if (python.empty()) GTEST_SKIP() << "no Python has the package wandb: name one by DRIFT_TEST_TRACKING_PYTHON";
  ASSERT_EQ(runs_.train("a", kBoth).status, 0);
  const json sent = read_by_package(python, "sync", test::offline_log(runs_.run("a/wandb")).parent_path());
  const auto metrics = test::metrics_of(runs_.run("a"));
  ASSERT_THAT(sent.at("history"), SizeIs(5));
  for (std::size_t step = 1; step < 5; ++step)
    EXPECT_EQ(sent.at("history").at(step).at("loss"), metrics.at(step).at("loss")) << step;
  EXPECT_THAT(sent.at("files"), Contains("media/table/samples_1.table.json"));
}

}  // namespace
}  // namespace drift
