// What `drift watch` reads of a run's folder while another process, perhaps on another machine, writes it.

#include <core/io/run_folder.h>
#include <core/record/metrics_reader.h>
#include <core/report/watched_run.h>

#include <drift/error.h>

#include "tests/support/support.h"

#include <sys/stat.h>
#include <unistd.h>

#include <chrono>

namespace drift::watched_run_test {

namespace fs = std::filesystem;
using namespace testing;

std::string line(int step, double reward = 0.5) {
  return "{\"step\":" + std::to_string(step) + ",\"reward\":" + std::to_string(reward) +
         ",\"seconds\":{\"rollout\":1.5,\"update\":0.5,\"total\":2}}\n";
}

std::vector<std::int64_t> numbers(const std::vector<StepRecord>& steps) {
  std::vector<std::int64_t> all;
  for (const StepRecord& step : steps) all.push_back(step.step);
  return all;
}

struct GrowingFile {
  void append(const std::string& text) const { std::ofstream(path, std::ios::app) << text; }
  std::vector<std::int64_t> look() {
    changed = tail.look(steps);
    return numbers(steps);
  }

  test::TemporaryFolder folder;
  fs::path path = folder.path() / "metrics.jsonl";
  MetricsTail tail{path};
  std::vector<StepRecord> steps;
  bool changed = false;
};

TEST(MetricsTail, ReadsWhatWasAdded) {
  GrowingFile file;
  EXPECT_THAT(file.look(), ElementsAre()) << "there is no file yet";
  file.append(line(0) + line(1));
  EXPECT_THAT(file.look(), ElementsAre(0, 1));
  EXPECT_TRUE(file.changed);
  EXPECT_THAT(file.look(), ElementsAre(0, 1));
  EXPECT_FALSE(file.changed);
  file.append(line(2));
  EXPECT_THAT(file.look(), ElementsAre(0, 1, 2));
}

TEST(MetricsTail, DoesNotWaitForWhoeverWritesIntoAPipe) {
  GrowingFile file;
  ASSERT_EQ(::mkfifo(file.path.c_str(), 0600), 0);
  EXPECT_THAT(file.look(), ElementsAre());
}

TEST(MetricsTail, WaitsForTheRestOfALine) {
  GrowingFile file;
  const std::string whole = line(2);
  file.append(line(1) + whole.substr(0, 12));
  EXPECT_THAT(file.look(), ElementsAre(1));
  file.append(whole.substr(12));
  EXPECT_THAT(file.look(), ElementsAre(1, 2));
  EXPECT_EQ(file.tail.unreadable(), 0);
}

TEST(MetricsTail, WaitsWhereNfsShowsZeros) {
  GrowingFile file;
  test::write_file(file.path, line(1) + std::string(line(2).size() - 1, '\0') + "\n");
  EXPECT_THAT(file.look(), ElementsAre(1));
  test::write_file(file.path, line(1) + line(2));
  EXPECT_THAT(file.look(), ElementsAre(1, 2));
  EXPECT_EQ(file.tail.unreadable(), 0);
}

TEST(MetricsTail, PassesOverADamagedLineThatOthersFollow) {
  GrowingFile file;
  file.append(line(1) + "half of a li\n" + line(3));
  EXPECT_THAT(file.look(), ElementsAre(1, 3));
  EXPECT_EQ(file.tail.unreadable(), 1);
}

TEST(MetricsTail, AResumedRunReplacesItsLastSteps) {
  GrowingFile file;
  file.append(line(1) + line(2) + line(3));
  file.look();
  test::write_file(file.path, line(1));
  EXPECT_THAT(file.look(), ElementsAre(1)) << "shortened";
  file.append(line(2, 0.75));
  EXPECT_THAT(file.look(), ElementsAre(1, 2));
  EXPECT_EQ(file.steps.back().reward, 0.75);
}

TEST(MetricsTail, AnotherFileOfTheSameLengthIsReadFromItsBeginning) {
  GrowingFile file;
  file.append(line(1) + line(2));
  file.look();
  test::write_file(file.path, line(1, 0.25) + line(2, 0.25) + line(3, 0.25));
  EXPECT_THAT(file.look(), ElementsAre(1, 2, 3));
  EXPECT_EQ(file.steps.front().reward, 0.25);
  fs::remove(file.path);
  EXPECT_THAT(file.look(), ElementsAre());
}

/// A folder that the test writes, and its only watcher.
struct Watched {
  Watched() { fs::create_directory(path); }

