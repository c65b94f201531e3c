// `drift eval --suite` and `drift eval diff` from the outside, on models that ship: every response is kept, what was
// stopped or killed goes on to the same records, and mistakes are told before anything is opened.

#include <tests/support/training_run.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

namespace drift::eval_suite_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string source(const std::string& path) { return (test::source_dir() / path).string(); }

class EvalSuite : public testing::Test {
 protected:
  EvalSuite() {
    write_suite();
    test::write_file(folder() / "figures.csv", R"(backbone,method,role,task,length,schedule,value
LLaDA,base,base,grids,20,dynamic,10.0
LLaDA,theirs,proposed,grids,20,dynamic,99.0
Dream,other,method,grids,20,dynamic,50.0
)");
  }

  void write_suite(const std::string& rollout = "") const {
    const std::string task = "file = \"" + source("configs/tasks/sudoku.toml") + "\"";
    test::write_file(folder() / "suite.toml", R"([rollout]
name = "block"
[evaluation]
items = 24
batch_size = 8
[evaluation.rollout]
temperature = 0.0
)" + rollout + R"(
[suite]
schedules = ["dynamic", "static"]
published = "figures.csv"
tasks = [{ name = "grids", )" + task + R"(, lengths = [20, 40] }, { name = "more", )" +
                                                  task + R"(, lengths = [20] }]
)");
  }

  fs::path folder() const { return folder_.path(); }

  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("cd " + folder().string() + " && " + test::program().string() + " " + arguments);
  }
  std::string arguments(const std::string& out, const std::string& options = "") const {
    return "eval " + source("assets/sudoku-llada") + " --suite suite.toml --out " + out + " " + options;
  }
  test::CommandResult eval(const std::string& out, const std::string& options = "") const {
    return drift(arguments(out, options));
  }

  /// All responses of an evaluation but for how long they took, cell by cell.
  std::map<std::string, std::string> records(const std::string& out) const {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::directory_iterator(folder() / out / "responses")) {
      std::istringstream lines(test::read_file(entry.path()));
      std::string& text = all[entry.path().stem().string()];
      for (std::string line; std::getline(lines, line);) {
        auto record = nlohmann::json::parse(line);
        record.erase("seconds");
        text += record.dump() + "\n";
      }
    }
    return all;
  }

  std::size_t lines_in(const fs::path& file) const {
    if (!fs::exists(file)) return 0;
    const std::string text = test::read_file(file);
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }

  test::TemporaryFolder folder_;
};

TEST_F(EvalSuite, AnswersEveryCellAndSetsItBesideWhatIsPublished) {
  const auto result = eval("out");
  ASSERT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output,
              AllOf(HasSubstr(test::in_utf8_locale() ? "evaluation suite · 6 cells · 144 responses to come · out"
                                                     : "evaluation suite | 6 cells | 144 responses to come | out"),
                    HasSubstr("[6/6] more-20-static")));
  EXPECT_THAT(result.output,
              AllOf(HasSubstr("sudoku-llada "), HasSubstr(test::in_utf8_locale() ? "\nΔ vs. Base" : "\nDelta vs. Base"),
                    HasSubstr("+89.0"), Not(HasSubstr("other"))));
  const auto kept = records("out");
  EXPECT_EQ(kept.size(), 6u);
  for (const auto& [cell, lines] : kept) EXPECT_EQ(std::ranges::count(lines, '\n'), 24) << cell;
  for (const char* file : {"table.txt", "table.csv", "table.tex", "cells.csv"})
    EXPECT_TRUE(fs::exists(folder() / "out" / file)) << file;
  EXPECT_THAT(test::read_file(folder() / "out/table.csv"), HasSubstr(",dynamic,theirs,99.0,,"));

  // Both tasks are the same here, so the same cell has the same responses.
  const auto without_task = [](std::string lines, const std::string& task) {
    for (auto at = lines.find(task); at != lines.npos; at = lines.find(task)) lines.erase(at, task.size());
    return lines;
  };
  EXPECT_EQ(without_task(kept.at("grids-20-static"), "\"task\":\"grids\""),
            without_task(kept.at("more-20-static"), "\"task\":\"more\""));

  const auto again = eval("out");
  EXPECT_EQ(again.status, 0) << again.error;
  EXPECT_THAT(again.output, HasSubstr("all responses are there"));
  EXPECT_EQ(records("out"), kept);
}

