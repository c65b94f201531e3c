// The paper's evaluation from end to end, at the size of a test: seven tasks of 20 real records each, the prompts and
// rewards of configs/tasks, and a small random model with a real vocabulary.

#include <tests/support/real_vocabulary_model.h>
#include <tests/support/training_run.h>

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <signal.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace drift::paper_suite_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::size_t kRecords = 20;

/// The published figures as if they were of the test's lengths.
const std::map<std::string, std::string> kBenchmarkLengths = {{",128,", ",8,"}};
const std::map<std::string, std::string> kPuzzleLengths = {{",256,", ",4,"}, {",512,", ",8,"}};

/// Why the test cannot run here; empty if it can.
std::string missing_part() {
  for (const char* plugin : {"dataset", "math", "code"}) {
    if (!fs::exists(test::build_dir() / ("lib/drift/plugins/lib" + std::string(plugin) + ".so")))
      return std::string("the plugin ") + plugin + " is not built";
  }
  return test::missing_data({"MATH500.json", "gsm8k_test.json", "HumanEval.json", "MBPP.json", "countdown_3_test.jsonl",
                             "sudoku_4x4_test.csv", "qwen/vocab.json", "qwen/merges.txt"});
}

std::string first_lines(const fs::path& file, std::size_t count) {
  std::istringstream lines(test::read_file(file));
  std::string text, line;
  for (std::size_t i = 0; i < count && std::getline(lines, line); ++i) text += line + "\n";
  return text;
}

class PaperSuite : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string missing = missing_part(); !missing.empty()) GTEST_SKIP() << missing;
    test::write_real_vocabulary_model(folder() / "model");
    for (const auto& [task, file] : std::map<std::string, std::string>{{"math500", "MATH500.json"},
                                                                       {"gsm8k", "gsm8k_test.json"},
                                                                       {"humaneval", "HumanEval.json"},
                                                                       {"mbpp", "MBPP.json"}}) {
      auto records = nlohmann::json::parse(test::read_file(test::data_file(file)));
      records.erase(records.begin() + kRecords, records.end());
      test::write_file(folder() / file, records.dump());
      write_task(task, "held_out_files = [\"" + file + "\"]\n");
    }
    // AMC 2023 in the hub's format; the problems are this project's own.
    test::write_file(folder() / "amc23.jsonl",
                     test::read_file(test::source_dir() / "tests/cli/data/contest_problems.jsonl"));
    write_task("amc23", "held_out_files = [\"amc23.jsonl\"]\n");
    test::write_file(folder() / "countdown.jsonl", first_lines(test::data_file("countdown_3_test.jsonl"), kRecords));
    write_task("countdown-3", "held_out_file = \"countdown.jsonl\"\n");
    test::write_file(folder() / "sudoku.csv", first_lines(test::data_file("sudoku_4x4_test.csv"), kRecords + 1));
    write_task("sudoku-4x4", "held_out_file = \"sudoku.csv\"\nheld_out_size = 20\n");
    write_suite();
  }

  void write_task(const std::string& task, const std::string& keys) const {
    test::write_file(
        folder() / (task + ".toml"),
        "extends = [\"" + (test::source_dir() / "configs/tasks" / task).string() + ".toml\"]\n[task]\n" + keys);
  }

  /// The paper's file with this folder's tasks, and lengths that a test has time for.
  void write_suite() const {
    std::string suite = test::read_file(test::source_dir() / "configs/eval/paper.toml");
    const auto replace = [&](const std::string& from, const std::string& to) {
      ASSERT_NE(suite.find(from), suite.npos) << from;
      for (auto at = suite.find(from); at != suite.npos; at = suite.find(from, at + to.size()))
        suite.replace(at, from.size(), to);
    };
    replace("../tasks/", "");
    replace("[128, 256, 512]", "[8]");
    replace("[256, 512]", "[4, 8]");
    test::write_file(folder() / "paper.toml", suite);
    std::istringstream figures(test::read_file(test::source_dir() / "configs/eval/published.csv"));
    std::string kept;
    for (std::string line; std::getline(figures, line); kept += line + "\n") {
      const bool puzzle = line.find(",Countdown,") != line.npos || line.find(",Sudoku,") != line.npos;
      for (const auto& [from, to] : puzzle ? kPuzzleLengths : kBenchmarkLengths) {
        if (const auto at = line.find(from); at != line.npos) line.replace(at, from.size(), to);
      }
    }
    test::write_file(folder() / "published.csv", kept);
  }

  fs::path folder() const { return folder_.path(); }
  std::string arguments(const std::string& out) const {
    return "eval model --suite paper.toml --out " + out + " --set evaluation.rollout.block=4 --set model.dtype=float32";
  }
  test::CommandResult drift(const std::string& arguments) const {
    return test::run_command("cd " + folder().string() + " && " + test::program().string() + " " + arguments);
  }

  /// Records of a cell, but for how long they took.
  std::vector<nlohmann::json> records(const std::string& out, const std::string& cell) const {
    std::vector<nlohmann::json> all;
    std::istringstream lines(test::read_file(folder() / out / "responses" / (cell + ".jsonl")));
    for (std::string line; std::getline(lines, line);) {
      all.push_back(nlohmann::json::parse(line));
      all.back().erase("seconds");
    }
    return all;
  }

  test::TemporaryFolder folder_;
};

