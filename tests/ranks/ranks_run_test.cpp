// `drift train` by several processes: one run, one folder, one message.

#include "tests/ranks/mpirun.h"
#include "tests/support/training_run.h"

#include <core/io/safetensors.h>

#include <ATen/TensorOperators.h>
#include <gmock/gmock.h>

#include <signal.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

namespace drift {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::size_t count_of(const std::string& word, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) ++count;
  return count;
}

class RanksRun : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = test::missing_ranks(); !missing.empty()) GTEST_SKIP() << missing;
  }

  /// The shell command of a run, of which `programs` are "-n 2 drift train …" and more, with colons between.
  std::string command(const std::string& programs) const {
    std::string all = programs;
    for (std::size_t at = 0; (at = all.find("drift ", at)) != all.npos; at += test::program().string().size())
      all.replace(at, 5, test::program().string());
    return "cd " + runs_.path().string() + " && " + test::mpirun() + all;
  }

  test::CommandResult train(int ranks, const std::string& name, const std::string& options = "") const {
    return test::run_command(
        command("-n " + std::to_string(ranks) + " drift train run.toml --out " + name + " " + options));
  }

  /// A run of one process is as exact as its rounding; so is one of several.
  void expect_same_run(const std::string& got, const std::string& want) const {
    const auto lines = test::metrics_of(runs_.run(got)), expected = test::metrics_of(runs_.run(want));
    ASSERT_EQ(lines.size(), expected.size());
    for (std::size_t step = 0; step < lines.size(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      for (const char* key : {"reward", "solved", "live_groups", "kept_groups", "response_length",
                              "forwards_per_response", "update_forwards_per_response", "skipped"})
        EXPECT_EQ(lines[step].at(key), expected[step].at(key)) << key;
      if (expected[step].contains("held_out"))  // what ended on the way was evaluated there too
        EXPECT_EQ(lines[step].at("held_out").at("accuracy"), expected[step]["held_out"]["accuracy"]);
      for (const char* key : {"loss", "grad_norm"}) {
        if (expected[step].at(key).is_null()) continue;
        const double value = expected[step].at(key);
        EXPECT_NEAR(lines[step].at(key).get<double>(), value, 1e-5 * (1 + std::abs(value))) << key;
      }
    }
    const auto weights = [&](const std::string& name) {
      return SafetensorsFile(runs_.run(name) / "checkpoints/last/model.safetensors");
    };
    const auto found = weights(got), wanted = weights(want);
    for (const SafetensorsEntry& entry : wanted.entries()) {
      const auto difference = found.tensor(entry.name) - wanted.tensor(entry.name);
      EXPECT_LT(difference.abs().max().item<double>(), 1e-4) << entry.name;
    }
  }

  test::TrainingRuns runs_;
};

TEST_F(RanksRun, IsTheRunOfOneProcess) {
  ASSERT_EQ(runs_.train("one").status, 0);
  const auto three = train(3, "three");
  ASSERT_EQ(three.status, 0) << three.error;
  expect_same_run("three", "one");
  EXPECT_EQ(count_of("three/report.html", three.output), 1u) << "one process speaks: " << three.output;
  EXPECT_THAT(three.output, HasSubstr("3 ranks of 1 thread"));
  const auto metrics = test::metrics_of(runs_.run("three"));
  EXPECT_TRUE(metrics.back().at("rank_idle").is_number());
  EXPECT_LE(metrics.back().at("rank_idle").get<double>(), metrics.back().at("rank_idle_max").get<double>());
  EXPECT_FALSE(test::metrics_of(runs_.run("one")).back().contains("rank_idle"));
  for (const auto& entry : fs::directory_iterator(runs_.run("one")))
    EXPECT_TRUE(fs::exists(runs_.run("three") / entry.path().filename())) << entry.path().filename();
}

TEST_F(RanksRun, GoesOnWithAnotherNumberOfRanks) {
  ASSERT_EQ(runs_.train("one", "--steps 6").status, 0);
  ASSERT_EQ(train(2, "changing", "--steps 2").status, 0);
  ASSERT_EQ(train(1, "changing", "--resume --steps 4").status, 0);
  const auto end = train(3, "changing", "--resume --steps 6");
  ASSERT_EQ(end.status, 0) << end.error;
  expect_same_run("changing", "one");
}

// Each rank writes its part of the optimizer's state; the folder is that of one process.
TEST_F(RanksRun, OfADividedStateGoesOnWithAnotherNumberOfRanks) {
  ASSERT_EQ(runs_.train("one", "--steps 6").status, 0);
  const std::string optimizer = "--set distributed.shard=optimizer ", gradients = "--set distributed.shard=gradients ";
  ASSERT_EQ(train(4, "divided", optimizer + "--steps 2").status, 0);
  ASSERT_EQ(train(1, "divided", "--resume --steps 4").status, 0);
  const auto end = train(3, "divided", gradients + "--resume --steps 6");
  ASSERT_EQ(end.status, 0) << end.error;
  expect_same_run("divided", "one");
  const auto state = [&](const std::string& name) {
    return SafetensorsFile(runs_.run(name) / "checkpoints/last/training_state.safetensors");
  };
  const auto got = state("divided"), want = state("one");
  EXPECT_EQ(got.header_text(), want.header_text());
  for (const SafetensorsEntry& entry : want.entries()) {
    const auto difference = (got.tensor(entry.name) - want.tensor(entry.name)).abs().max().item<double>();
    EXPECT_LE(difference, 1e-3 * (1e-3 + want.tensor(entry.name).abs().max().item<double>())) << entry.name;
  }
}

