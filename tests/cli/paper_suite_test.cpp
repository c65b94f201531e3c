// The paper's evaluation from end to end, at the size of a test: seven tasks of 20 real records each, the prompts and
// rewards of configs/tasks, and a small random model with a real vocabulary.

#include <tests/support/real_vocabulary_model.h>
#include <tests/support/training_run.h>

#include <signal.h>

namespace drift::paper_suite_test {

using namespace test;
using namespace testing;

namespace fs = std::filesystem;

constexpr std::size_t kRecords = 20;

/// The published figures as if they were of the test's lengths.
const std::map<std::string, std::string> kBenchmarkLengths = {{",128,", ",8,"}};
const std::map<std::string, std::string> kPuzzleLengths = {{",256,", ",4,"}, {",512,", ",8,"}};

/// Why the test cannot run here; empty if it can.
std::string missing_part() {
  for (const char* plugin : {"dataset", "math", "code"}) {
    if (!fs::exists(build_dir() / ("lib/drift/plugins/lib" + std::string(plugin) + ".so")))
      return std::string("the plugin ") + plugin + " is not built";
  }
  return missing_data({"MATH500.json", "gsm8k_test.json", "HumanEval.json", "MBPP.json", "countdown_3_test.jsonl",
                       "sudoku_4x4_test.csv", "qwen/vocab.json", "qwen/merges.txt"});
}

std::string first_lines(const fs::path& file, std::size_t count) {
  std::istringstream lines(read_file(file));
  std::string text, line;
  for (std::size_t i = 0; i < count && std::getline(lines, line); ++i) text += line + "\n";
  return text;
}

class PaperSuite : public Test, public ProgramFolder {
 protected:
  void SetUp() override {
    if (const std::string missing = missing_part(); !missing.empty()) GTEST_SKIP() << missing;
    write_real_vocabulary_model(path("model"));
    for (const auto& [task, file] : std::map<std::string, std::string>{{"math500", "MATH500.json"},
                                                                       {"gsm8k", "gsm8k_test.json"},
                                                                       {"humaneval", "HumanEval.json"},
                                                                       {"mbpp", "MBPP.json"}}) {
      auto records = nlohmann::json::parse(read_file(data_file(file)));
      records.erase(records.begin() + kRecords, records.end());
      write_file(path(file), records.dump());
      write_task(task, "held_out_files = [\"" + file + "\"]\n");
    }
    // AMC 2023 in the hub's format; the problems are this project's own.
    write("amc23.jsonl", read_file(source_dir() / "tests/cli/data/contest_problems.jsonl"));
    write_task("amc23", "held_out_files = [\"amc23.jsonl\"]\n");
    write("countdown.jsonl", first_lines(data_file("countdown_3_test.jsonl"), kRecords));
    write_task("countdown-3", "held_out_file = \"countdown.jsonl\"\n");
    write("sudoku.csv", first_lines(data_file("sudoku_4x4_test.csv"), kRecords + 1));
    write_task("sudoku-4x4", "held_out_file = \"sudoku.csv\"\nheld_out_size = 20\n");
    write_suite();
  }

  void write_task(const std::string& task, const std::string& keys) const {
    write_file(path(task + ".toml"),
               "extends = [\"" + (source_dir() / "configs/tasks" / task).string() + ".toml\"]\n[task]\n" + keys);
  }

  /// The paper's file with this folder's tasks, and lengths that a test has time for.
  void write_suite() const {
    std::string suite = read_file(source_dir() / "configs/eval/paper.toml");
    const auto replace = [&](const std::string& from, const std::string& to) {
      ASSERT_NE(suite.find(from), suite.npos) << from;
      for (auto at = suite.find(from); at != suite.npos; at = suite.find(from, at + to.size()))
        suite.replace(at, from.size(), to);
    };
    replace("../tasks/", "");
    replace("[128, 256, 512]", "[8]");
    replace("[256, 512]", "[4, 8]");
    write("paper.toml", suite);
    std::istringstream figures(read_file(source_dir() / "configs/eval/published.csv"));
    std::string kept;
    for (std::string line; std::getline(figures, line); kept += line + "\n") {
      const bool puzzle = line.find(",Countdown,") != line.npos || line.find(",Sudoku,") != line.npos;
      for (const auto& [from, to] : puzzle ? kPuzzleLengths : kBenchmarkLengths) {
        if (const auto at = line.find(from); at != line.npos) line.replace(at, from.size(), to);
      }
    }
    write("published.csv", kept);
  }