const std::vector<std::string> kCells = {"MATH500-8",   "GSM8K-8",     "AMC23-8",  "HumanEval-8", "MBPP-8",
                                         "Countdown-4", "Countdown-8", "Sudoku-4", "Sudoku-8"};

TEST_F(PaperSuite, AnswersSevenTasksAndContinuesWhereItWasStopped) {
  test::RunningProgram stopped(folder(), arguments("out"));
  const fs::path second = folder() / "out/responses/GSM8K-8-dynamic.jsonl";
  ASSERT_TRUE(stopped.wait_until([&] { return fs::exists(second) && fs::file_size(second) > 0; }))
      << stopped.output() << stopped.error();
  stopped.send(SIGINT);
  EXPECT_EQ(stopped.wait(), 130) << stopped.error();
  EXPECT_THAT(stopped.output(), HasSubstr("continue with  drift eval model --suite paper.toml --out out"));

  const auto resumed = drift(arguments("out")), whole = drift(arguments("whole"));
  ASSERT_EQ(resumed.status, 0) << resumed.output << resumed.error;
  ASSERT_EQ(whole.status, 0) << whole.output << whole.error;
  for (const std::string& cell : kCells) {
    for (const char* schedule : {"-dynamic", "-static"}) {
      const auto own = records("out", cell + schedule);
      EXPECT_EQ(own.size(), kRecords) << cell;
      EXPECT_EQ(own, records("whole", cell + schedule)) << cell;
      for (const auto& record : own) {
        EXPECT_NE(record.at("status"), "not judged") << record;
        EXPECT_FALSE(record.at("reason").get<std::string>().empty() && !record.at("solved").get<bool>()) << record;
      }
    }
  }

  const std::string table = test::read_file(folder() / "out/table.txt");
  EXPECT_THAT(table, AllOf(HasSubstr("Mathematics and code, dynamic\n"), HasSubstr("Planning\n"),
                           HasSubstr("Sudoku-8-static")));
  // This family's rows and no others: Dream's, whose differences at MATH500 are 39.8 - 36.8 and 39.4 - 36.2.
  EXPECT_THAT(table, AllOf(HasSubstr("\nDream-7B-Instruct "), HasSubstr("\nRLDF (ours) "), Not(HasSubstr("LLaDA"))));
  EXPECT_THAT(test::read_file(folder() / "out/table.csv"),
              AllOf(HasSubstr("code,dynamic,Δ vs. Base,+3.0,"), HasSubstr("code,static,Δ vs. Base,+3.2,")));
  for (const char* file : {"table.csv", "table.tex", "cells.csv"}) EXPECT_TRUE(fs::exists(folder() / "out" / file));

  const auto same = drift("eval diff out whole");
  EXPECT_EQ(same.status, 0) << same.error;
  EXPECT_THAT(same.output, Not(HasSubstr("items changed")));
}

TEST_F(PaperSuite, WhatIsStoredScoresAsItDid) {
  const auto made = drift(arguments("out") + " --tasks MATH500,HumanEval,Countdown");
  ASSERT_EQ(made.status, 0) << made.error;
  for (const auto& [cell, reward] :
       std::map<std::string, std::string>{{"MATH500-8-static", "math"},
                                          {"HumanEval-8-static", "code"},
                                          {"Countdown-8-static", "countdown --set reward.answer=boxed"}}) {
    const auto scored = drift("reward " + reward + " --in out/responses/" + cell + ".jsonl --json");
    ASSERT_EQ(scored.status, 0) << scored.error;
    std::istringstream lines(scored.output);
    for (const auto& record : records("out", cell)) {
      std::string line;
      ASSERT_TRUE(std::getline(lines, line)) << cell;
      const auto now = nlohmann::json::parse(line);
      EXPECT_EQ(now.at("score"), record.at("value")) << record;
      EXPECT_EQ(now.at("status"), record.at("status")) << record;
    }
  }
}

}  // namespace
}  // namespace drift::paper_suite_test
