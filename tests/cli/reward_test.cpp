// `drift reward`: stored responses, judged again.

#include <tests/support/program.h>

namespace drift::reward_test {

using namespace test;
using namespace testing;

// A puzzle with one empty cell; the reference is what the task writes, or what a dataset's record holds.
const std::string kRecords =
    R"({"id": "a", "response": "<answer>3142 2431 1324 4213</answer>", "reference": {"puzzle": "3102243113244213", "solution": "3142243113244213"}}

{"id": "b", "response": "<answer>3112 2431 1324 4213</answer>", "reference": {"puzzle": "3102243113244213", "solution": "3142243113244213"}}
{"id": "c", "response": "no answer", "truncated": true, "reference": "{\"puzzle\": \"3102243113244213\", \"solution\": \"3142243113244213\"}"}
)";

struct RewardCommand : public Test, public ProgramFolder {
  RewardCommand() { write("responses.jsonl", kRecords); }
  CommandResult reward(const std::string& arguments) const { return drift("reward " + arguments); }
};

TEST_F(RewardCommand, PrintsScoreVerdictAndReasonOfEachRecord) {
  EXPECT_THAT(reward("sudoku --in responses.jsonl --set 'reward.answer=\"tags\"'"),
              prints("a       1.000  solved", "b       0.000  wrong", "c       0.000  no answer",
                     "3 records: mean score 0.3333, solved 1 (33.33 %)"));
}

TEST_F(RewardCommand, PrintsOneObjectARecord) {
  const auto records = printed_lines(reward("sudoku --in responses.jsonl --json --set 'reward.answer=\"tags\"'"));
  ASSERT_EQ(records.size(), 3u);
  EXPECT_EQ(records[0]["score"], 1);
  EXPECT_EQ(records[0]["solved"], true);
  EXPECT_EQ(records[1]["status"], "wrong");
  EXPECT_FALSE(records[1]["reason"].get<std::string>().empty());
  EXPECT_EQ(records[2]["id"], "c");
}

TEST_F(RewardCommand, AFileAddsFurtherRewards) {
  write("rewards.toml", R"([reward]
answer = "tags"
weight = 2.0
[reward.added.cells]
name = "sudoku"
answer = "tags"
score = "cells"
weight = 0.5
)");
  EXPECT_THAT(reward("sudoku --in responses.jsonl --config rewards.toml"),
              prints("a       2.500  solved", "cells", "weight 0.5"));
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
  write("numbers.jsonl", records);
  const auto judged = printed_lines(reward("math --in numbers.jsonl --json"));
  ASSERT_EQ(judged.size(), cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i)
    EXPECT_EQ(judged[i].at("solved"), cases[i].solved) << cases[i].answer << " for " << cases[i].fields;
}

TEST_F(RewardCommand, NamesKeepTheirDigits) {
  write("ids.jsonl", R"({"id": 18446744073709551616, "response": "\\boxed{4}", "reference": "4"})"
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
  write("programs.jsonl", records.str());
  const auto judged =
      printed_lines(reward("code --in programs.jsonl --json --set reward.unsafe=true --set reward.workers=6"));
  ASSERT_EQ(judged.size(), 12u);
  for (std::size_t i = 0; i < judged.size(); ++i) {
    EXPECT_EQ(judged[i].at("id"), std::to_string(i));
    EXPECT_EQ(judged[i].at("score"), i % 3 == 1 ? 1 : 0) << judged[i];
  }
}

// One reference that cannot be read leaves the others their verdict.
TEST_F(RewardCommand, ABadReferenceIsOneRecordsMatter) {
  write("mixed.jsonl", R"({"response": "\\boxed{18}", "reference": "18"}
{"response": "\\boxed{18}", "reference": ""}
{"response": "\\boxed{3, 4}", "reference": [3, 4]}
{"response": "</think>\\boxed{5}", "reference": "5"}
)");
  EXPECT_THAT(reward("math --in mixed.jsonl"),
              finds("1       1.000  solved", "2       0.000  not judged", "the reference of item 2 is empty",
                    "the reference of item 3 is a list of 2 answers: write one, or truths",
                    "2 records could not be judged", "2 records: mean score 1.0000, solved 2 (100.00 %)"));
  const auto after = reward("math --in mixed.jsonl --set 'reward.after=\"</think>\"' --set 'reward.truths=\"all\"'");
  EXPECT_THAT(after.output, HasSubstr("1       0.000  no answer   the response has no </think>"));
  EXPECT_THAT(after.output, HasSubstr("4       1.000  solved"));
}

TEST_F(RewardCommand, MistakesSayWhereAndWhatToDo) {
  EXPECT_EQ(reward("sudoku").status, 2);
  EXPECT_THAT(reward("sudoku").error, HasSubstr("expects --in FILE.jsonl"));
  EXPECT_THAT(reward("sudok --in responses.jsonl"), mistake("did you mean `sudoku`?"));
  write("bad.jsonl", R"({"reference": "4"})");
  EXPECT_THAT(reward("sudoku --in bad.jsonl"), fails("bad.jsonl:1: `response` is missing"));
  EXPECT_THAT(reward("sudoku --in missing.jsonl").error, HasSubstr("cannot read missing.jsonl"));
  write("none.jsonl", "\n");
  EXPECT_THAT(reward("sudoku --in none.jsonl").error, HasSubstr("holds no record"));
}

}  // namespace drift::reward_test
