// A sweep from the outside: it runs a grid, repeats nothing, goes on after being killed, and tells what failed.

#include <core/io/folder_lock.h>
#include <tests/support/training_run.h>

#include <signal.h>

#include <chrono>
#include <thread>

namespace drift::sweep_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

constexpr const char* kGrid = R"([sweep]
seeds = [1, 2]
[sweep.grid]
algorithm.masking.k = [1, 2]
)";

class Sweep : public Test, public TrainingRuns {
 protected:
  /// Two values of one key, two seeds, a few steps of the tests' small run.
  void write_sweep(const std::string& content = kGrid, const std::string& steps = "2") const {
    write("grid.toml", "extends = [\"run.toml\"]\n[train]\nsteps = " + steps + "\n" + content);
  }

  CommandResult sweep(const std::string& options = "") const { return drift("sweep grid.toml --out out " + options); }

  std::vector<fs::path> run_folders() const {
    std::vector<fs::path> folders;
    if (!fs::exists(out() / "runs")) return folders;
    for (const auto& entry : fs::directory_iterator(out() / "runs")) folders.push_back(entry.path());
    std::ranges::sort(folders);
    return folders;
  }

  bool has_a_checkpoint() const {
    const auto folders = run_folders();
    return !folders.empty() && fs::exists(folders[0] / "checkpoints/last");
  }

  std::map<std::string, fs::file_time_type> summaries() const {
    std::map<std::string, fs::file_time_type> times;
    for (const fs::path& run : run_folders()) {
      if (fs::exists(run / "summary.json")) times[run.string()] = fs::last_write_time(run / "summary.json");
    }
    return times;
  }

  fs::path out() const { return path("out"); }
};

TEST_F(Sweep, RunsTheGridAndEndsInTables) {
  write_sweep();
  ASSERT_THAT(sweep("--jobs 2"), prints("sweep grid", "4/4  k=", "algorithm.masking.k  runs  held-out accuracy %"));
  EXPECT_THAT(read("out/table.csv"), AllOf(HasSubstr("\n1,2,2,"), HasSubstr("\n2,2,2,")));
  EXPECT_THAT(read("out/table.tex"), HasSubstr("\\begin{tabular}"));
  EXPECT_THAT(read("out/table.md"), HasSubstr("| algorithm.masking.k |"));
  const std::string runs = read("out/runs.csv");
  EXPECT_EQ(std::ranges::count(runs, '\n'), 5);
  EXPECT_THAT(runs, HasSubstr(",finished,"));
  EXPECT_THAT(read("out/report.html"), HasSubstr("</i>k=2</span>"));
  EXPECT_THAT(read("out/cells.json"), HasSubstr(R"("baseline": "k=1")"));
}

TEST_F(Sweep, ShowsItsNamesWhatCellsSetAndWhatToChoose) {
  write_sweep(R"([evaluation]
validation_items = 6
[[sweep.axis]]
name = "method"
values = [{ name = "theirs" }, { name = "a", set = { algorithm.name = "d1", algorithm.loss.beta = 0.0 } }]
)");
  ASSERT_THAT(sweep(), prints("validation %", " best"));
  for (const char* file : {"table.txt", "table.csv", "report.html"})
    EXPECT_THAT(read_file(out() / file), HasSubstr("algorithm.masking.p_mask_prompt = ")) << "of the preset";
  const auto runs = run_folders();
  const auto held_out = metrics_of(runs.front()).back().at("held_out");
  EXPECT_EQ(held_out.at("items"), 4);
  EXPECT_TRUE(held_out.contains("validation"));
  const auto reported = drift("report out").output;
  EXPECT_LT(reported.find("\ntheirs "), reported.find("\na "));
}

TEST_F(Sweep, RepeatsNothingAndRunsOnlyWhatChanged) {
  write_sweep();
  ASSERT_EQ(sweep().status, 0);
  const auto made = summaries();
  ASSERT_EQ(made.size(), 4u);
  EXPECT_THAT(sweep("--dry-run").output, AllOf(HasSubstr("4 runs, 4 finished"), HasSubstr("2/2")));
  EXPECT_EQ(sweep().status, 0);
  EXPECT_EQ(summaries(), made);

  write_sweep("[sweep]\nseeds = [1, 2]\n[sweep.grid]\nalgorithm.masking.k = [1, 3]\n");
  EXPECT_THAT(sweep("--dry-run").output, HasSubstr("4 runs, 2 finished"));
  ASSERT_EQ(sweep().status, 0);
  const auto more = summaries();
  EXPECT_EQ(more.size(), 6u);
  for (const auto& [run, time] : made) EXPECT_EQ(more.at(run), time);
}

