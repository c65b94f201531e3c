// `drift reward`: stored responses, judged again.

#include "tests/support/support.h"

#include <nlohmann/json.hpp>

#include <gmock/gmock.h>

#include <sstream>

namespace drift::reward_test {
namespace {

using testing::HasSubstr;

// A puzzle with one empty cell; the reference is what the task writes, or what a dataset's record holds.
const std::string kRecords =
    R"({"id": "a", "response": "<answer>3142 2431 1324 4213</answer>", "reference": {"puzzle": "3102243113244213", "solution": "3142243113244213"}}

{"id": "b", "response": "<answer>3112 2431 1324 4213</answer>", "reference": {"puzzle": "3102243113244213", "solution": "3142243113244213"}}
{"id": "c", "response": "no answer", "truncated": true, "reference": "{\"puzzle\": \"3102243113244213\", \"solution\": \"3142243113244213\"}"}
)";

struct RewardCommand : ::testing::Test {
  RewardCommand() { test::write_file(folder.path() / "responses.jsonl", kRecords); }
  test::CommandResult reward(const std::string& arguments) const {
    return test::run_command("cd " + folder.path().string() + " && " + test::program().string() + " reward " +
                             arguments);
  }
  test::TemporaryFolder folder;
};

TEST_F(RewardCommand, PrintsScoreVerdictAndReasonOfEachRecord) {
  const auto result = reward("sudoku --in responses.jsonl --set 'reward.answer=\"tags\"'");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("a       1.000  solved"));
  EXPECT_THAT(result.output, HasSubstr("b       0.000  wrong"));
  EXPECT_THAT(result.output, HasSubstr("c       0.000  no answer"));
  EXPECT_THAT(result.output, HasSubstr("3 records: mean score 0.3333, solved 1 (33.33 %)"));
}

TEST_F(RewardCommand, PrintsOneObjectARecord) {
  const auto result = reward("sudoku --in responses.jsonl --json --set 'reward.answer=\"tags\"'");
  EXPECT_EQ(result.status, 0) << result.error;
  std::istringstream lines(result.output);
  std::vector<nlohmann::json> records;
  for (std::string line; std::getline(lines, line);) records.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0]["score"], 1);
  EXPECT_EQ(records[0]["solved"], true);
  EXPECT_EQ(records[1]["status"], "wrong");
  EXPECT_FALSE(records[1]["reason"].get<std::string>().empty());
  EXPECT_EQ(records[2]["id"], "c");
}

TEST_F(RewardCommand, AFileAddsFurtherRewards) {
  test::write_file(folder.path() / "rewards.toml", R"([reward]
answer = "tags"
weight = 2.0
[reward.added.cells]
name = "sudoku"
answer = "tags"
score = "cells"
weight = 0.5
)");
  const auto result = reward("sudoku --in responses.jsonl --config rewards.toml");
  EXPECT_EQ(result.status, 0) << result.error;
  EXPECT_THAT(result.output, HasSubstr("a       2.500  solved"));
  EXPECT_THAT(result.output, HasSubstr("cells"));
  EXPECT_THAT(result.output, HasSubstr("weight 0.5"));
}

// A number that a double does not hold would make another number right.
TEST_F(RewardCommand, NumbersKeepTheirDigits) {
  struct Case {
    std::string answer, fields;
    bool solved;
  };
  std::vector<Case> cases = {{"12345678901234568", R"("reference": 12345678901234567.0)", false},
                             {"0.00005", R"("reference": 5e-05)", true},
                             {"27", R"("reference": 27.0)", true},
                             {"10^{-400}", R"("reference": 1e-400)", true},
                             {"0", R"("reference": 1e-400)", false},
                             {"4", R"("ground_truth_answer": 4, "reference": null)", true}};
  for (const std::string number : {"18446744073709551617", "-9223372036854775809", "100000000000000000000000001",
                                   "12345678901234567.0", "0.1234567890123456789"}) {
    for (const std::string& fields :
         {"\"reference\": " + number, "\"ground_truth_answer\": " + number,
          R"("reference": {"level": 5, "answer": )" + number + "}", "\"r\\u0065ference\": " + number}) {
      cases.push_back({number, fields, true});
      for (const char* other :
           {"18446744073709551616", "-9223372036854775808", "100000000000000000000000000", "12345678901234568", "0"})
        cases.push_back({other, fields, false});
    }
  }
  std::string records;
  for (const Case& one : cases) records += R"({"response": "\\boxed{)" + one.answer + "}\", " + one.fields + "}\n";
  test::write_file(folder.path() / "numbers.jsonl", records);
  const auto result = reward("math --in numbers.jsonl --json");
  ASSERT_EQ(result.status, 0) << result.error;
  std::istringstream lines(result.output);
  for (const Case& one : cases) {
    std::string line;
    std::getline(lines, line);
    EXPECT_EQ(nlohmann::json::parse(line)["solved"], one.solved) << one.answer << " for " << one.fields;
  }
}