  void write(const std::string& name, const std::string& text) const { test::write_file(path / name, text); }
  void set_quiet(double seconds) const {
    for (const auto& entry : fs::directory_iterator(path))
      fs::last_write_time(entry.path(), fs::file_time_type::clock::now() - std::chrono::seconds(std::lround(seconds)));
  }
  const WatchedRun& look() {
    watch.look(run, std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count());
    return run;
  }
  WatchedState state() { return look().state; }

  test::TemporaryFolder folder;
  fs::path path = folder.path() / "run";
  RunWatch watch{path, [](const fs::path&) {
                   WatchedSettings settings;
                   settings.steps = 40;
                   settings.limits.window = 1;
                   settings.limits.kl_blowup = 1;
                   return settings;
                 }};
  WatchedRun run;
};

TEST(RunWatch, AFolderThatIsNotThereYetIsAwaited) {
  Watched run;
  fs::remove(run.path);
  EXPECT_EQ(run.state(), WatchedState::kAwaited);
  fs::create_directory(run.path);
  EXPECT_EQ(run.state(), WatchedState::kAwaited);
}

TEST(RunWatch, WhoHoldsTheLockRuns) {
  Watched run;
  std::optional<RunFolder> process = RunFolder::create(run.path);
  process->write_file("config.toml", "");
  process->append_metrics(line(1).substr(0, line(1).size() - 1));
  EXPECT_EQ(run.state(), WatchedState::kRunning);
  EXPECT_EQ(run.run.steps_planned, 40);
  EXPECT_EQ(run.run.seconds_per_step(), 2);
  EXPECT_EQ(run.run.seconds_left(), 39 * 2);
  process.reset();
  EXPECT_EQ(run.state(), WatchedState::kLost) << "of this machine, whose locks are seen, and no word of an end";
  EXPECT_TRUE(std::isnan(run.run.seconds_left()));
}

TEST(RunWatch, TheSummarySaysHowARunEnded) {
  Watched run;
  run.write("metrics.jsonl", line(1) + line(2));
  for (const auto& [status, state] :
       {std::pair("finished", WatchedState::kFinished), std::pair("interrupted", WatchedState::kStopped),
        std::pair("failed", WatchedState::kFailed)}) {
    run.write("summary.json", std::string("{\"steps\": 2, \"status\": \"") + status + "\", \"error\": \"out\"}");
    EXPECT_EQ(run.state(), state);
  }
  EXPECT_EQ(run.run.error, "out");
  run.write("metrics.jsonl", line(1) + line(2) + line(3));
  EXPECT_EQ(run.state(), WatchedState::kRunning) << "it was resumed, and the summary is of the earlier start";
}

TEST(RunWatch, WhereLocksAreNotSeenTheFilesTell) {
  Watched run;
  run.write("metrics.jsonl", line(1));
  run.write(".lock", "process 7 on another-machine");
  EXPECT_EQ(run.state(), WatchedState::kRunning) << "it has just written";
  run.set_quiet(59);
  EXPECT_EQ(run.state(), WatchedState::kRunning);
  run.set_quiet(65);
  EXPECT_EQ(run.state(), WatchedState::kLost);
  EXPECT_NEAR(run.run.quiet, 65, 5);
  run.write("metrics.jsonl", "{\"step\":1,\"seconds\":{\"total\":30}}\n");
  run.set_quiet(290);
  EXPECT_EQ(run.state(), WatchedState::kRunning) << "ten steps of 30 s have not passed";
}

TEST(RunWatch, ReadsSamplesAndAlarms) {
  Watched run;
  run.write("config.toml", "");
  run.write("metrics.jsonl", "{\"step\":1,\"loss/kl\":0.1}\n{\"step\":2,\"loss/kl\":3}\n");
  run.write("samples.json",
            R"([{"step":2,"prompt":"2+2","response":"4","reward":1,"solved":true,"reason":"right"},7])");
  run.look();
  ASSERT_EQ(run.run.alarms.size(), 1u);
  EXPECT_EQ(run.run.alarms[0].step, 2);
  ASSERT_EQ(run.run.samples.size(), 1u);
  EXPECT_EQ(run.run.samples[0].response, "4");
  EXPECT_TRUE(run.run.samples[0].solved);
}

TEST(RunWatch, AFileThatCannotBeReadIsSaidAndReadAgain) {
  Watched run;
  run.write("summary.json", "{\"steps\": 0, \"stat");
  EXPECT_THAT(run.look().trouble, HasSubstr("summary.json"));
  run.write("summary.json", "{\"steps\": 0, \"status\": \"finished\"}");
  EXPECT_EQ(run.look().trouble, "");
  EXPECT_EQ(run.run.state, WatchedState::kFinished);
}

}  // namespace drift::watched_run_test