TEST_F(Sweep, GoesOnAfterItWasKilled) {
  write_sweep(kGrid, "6");
  ASSERT_EQ(sweep().status, 0);
  const auto unbroken = results_of(out());
  fs::remove_all(out());
  for (int kill = 1; kill <= 3; ++kill) {
    RunningProgram program(path(), "sweep grid.toml --out out --jobs 2");
    // Each time a little further; a run leaves its folder only when it can be gone on with.
    ASSERT_TRUE(program.wait_until([&] {
      int lines = 0;
      for (const fs::path& run : run_folders()) {
        if (fs::exists(run / "metrics.jsonl"))
          lines += static_cast<int>(std::ranges::count(read_file(run / "metrics.jsonl"), '\n'));
      }
      return lines >= 4 * kill;
    })) << program.output()
        << program.error();
    program.send(SIGKILL);
    program.wait();
  }
  ASSERT_THAT(sweep("--jobs 2"), prints());
  EXPECT_EQ(results_of(out()), unbroken);
}

TEST_F(Sweep, CtrlCLetsTheRunsSaveAndSaysHowToGoOn) {
  write_sweep(kGrid, "200");
  RunningProgram program(path(), "sweep grid.toml --out out --set train.prompts_per_step=3");
  ASSERT_TRUE(program.wait_until([&] { return has_a_checkpoint(); })) << program.output() << program.error();
  program.send(SIGINT);
  EXPECT_EQ(program.wait(), 128 + SIGINT);
  EXPECT_THAT(program.output(),
              HasSubstr("continue with  drift sweep grid.toml --out out --set train.prompts_per_step=3"));
  ASSERT_EQ(run_folders().size(), 1u);
  const auto summary = nlohmann::json::parse(read_file(run_folders()[0] / "summary.json"));
  EXPECT_EQ(summary.at("status"), "interrupted");
}

TEST_F(Sweep, ItsRunsEndWithIt) {
  write_sweep(kGrid, "1000000");
  RunningProgram program(path(), "sweep grid.toml --out out");
  ASSERT_TRUE(program.wait_until([&] { return has_a_checkpoint(); })) << program.output() << program.error();
  program.send(SIGKILL);
  program.wait();
  const fs::path run = run_folders()[0];
  while (FolderLock::holder(run))
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // else until ctest's limit
  EXPECT_EQ(nlohmann::json::parse(read_file(run / "summary.json")).at("status"), "interrupted");
}

TEST_F(Sweep, AFailingRunDoesNotStopTheOthersAndIsTriedAgain) {
  write_sweep();
  const auto listed = sweep("--dry-run").output;
  const auto begin = listed.find("out/runs/");
  const fs::path first = path(listed.substr(begin, listed.find('\n', begin) - begin));
  write_file(first / "checkpoints/last/nothing", "");  // no checkpoint, so that the run refuses to begin
  EXPECT_THAT(sweep(), finds("failed  k=1, seed 1: exit status 1", "already has a run",
                             first.filename().string() + "/output.txt",
                             "3/4  k=", "1 run failed; the same command tries again"));
  EXPECT_THAT(read("out/runs.csv"), HasSubstr(",failed,exit status 1,"));
  EXPECT_THAT(read("out/table.txt"), HasSubstr("1/2"));

  fs::remove_all(first / "checkpoints");
  EXPECT_EQ(sweep().status, 0);
}

TEST_F(Sweep, EveryMistakeIsFoundBeforeTheFirstRun) {
  write_sweep("[sweep]\nseeds = [1, 2]\n[sweep.grid]\nalgorithm.masking.k = [1, 0]\ntrain.stpes = [1, 2]\n");
  EXPECT_THAT(sweep(),
              mistake("`algorithm.masking.k` must be", "did you mean `steps`?", "grid.toml:7:27", "in 2 of 4 cells"));
  EXPECT_FALSE(fs::exists(out()));
}

TEST_F(Sweep, ReportsWithoutRunning) {
  write_sweep();
  EXPECT_THAT(sweep("--report").error, HasSubstr("there is no folder out"));
  ASSERT_EQ(sweep("--set train.steps=1").status, 0);
  fs::remove(out() / "report.html");
  EXPECT_THAT(sweep("--report"), prints("4 of 4 runs are not finished"));
  EXPECT_TRUE(fs::exists(out() / "report.html"));
  EXPECT_THAT(sweep("--report --set train.steps=1").output, Not(HasSubstr("not finished")));
}

TEST(SweepExample, ThatShipsIsAGridOfTwoByTwo) {
  EXPECT_THAT(run_command(program().string() + " sweep " + source("configs/sweeps/quick.toml") + " --dry-run"),
              prints("2 cells", "4 runs, "));
}

}  // namespace drift::sweep_test