  std::string arguments(const std::string& out) const {
    return "eval model --suite paper.toml --out " + out + " --set evaluation.rollout.block=4 --set model.dtype=float32";
  }
};

const std::vector<std::string> kCells = {"MATH500-8",   "GSM8K-8",     "AMC23-8",  "HumanEval-8", "MBPP-8",
                                         "Countdown-4", "Countdown-8", "Sudoku-4", "Sudoku-8"};

TEST_F(PaperSuite, AnswersSevenTasksAndContinuesWhereItWasStopped) {
  RunningProgram stopped(path(), arguments("out"));
  const fs::path second = path("out/responses/GSM8K-8-dynamic.jsonl");
  ASSERT_TRUE(stopped.wait_until([&] { return fs::exists(second) && fs::file_size(second) > 0; }))
      << stopped.output() << stopped.error();
  stopped.send(SIGINT);
  EXPECT_EQ(stopped.wait(), 130) << stopped.error();
  EXPECT_THAT(stopped.output(), HasSubstr("continue with  drift eval model --suite paper.toml --out out"));

  for (const std::string out : {"out", "whole"}) ASSERT_THAT(drift(arguments(out)), prints());
  for (const std::string& cell : kCells) {
    for (const char* schedule : {"-dynamic", "-static"}) {
      const auto own = responses_in("out", cell + schedule);
      EXPECT_EQ(own.size(), kRecords) << cell;
      EXPECT_EQ(own, responses_in("whole", cell + schedule)) << cell;
      for (const auto& record : own) {
        EXPECT_NE(record.at("status"), "not judged") << record;
        EXPECT_FALSE(record.at("reason").get<std::string>().empty() && !record.at("solved").get<bool>()) << record;
      }
    }
  }

  const std::string table = read("out/table.txt");
  EXPECT_THAT(table, AllOf(HasSubstr("Mathematics and code, dynamic\n"), HasSubstr("Planning\n"),
                           HasSubstr("Sudoku-8-static")));
  // This family's rows and no others: Dream's, whose differences at MATH500 are 39.8 - 36.8 and 39.4 - 36.2.
  EXPECT_THAT(table, AllOf(HasSubstr("\nDream-7B-Instruct "), HasSubstr("\nRLDF (ours) "), Not(HasSubstr("LLaDA"))));
  EXPECT_THAT(read("out/table.csv"),
              AllOf(HasSubstr("code,dynamic,Δ vs. Base,+3.0,"), HasSubstr("code,static,Δ vs. Base,+3.2,")));
  for (const char* file : {"table.csv", "table.tex", "cells.csv"}) EXPECT_TRUE(fs::exists(path("out") / file));

  EXPECT_THAT(drift("eval diff out whole"), prints(Not(HasSubstr("items changed"))));
}

TEST_F(PaperSuite, WhatIsStoredScoresAsItDid) {
  ASSERT_THAT(drift(arguments("out") + " --tasks MATH500,HumanEval,Countdown"), prints());
  for (const auto& [cell, reward] :
       std::map<std::string, std::string>{{"MATH500-8-static", "math"},
                                          {"HumanEval-8-static", "code"},
                                          {"Countdown-8-static", "countdown --set reward.answer=boxed"}}) {
    const auto now = printed_lines(drift("reward " + reward + " --in out/responses/" + cell + ".jsonl --json"));
    const auto then = responses_in("out", cell);
    ASSERT_EQ(now.size(), then.size()) << cell;
    for (std::size_t i = 0; i < then.size(); ++i) {
      EXPECT_EQ(now[i].at("score"), then[i].at("value")) << then[i];
      EXPECT_EQ(now[i].at("status"), then[i].at("status")) << then[i];
    }
  }
}

}  // namespace drift::paper_suite_test