TEST_F(RanksRun, ThatCannotDivideTheWeightsIsRefusedBeforeAnythingIsWritten) {
  const auto result = train(2, "a", "--set distributed.shard=parameters");
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(count_of("distributed.shard = \"parameters\" is planned by --dry-run, and not built", result.error), 1u)
      << result.error;
  EXPECT_FALSE(fs::exists(runs_.run("a")));
}

TEST_F(RanksRun, OfDifferentSettingsIsRefusedBeforeAnythingIsWritten) {
  const auto result = test::run_command(
      command("-n 2 drift train run.toml --out a --seed 5 : -n 1 drift train run.toml --out a --seed 6"));
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, AllOf(HasSubstr("run.seed: 5 on rank 0 ("), HasSubstr("; 6 on rank 2 (")));
  EXPECT_EQ(count_of("were not started alike", result.error), 1u) << result.error;
  EXPECT_FALSE(fs::exists(runs_.run("a")));
}

TEST_F(RanksRun, AnErrorOfOneRankIsSaidOnceWithItsRankAndEndsAll) {
  const auto result =
      test::run_command(command("-n 1 drift train run.toml --out a : -n 1 drift train nowhere.toml --out a"));
  EXPECT_NE(result.status, 0);
  EXPECT_THAT(result.error, HasSubstr("error: rank 1 ("));
  EXPECT_EQ(count_of("nowhere.toml", result.error), 1u) << result.error;
}

TEST_F(RanksRun, AnErrorOfAllRanksIsSaidOnce) {
  ASSERT_EQ(runs_.train("a").status, 0);
  const auto result = train(3, "a");
  EXPECT_NE(result.status, 0);
  EXPECT_EQ(count_of("already has a run", result.error), 1u) << result.error;
  const auto mistake = train(3, "b", "--set train.stpes=3");
  EXPECT_NE(mistake.status, 0);
  EXPECT_EQ(count_of("stpes", mistake.error), count_of("stpes", runs_.train("c", "--set train.stpes=3").error))
      << mistake.error;
}

/// The process that is this rank of the run in a folder; 0 if there is none.
pid_t process_of(int rank, const fs::path& folder) {
  for (const auto& entry : fs::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::error_code failed;
    if (fs::read_symlink(entry.path() / "cwd", failed) != folder) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string environment((std::istreambuf_iterator<char>(file)), {});
    if (environment.find("OMPI_COMM_WORLD_RANK=" + std::to_string(rank) + '\0') != environment.npos)
      return static_cast<pid_t>(std::stol(name));
  }
  return 0;
}

TEST_F(RanksRun, EndsWithARankThatIsKilledAndGoesOnFromItsCheckpoint) {
  const auto steps = [&] {
    return fs::exists(runs_.run("killed/checkpoints/last")) ? test::metrics_of(runs_.run("killed")).size() : 0;
  };
  for (const int rank : {0, 1}) {
    const std::size_t before = steps();
    test::CommandResult result;
    std::atomic<bool> ended = false;
    std::thread run([&] {
      result = train(2, "killed", std::string(rank == 0 ? "" : "--resume ") + "--steps 4000");
      ended = true;
    });
    while (!ended && steps() < before + 3) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    const pid_t process = process_of(rank, fs::canonical(runs_.path()));
    EXPECT_NE(process, 0);
    if (process != 0) ::kill(process, SIGKILL);
    run.join();
    EXPECT_NE(result.status, 0);
    EXPECT_THAT(result.error, HasSubstr("rank " + std::to_string(rank)));
    EXPECT_EQ(process_of(1 - rank, fs::canonical(runs_.path())), 0) << "the other one goes on";
  }
  const std::string length = "--steps " + std::to_string(steps() + 2);
  const auto end = train(1, "killed", "--resume " + length);
  ASSERT_EQ(end.status, 0) << end.error;
  ASSERT_EQ(runs_.train("unbroken", length).status, 0);
  expect_same_run("killed", "unbroken");
}

TEST_F(RanksRun, StopsAfterTheSameStepWhicheverRankHasTheSignal) {
  test::CommandResult result;
  std::atomic<bool> ended = false;
  std::thread run([&] {
    result = train(2, "a", "--steps 4000");
    ended = true;
  });
  while (!ended && !fs::exists(runs_.run("a/checkpoints/last")))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const pid_t process = process_of(1, fs::canonical(runs_.path()));
  EXPECT_NE(process, 0);
  if (process != 0) ::kill(process, SIGTERM);
  run.join();
  EXPECT_NE(result.status, 0);
  const auto summary = nlohmann::json::parse(test::read_file(runs_.run("a") / "summary.json"));
  EXPECT_EQ(summary.at("status"), "interrupted") << result.error;
  EXPECT_EQ(summary.at("steps").get<std::size_t>() + 1, test::metrics_of(runs_.run("a")).size());
  EXPECT_EQ(count_of("--resume", result.output), 1u) << result.output;
}

}  // namespace
}  // namespace drift