TEST_F(EvalSuite, StoppedOrKilledItGoesOnToTheSameRecords) {
  const std::string kMore = "--set evaluation.items=80";  // there is time to stop it
  ASSERT_EQ(eval("whole", kMore).status, 0);
  test::RunningProgram stopped(folder(), arguments("out", kMore));
  ASSERT_TRUE(stopped.wait_until([&] { return lines_in(folder() / "out/responses/grids-20-dynamic.jsonl") >= 8; }));
  stopped.send(SIGINT);
  EXPECT_EQ(stopped.wait(), 130) << stopped.error();
  EXPECT_THAT(stopped.error(), HasSubstr("stopping after this batch of responses"));
  EXPECT_THAT(stopped.output(), AllOf(HasSubstr("responses are missing"), HasSubstr("continue with  drift eval"),
                                      HasSubstr(" --suite suite.toml --out out --set evaluation.items=80")));
  EXPECT_TRUE(fs::exists(folder() / "out/table.txt"));

  test::RunningProgram killed(folder(), arguments("out", kMore));
  ASSERT_TRUE(killed.wait_until([&] { return lines_in(folder() / "out/responses/grids-40-dynamic.jsonl") >= 8; }));
  killed.send(SIGKILL);
  killed.wait();
  test::write_file(folder() / "out/responses/grids-40-dynamic.jsonl",
                   test::read_file(folder() / "out/responses/grids-40-dynamic.jsonl") + R"({"id":"12)");
  const auto last = eval("out", kMore);
  ASSERT_EQ(last.status, 0) << last.error;
  EXPECT_EQ(records("out"), records("whole"));

  const auto same = drift("eval diff whole out");
  EXPECT_EQ(same.status, 0) << same.error;
  EXPECT_THAT(same.output, AllOf(HasSubstr("exact McNemar"), Not(HasSubstr("items changed"))));
}

TEST_F(EvalSuite, OneFolderHoldsOneEvaluation) {
  ASSERT_EQ(eval("out", "--tasks more").status, 0);
  const auto other = eval("out", "--set evaluation.rollout.threshold=0.5");
  EXPECT_EQ(other.status, 2);
  EXPECT_THAT(other.error, AllOf(HasSubstr("evaluation.rollout.threshold: 0.9 there, 0.5 here"),
                                 HasSubstr("choose another folder with --out"), HasSubstr("in 2 of 6 cells")));
  const auto model = drift("eval " + source("assets/sudoku-dream") + " --suite suite.toml --out out");
  EXPECT_EQ(model.status, 2);
  EXPECT_THAT(model.error, HasSubstr("another checkpoint"));
}

TEST_F(EvalSuite, TasksCanBeAnsweredOneByOne) {
  ASSERT_EQ(eval("out", "--tasks more").status, 0);
  EXPECT_THAT(test::read_file(folder() / "out/cells.csv"), HasSubstr("\ngrids-20-static,grids,20,static,,"));
  ASSERT_EQ(eval("out", "--tasks grids").status, 0);
  const std::string cells = test::read_file(folder() / "out/cells.csv");
  EXPECT_THAT(cells, Not(HasSubstr(",,,")));
  const auto unknown = eval("out", "--tasks grid");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("did you mean `grids`?"));
}

