// `drift runs` from the outside: which runs it lists, in which order, and what it says of each.

#include <core/io/run_folder.h>
#include <tests/support/training_run.h>

#include <chrono>

namespace drift::runs_command_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class RunsCommand : public Test, public ProgramFolder {
 protected:
  /// A run of four steps in its folder, as if this process made it.
  RunFolder begin(const std::string& name, const std::string& algorithm = "[algorithm]\nname = \"d1\"\n") const {
    RunFolder run = RunFolder::create(path(name));
    run.write_file("config.toml", algorithm + "[train]\nsteps = 4\n");
    return run;
  }
  static std::string step(int number, const std::string& more = "") {
    return R"({"step":)" + std::to_string(number) + R"(,"loss":0.5,"seconds":{"rollout":1.0,"total":2.5})" + more + "}";
  }
  static std::string evaluated(double accuracy) {
    return R"(,"held_out":{"accuracy":)" + std::to_string(accuracy) + R"(,"items":8})";
  }
  /// The run wrote last so long ago.
  void age(const std::string& name, int hours) const {
    for (const auto& file : fs::directory_iterator(path(name))) {
      if (file.is_regular_file())
        fs::last_write_time(file.path(), fs::file_time_type::clock::now() - std::chrono::hours(hours));
    }
  }
  std::vector<nlohmann::json> listed(const std::string& arguments) const {
    std::vector<nlohmann::json> lines;
    std::istringstream text(drift("runs --json " + arguments).output);
    for (std::string line; std::getline(text, line);) lines.push_back(nlohmann::json::parse(line));
    return lines;
  }
};

TEST_F(RunsCommand, SaysWhatEachRunHasComeTo) {
  {
    const RunFolder run = begin("runs/mine");
    run.append_metrics(R"({"step":0)" + evaluated(0.125) + "}");
    run.append_metrics(step(1));
    run.append_metrics(step(2, evaluated(0.75)));
    run.append_metrics(step(3, evaluated(0.5)));
    run.write_file("summary.json", R"({"status":"interrupted","steps":3})");
  }
  EXPECT_THAT(drift("runs"), prints("name  algorithm  steps  last %  best %  seconds  state",
                                    "mine  d1           3/4    50.0    75.0      7.5  stopped"));
  EXPECT_THAT(listed(""), ElementsAre(nlohmann::json{{"name", "mine"},
                                                     {"folder", "runs/mine"},
                                                     {"state", "stopped"},
                                                     {"algorithm", "d1"},
                                                     {"step", 3},
                                                     {"steps", 4},
                                                     {"last_accuracy", 0.5},
                                                     {"best_accuracy", 0.75},
                                                     {"seconds", 7.5}}));
}

TEST_F(RunsCommand, TheRunThatWroteLastComesFirstAndSweepsHaveTheirNames) {
  begin("all/old").append_metrics(step(1));
  begin("all/grid/runs/a");
  begin("all/grid/runs/b", "");
  write("all/grid/cells.json", R"({"cells": [
    {"cell": "k=1", "baseline": "k=1", "runs": [{"seed": 1, "folder": "runs/b"}]},
    {"cell": "k=2", "baseline": "k=1", "runs": [{"seed": 1, "folder": "runs/a"}, {"seed": 2, "folder": "runs/c"}]}]})");
  const RunFolder running = begin("all/new");
  write("all/notes.txt", "no run");
  age("all/old", 2);
  age("all/grid/runs/a", 1);
  age("all/grid/runs/b", 3);
  const auto found = listed("all");
  std::vector<std::string> texts;
  for (const auto& run : found)
    texts.push_back(run["name"].get<std::string>() + " " + run["algorithm"].get<std::string>() + " " +
                    run["state"].get<std::string>());
  EXPECT_THAT(texts,
              ElementsAre("new d1 running", "grid/k=2, seed 1 d1 lost", "old d1 lost", "grid/k=1 pretrain lost"));
  EXPECT_EQ(found[0]["last_accuracy"], nullptr);
  EXPECT_EQ(found[1]["folder"], "all/grid/runs/a");
  EXPECT_THAT(listed("all/grid"), SizeIs(2)) << "a sweep";
  EXPECT_THAT(listed("all/new/"), SizeIs(1)) << "a run";
}

TEST_F(RunsCommand, ADamagedRunIsListedWithAWarning) {
  begin("runs/whole");
  begin("runs/torn", "[algorithm\n");
  EXPECT_THAT(drift("runs"), warns("warning: torn: "));
  EXPECT_THAT(listed(""), SizeIs(2));
}

TEST_F(RunsCommand, AFolderWithoutRunsIsAnError) {
  fs::create_directories(path("empty/deeper"));
  for (const std::string folder : {"runs", "empty", "no/such"})
    EXPECT_THAT(drift("runs " + folder), fails("no run has begun in " + folder, "drift train configs/quickstart.toml"));
  EXPECT_THAT(drift("runs"), fails("no run has begun in runs"));
}

}  // namespace drift::runs_command_test