TEST_F(RewardCommand, NamesKeepTheirDigits) {
  test::write_file(folder.path() / "ids.jsonl",
                   R"({"id": 18446744073709551616, "response": "\\boxed{4}", "reference": "4"})"
                   "\n"
                   R"({"id": 18446744073709551617, "response": "\\boxed{4}", "reference": "4"})");
  const auto result = reward("math --in ids.jsonl");
  EXPECT_THAT(result.output, HasSubstr("18446744073709551616  1.000"));
  EXPECT_THAT(result.output, HasSubstr("18446744073709551617  1.000"));
}

// Programs are judged by several workers; what is printed has the order of the file.
TEST_F(RewardCommand, ProgramsKeepTheirOrder) {
  std::ostringstream records;
  for (int i = 0; i < 12; ++i) {
    const std::string code = "```python\ndef f(x):\n    return x + " + std::to_string(i % 3) + "\n```";
    records << nlohmann::json{{"id", i}, {"response", code}, {"test_list", {"assert f(1) == 2"}}} << "\n";
  }
  test::write_file(folder.path() / "programs.jsonl", records.str());
  const auto result = reward("code --in programs.jsonl --json --set reward.unsafe=true --set reward.workers=6");
  EXPECT_EQ(result.status, 0) << result.error;
  std::istringstream lines(result.output);
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    const auto record = nlohmann::json::parse(line);
    EXPECT_EQ(record["id"], std::to_string(number));
    EXPECT_EQ(record["score"], number % 3 == 1 ? 1 : 0) << line;
  }
  EXPECT_EQ(number, 12);
}

// One reference that cannot be read leaves the others their verdict.
TEST_F(RewardCommand, ABadReferenceIsOneRecordsMatter) {
  test::write_file(folder.path() / "mixed.jsonl", R"({"response": "\\boxed{18}", "reference": "18"}
{"response": "\\boxed{18}", "reference": ""}
{"response": "\\boxed{3, 4}", "reference": [3, 4]}
{"response": "</think>\\boxed{5}", "reference": "5"}
)");
  const auto result = reward("math --in mixed.jsonl");
  EXPECT_EQ(result.status, 1);
  EXPECT_THAT(result.output, HasSubstr("1       1.000  solved"));
  EXPECT_THAT(result.output, HasSubstr("2       0.000  not judged"));
  EXPECT_THAT(result.output, HasSubstr("the reference of item 2 is empty"));
  EXPECT_THAT(result.output, HasSubstr("the reference of item 3 is a list of 2 answers: write one, or truths"));
  EXPECT_THAT(result.output, HasSubstr("2 records could not be judged"));
  EXPECT_THAT(result.output, HasSubstr("2 records: mean score 1.0000, solved 2 (100.00 %)"));
  const auto after = reward("math --in mixed.jsonl --set 'reward.after=\"</think>\"' --set 'reward.truths=\"all\"'");
  EXPECT_THAT(after.output, HasSubstr("1       0.000  no answer   the response has no </think>"));
  EXPECT_THAT(after.output, HasSubstr("4       1.000  solved"));
}

TEST_F(RewardCommand, MistakesSayWhereAndWhatToDo) {
  EXPECT_EQ(reward("sudoku").status, 2);
  EXPECT_THAT(reward("sudoku").error, HasSubstr("expects --in FILE.jsonl"));
  const auto unknown = reward("sudok --in responses.jsonl");
  EXPECT_EQ(unknown.status, 2);
  EXPECT_THAT(unknown.error, HasSubstr("did you mean `sudoku`?"));
  test::write_file(folder.path() / "bad.jsonl", R"({"reference": "4"})");
  const auto bad = reward("sudoku --in bad.jsonl");
  EXPECT_EQ(bad.status, 1);
  EXPECT_THAT(bad.error, HasSubstr("bad.jsonl:1: `response` is missing"));
  EXPECT_THAT(reward("sudoku --in missing.jsonl").error, HasSubstr("cannot read missing.jsonl"));
  test::write_file(folder.path() / "none.jsonl", "\n");
  EXPECT_THAT(reward("sudoku --in none.jsonl").error, HasSubstr("holds no record"));
}

}  // namespace
}  // namespace drift::reward_test