TEST_F(EvalSuite, MistakesOfAllCellsAreToldAtOnce) {
  write_suite("thresold = 0.5\n[task]\nblanks_hihg = 9\n");
  const auto result = eval("out");
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.error, AllOf(HasSubstr("did you mean `threshold`?"), HasSubstr("did you mean `blanks_high`?")));
  EXPECT_FALSE(fs::exists(folder() / "out"));

  write_suite();
  EXPECT_THAT(eval("out", "--set evaluation.rollout.block=3").error,
              AllOf(HasSubstr("is not a multiple of"), HasSubstr("in 4 of 6 cells")));
  EXPECT_THAT(eval("out", "--config suite.toml").error, HasSubstr("--config and --suite do not go together"));
  EXPECT_THAT(drift("eval " + source("assets/sudoku-llada") + " --suite missing.toml").error,
              HasSubstr("cannot read `missing.toml`"));
}

TEST_F(EvalSuite, ResponsesCanBeScoredAgain) {
  ASSERT_EQ(eval("out", "--tasks more").status, 0);
  const auto scored = drift("reward sudoku --set reward.answer=raw --in out/responses/more-20-dynamic.jsonl --json");
  ASSERT_EQ(scored.status, 0) << scored.error;
  std::istringstream again(scored.output), before(test::read_file(folder() / "out/responses/more-20-dynamic.jsonl"));
  int count = 0;
  for (std::string a, b; std::getline(again, a) && std::getline(before, b); ++count) {
    const auto now = nlohmann::json::parse(a), then = nlohmann::json::parse(b);
    EXPECT_EQ(now.at("id"), then.at("id"));
    EXPECT_EQ(now.at("score"), then.at("value"));
    EXPECT_EQ(now.at("reason"), then.at("reason"));
  }
  EXPECT_EQ(count, 24);
}

TEST_F(EvalSuite, TheDifferenceOfTwoEvaluationsNamesTheItems) {
  ASSERT_EQ(eval("greedy", "--tasks more").status, 0);
  ASSERT_EQ(eval("drawn", "--tasks more --set evaluation.rollout.temperature=1.0").status, 0);
  const auto text = drift("eval diff greedy drawn");
  ASSERT_EQ(text.status, 0) << text.error;
  EXPECT_THAT(text.output, AllOf(HasSubstr("before  greedy"), HasSubstr("more-20-dynamic     24")));
  const auto json =
      drift("eval diff greedy/responses/more-20-static.jsonl drawn/responses/more-20-static.jsonl --json");
  ASSERT_EQ(json.status, 0) << json.error;
  const auto cell = nlohmann::json::parse(json.output).at("cells").at(0);
  EXPECT_EQ(cell.at("items"), 24);
  EXPECT_GT(cell.at("other_responses"), 0);
  EXPECT_EQ(cell.at("changes").size(), cell.at("better").get<std::size_t>() + cell.at("worse").get<std::size_t>());

  ASSERT_EQ(eval("fewer", "--tasks more --set evaluation.items=20").status, 0);
  const auto fewer = drift("eval diff greedy fewer");
  EXPECT_EQ(fewer.status, 1);
  EXPECT_THAT(fewer.error,
              AllOf(HasSubstr("not of the same items"), HasSubstr("only the first has"), HasSubstr("(4)")));
  EXPECT_EQ(drift("eval diff greedy").status, 2);
}

TEST_F(EvalSuite, OneTaskKeepsItsResponsesToo) {
  const std::string command = "eval " + source("assets/sudoku-llada") + " --config " +
                              source("configs/tasks/sudoku.toml") + " --out one --set evaluation.items=";
  const auto first = drift(command + "10");
  ASSERT_EQ(first.status, 0) << first.error;
  EXPECT_THAT(first.output, AllOf(HasSubstr("held-out items       10\n"), HasSubstr("solved"),
                                  HasSubstr("one/responses/sudoku-20.jsonl")));
  const std::string ten = test::read_file(folder() / "one/responses/sudoku-20.jsonl");
  ASSERT_EQ(drift(command + "12").status, 0);
  EXPECT_THAT(test::read_file(folder() / "one/responses/sudoku-20.jsonl"), StartsWith(ten));
  EXPECT_EQ(lines_in(folder() / "one/responses/sudoku-20.jsonl"), 12u);
}

}  // namespace
}  // namespace drift::eval_suite_test
