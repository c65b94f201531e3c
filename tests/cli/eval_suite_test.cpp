// `drift eval --suite` and `drift eval diff` from the outside, on models that ship: every response is kept, what was
// stopped or killed goes on to the same records, and mistakes are told before anything is opened.

#include <tests/support/training_run.h>

#include <signal.h>

namespace drift::eval_suite_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

class EvalSuite : public Test, public ProgramFolder {
 protected:
  EvalSuite() {
    write_suite();
    write("figures.csv", R"(backbone,method,role,task,length,schedule,value
LLaDA,base,base,grids,20,dynamic,10.0
LLaDA,theirs,proposed,grids,20,dynamic,99.0
Dream,other,method,grids,20,dynamic,50.0
)");
  }

  void write_suite(const std::string& rollout = "") const {
    const std::string task = "file = \"" + source("configs/tasks/sudoku.toml") + "\"";
    write("suite.toml", R"([rollout]
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
tasks = [{ name = "grids", )" +
                            task + R"(, lengths = [20, 40] }, { name = "more", )" + task + R"(, lengths = [20] }]
)");
  }

  std::string arguments(const std::string& out, const std::string& options = "") const {
    return "eval " + source("assets/sudoku-llada") + " --suite suite.toml --out " + out + " " + options;
  }
  CommandResult eval(const std::string& out, const std::string& options = "") const {
    return drift(arguments(out, options));
  }

  /// All responses of an evaluation but for how long they took, cell by cell.
  std::map<std::string, std::vector<nlohmann::json>> records(const std::string& out) const {
    std::map<std::string, std::vector<nlohmann::json>> all;
    for (const auto& entry : fs::directory_iterator(path(out) / "responses")) {
      const std::string cell = entry.path().stem().string();
      all[cell] = responses_in(out, cell);
    }
    return all;
  }

  std::size_t lines_in(const fs::path& file) const {
    if (!fs::exists(file)) return 0;
    const std::string text = read_file(file);
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }
};

TEST_F(EvalSuite, AnswersEveryCellAndSetsItBesideWhatIsPublished) {
  ASSERT_THAT(eval("out"),
              prints(in_utf8_locale() ? "evaluation suite · 6 cells · 144 responses to come · out"
                                      : "evaluation suite | 6 cells | 144 responses to come | out",
                     "[6/6] more-20-static", "sudoku-llada ", in_utf8_locale() ? "\nΔ vs. Base" : "\nDelta vs. Base",
                     "+89.0", Not(HasSubstr("other"))));
  const auto kept = records("out");
  EXPECT_EQ(kept.size(), 6u);
  for (const auto& [cell, lines] : kept) EXPECT_EQ(lines.size(), 24u) << cell;
  for (const char* file : {"table.txt", "table.csv", "table.tex", "cells.csv"})
    EXPECT_TRUE(fs::exists(path("out") / file)) << file;
  EXPECT_THAT(read("out/table.csv"), HasSubstr(",dynamic,theirs,99.0,,"));

  // Both tasks are the same here, so the same cell has the same responses.
  auto grids = kept.at("grids-20-static"), more = kept.at("more-20-static");
  for (auto* lines : {&grids, &more}) {
    for (auto& line : *lines) line.erase("task");
  }
  EXPECT_EQ(grids, more);

  EXPECT_THAT(eval("out"), prints("all responses are there"));
  EXPECT_EQ(records("out"), kept);
}

TEST_F(EvalSuite, StoppedOrKilledItGoesOnToTheSameRecords) {
  const std::string kMore = "--set evaluation.items=80";  // there is time to stop it
  ASSERT_EQ(eval("whole", kMore).status, 0);
  RunningProgram stopped(path(), arguments("out", kMore));
  ASSERT_TRUE(stopped.wait_until([&] { return lines_in(path("out/responses/grids-20-dynamic.jsonl")) >= 8; }));
  stopped.send(SIGINT);
  EXPECT_EQ(stopped.wait(), 130) << stopped.error();
  EXPECT_THAT(stopped.error(), HasSubstr("stopping after this batch of responses"));
  EXPECT_THAT(stopped.output(), AllOf(HasSubstr("responses are missing"), HasSubstr("continue with  drift eval"),
                                      HasSubstr(" --suite suite.toml --out out --set evaluation.items=80")));
  EXPECT_TRUE(fs::exists(path("out/table.txt")));

  RunningProgram killed(path(), arguments("out", kMore));
  ASSERT_TRUE(killed.wait_until([&] { return lines_in(path("out/responses/grids-40-dynamic.jsonl")) >= 8; }));
  killed.send(SIGKILL);
  killed.wait();
  write("out/responses/grids-40-dynamic.jsonl", read("out/responses/grids-40-dynamic.jsonl") + R"({"id":"12)");
  ASSERT_THAT(eval("out", kMore), prints());
  EXPECT_EQ(records("out"), records("whole"));

  EXPECT_THAT(drift("eval diff whole out"), prints("exact McNemar", Not(HasSubstr("items changed"))));
}

TEST_F(EvalSuite, OneFolderHoldsOneEvaluation) {
  ASSERT_EQ(eval("out", "--tasks more").status, 0);
  EXPECT_THAT(eval("out", "--set evaluation.rollout.threshold=0.5"),
              mistake("evaluation.rollout.threshold: 0.9 there, 0.5 here", "choose another folder with --out",
                      "in 2 of 6 cells"));
  EXPECT_THAT(drift("eval " + source("assets/sudoku-dream") + " --suite suite.toml --out out"),
              mistake("another checkpoint"));
}

TEST_F(EvalSuite, TasksCanBeAnsweredOneByOne) {
  ASSERT_EQ(eval("out", "--tasks more").status, 0);
  EXPECT_THAT(read("out/cells.csv"), HasSubstr("\ngrids-20-static,grids,20,static,,"));
  ASSERT_EQ(eval("out", "--tasks grids").status, 0);
  const std::string cells = read("out/cells.csv");
  EXPECT_THAT(cells, Not(HasSubstr(",,,")));
  EXPECT_THAT(eval("out", "--tasks grid"), mistake("did you mean `grids`?"));
}

TEST_F(EvalSuite, MistakesOfAllCellsAreToldAtOnce) {
  write_suite("thresold = 0.5\n[task]\nblanks_hihg = 9\n");
  EXPECT_THAT(eval("out"), mistake("did you mean `threshold`?", "did you mean `blanks_high`?"));
  EXPECT_FALSE(fs::exists(path("out")));

  write_suite();
  EXPECT_THAT(eval("out", "--set evaluation.rollout.block=3").error,
              AllOf(HasSubstr("is not a multiple of"), HasSubstr("in 4 of 6 cells")));
  EXPECT_THAT(eval("out", "--config suite.toml").error, HasSubstr("--config and --suite do not go together"));
  EXPECT_THAT(drift("eval " + source("assets/sudoku-llada") + " --suite missing.toml").error,
              HasSubstr("cannot read `missing.toml`"));
}

TEST_F(EvalSuite, ResponsesCanBeScoredAgain) {
  ASSERT_EQ(eval("out", "--tasks more").status, 0);
  const auto now =
      printed_lines(drift("reward sudoku --set reward.answer=raw --in out/responses/more-20-dynamic.jsonl --json"));
  const auto then = responses_in("out", "more-20-dynamic");
  ASSERT_EQ(now.size(), 24u);
  for (std::size_t i = 0; i < now.size(); ++i) {
    EXPECT_EQ(now[i].at("id"), then.at(i).at("id"));
    EXPECT_EQ(now[i].at("score"), then.at(i).at("value"));
    EXPECT_EQ(now[i].at("reason"), then.at(i).at("reason"));
  }
}

TEST_F(EvalSuite, TheDifferenceOfTwoEvaluationsNamesTheItems) {
  ASSERT_EQ(eval("greedy", "--tasks more").status, 0);
  ASSERT_EQ(eval("drawn", "--tasks more --set evaluation.rollout.temperature=1.0").status, 0);
  ASSERT_THAT(drift("eval diff greedy drawn"), prints("before  greedy", "more-20-dynamic     24"));
  const auto cell =
      printed_json(drift("eval diff greedy/responses/more-20-static.jsonl drawn/responses/more-20-static.jsonl --json"))
          .at("cells")
          .at(0);
  EXPECT_EQ(cell.at("items"), 24);
  EXPECT_GT(cell.at("other_responses"), 0);
  EXPECT_EQ(cell.at("changes").size(), cell.at("better").get<std::size_t>() + cell.at("worse").get<std::size_t>());

  ASSERT_EQ(eval("fewer", "--tasks more --set evaluation.items=20").status, 0);
  EXPECT_THAT(drift("eval diff greedy fewer"), fails("not of the same items", "only the first has", "(4)"));
  EXPECT_EQ(drift("eval diff greedy").status, 2);
}

TEST_F(EvalSuite, OneTaskKeepsItsResponsesToo) {
  const std::string command = "eval " + source("assets/sudoku-llada") + " --config " +
                              source("configs/tasks/sudoku.toml") + " --out one --set evaluation.items=";
  ASSERT_THAT(drift(command + "10"), prints("held-out items       10\n", "solved", "one/responses/sudoku-20.jsonl"));
  const std::string ten = read("one/responses/sudoku-20.jsonl");
  ASSERT_EQ(drift(command + "12").status, 0);
  EXPECT_THAT(read("one/responses/sudoku-20.jsonl"), StartsWith(ten));
  EXPECT_EQ(lines_in(path("one/responses/sudoku-20.jsonl")), 12u);
}

}  // namespace drift::eval_suite_test
