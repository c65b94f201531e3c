// Reward `sudoku`: what counts as a solved puzzle.

#include <drift/error.h>

#include "tests/support/reward_cases.h"
#include "tests/support/sudoku.h"
#include "tests/support/support.h"

namespace drift::sudoku_reward_test {

using test::make_sudoku;
using testing::HasSubstr;
using testing::StartsWith;
using Values = std::map<std::string, Parameter::Value>;

constexpr const char* kPuzzle = "0401002010030310";
constexpr const char* kSolution = "2431312412434312";

TaskItem item_of(const std::string& puzzle, const std::string& solution) {
  TaskItem item;
  item.id = puzzle;
  item.reference = nlohmann::json{{"puzzle", puzzle}, {"solution", solution}}.dump();
  return item;
}

RewardResult score(const std::string& response, const Values& values = {},
                   const TaskItem& item = item_of(kPuzzle, kSolution)) {
  RewardResult result;
  result.reason = "left over from the response before";
  make_sudoku<Reward>(values)->score({response, &item}, result);
  return result;
}

void expect(const RewardResult& result, double value, bool solved, RewardStatus status, const std::string& reason) {
  EXPECT_DOUBLE_EQ(result.value, value) << result.reason;
  EXPECT_EQ(result.solved, solved) << result.reason;
  EXPECT_EQ(result.status, status) << result.reason;
  EXPECT_THAT(result.reason, HasSubstr(reason));
}

TEST(SudokuReward, IsAsTheTableSays) { test::check_reward_cases("sudoku", item_of(kPuzzle, kSolution)); }

TEST(SudokuReward, AnySingleWrongCellIsRefused) {
  const std::string right = "2431\n3124\n1243\n4312";
  for (std::size_t i = 0; i < right.size(); ++i) {
    for (char digit = '0'; digit <= '9'; ++digit) {
      if (right[i] == '\n' || right[i] == digit) continue;
      std::string wrong = right;
      wrong[i] = digit;
      EXPECT_EQ(score(wrong).value, 0) << wrong;
      EXPECT_EQ(score(wrong).status, RewardStatus::kWrong) << wrong;
    }
  }
}

TEST(SudokuReward, EverySolutionOfAPuzzleIsAccepted) {
  const std::string puzzle = "1200000000000021";
  const auto solutions = test::solve(puzzle);
  ASSERT_GT(solutions.size(), 1u);
  const TaskItem item = item_of(puzzle, solutions[0]);
  for (const auto& solution : solutions) {
    const bool stored = solution == solutions[0];
    expect(score(test::lines(solution), {}, item), 1, true, RewardStatus::kOk, "solved");
    expect(score(test::lines(solution), {{"score", "grid_exact"}}, item), stored ? 1 : 0, stored,
           stored ? RewardStatus::kOk : RewardStatus::kWrong, stored ? "solved" : "not the stored solution");
    EXPECT_EQ(score(test::lines(solution), {{"score", "cells"}}, item).value, 1);
    EXPECT_EQ(score(test::lines(solution), {{"score", "cells_stored"}}, item).value == 1, stored);
  }
}

TEST(SudokuReward, CellsTakeTheNearestSolution) {
  const TaskItem item = item_of("1200000000000021", test::solve("1200000000000021")[0]);
  for (const auto& solution : test::solve("1200000000000021")) {
    std::string nearly = solution;
    nearly[2] = nearly[3];
    EXPECT_DOUBLE_EQ(score(test::lines(nearly), {{"score", "cells"}}, item).value, 11.0 / 12);
  }
}

TaskItem item_with(const std::string& reference, const std::string& question = {}) {
  TaskItem item;
  item.id = "the item";
  item.reference = reference;
  item.prompt = question;
  return item;
}

std::string record(const std::string& question, const std::string& truth) {
  return nlohmann::json{{"question", question}, {"ground_truth_answer", truth}}.dump();
}

TEST(SudokuReward, RecordsOfDataSetsAreReferences) {
  const std::string answer = "2431\n3124\n1243\n4312", other = "2431\n3124\n1243\n4321";
  const std::string with_spaces = "Puzzle:\n0 4 0 1\n0 0 2 0\n1 0 0 3\n0 3 1 0";
  for (const TaskItem& item :
       {item_with(record("Fill cells with digits 1-4 in the 4x4 grid: " + std::string(kPuzzle) + "\n", kSolution)),
        item_with(record("Example:\n1 2 3 4\n3 4 1 2\n0 0 0 0\n0 0 0 0\n" + with_spaces, "2431 3124 1243 4312")),
        item_with(kSolution, with_spaces), item_with("\"" + std::string(kSolution) + "\"", with_spaces),
        item_with(record("", kSolution), with_spaces)}) {
    for (const char* mode : {"grid_valid", "grid_exact", "cells", "cells_stored"}) {
      expect(score(answer, {{"score", mode}}, item), 1, true, RewardStatus::kOk, "solved");
    }
    expect(score(other, {{"score", "cells"}}, item), 8.0 / 9, false, RewardStatus::kWrong, "8 of 9 empty cells right");
  }
}

TEST(SudokuReward, ASolutionAloneIsComparedExactly) {
  const Values exact = {{"score", "grid_exact"}};
  for (const TaskItem& item : {item_with(kSolution), item_with(record("Solve it.", kSolution))}) {
    expect(score("2431\n3124\n1243\n4312", exact, item), 1, true, RewardStatus::kOk, "solved");
    expect(score("1234\n3412\n2143\n4321", exact, item), 0, false, RewardStatus::kWrong, "not the stored solution");
    for (const char* mode : {"grid_valid", "cells", "cells_stored"}) {
      EXPECT_THROW(score("2431\n3124\n1243\n4312", {{"score", mode}}, item), Error) << "the clues are not known";
    }
  }
}

TEST(SudokuReward, AForeignReferenceIsAnError) {
  const auto reward = make_sudoku<Reward>();
  RewardResult result;
  const auto error_of = [&](const TaskItem& item) {
    return test::error_of([&] { reward->score({"2431", &item}, result); });
  };
  for (const std::string reference :
       {"", "42", "{}", "[", R"({"puzzle": 1, "solution": 2})", R"({"puzzle": "12", "solution": "34"})",
        R"({"puzzle": "1030040102004003"})", "2431312412434311", "2431312412434310", R"({"ground_truth_answer": 5})"}) {
    EXPECT_THAT(error_of(item_with(reference, kPuzzle)), StartsWith("cannot read the reference of item the item | "))
        << reference;
  }
  EXPECT_THAT(error_of(item_with(kSolution)),
              StartsWith("item the item has a solution but no puzzle, in its reference or its question | "));
  EXPECT_THAT(error_of(item_with(record("0401002010030311", kSolution))),
              StartsWith("the reference of item the item is no solution of its puzzle 0401002010030311 | "));
  EXPECT_THROW(reward->score({"2431", nullptr}, result), Error);
}

TEST(SudokuReward, AnyBytesAreJudgedAndThreadsAgree) {
  const std::vector<std::string> words = {
      "2431\n3124\n", "1243\n4312", "1243\n4321",        "1234", "2143", "3", "\n", "\n", " ", "<answer>",
      "</answer>",    "\xC3",       std::string(1, '\0')};
  const TaskItem item = item_of(kPuzzle, kSolution);
  for (const Values& values :
       {Values{}, Values{{"answer", "tags"}, {"unclosed", "lenient"}}, Values{{"score", "cells"}}}) {
    const auto reward = make_sudoku<Reward>(values);
    const auto reasons = test::judge_any_bytes(*reward, item, words, 3, 24);
    if (values.count("answer") == 0) EXPECT_THAT(reasons, testing::Contains("solved"));
    if (values.count("score") > 0) EXPECT_THAT(reasons, testing::Contains(HasSubstr("empty cells right")));
    for (const char c : {'1', '\n', '<', '\0'}) {
      const std::string long_response(1 << 20, c);
      RewardResult result;
      reward->score({long_response, &item}, result);
      EXPECT_EQ(result.value, 0);
    }
  }
}

TEST(SudokuReward, TheTestFileIsJudgedRight) {
  if (const auto missing = test::missing_data({"sudoku_4x4_test.csv"}); !missing.empty()) GTEST_SKIP() << missing;
  std::istringstream lines(test::read_file(test::data_file("sudoku_4x4_test.csv")));
  std::string line;
  std::getline(lines, line);
  int puzzles = 0;
  int with_several_solutions = 0;
  while (std::getline(lines, line)) {
    const TaskItem item = item_of(line.substr(0, 16), line.substr(17, 16));
    const auto solutions = test::solve(line.substr(0, 16));
    ++puzzles;
    with_several_solutions += solutions.size() > 1;
    EXPECT_TRUE(score(test::lines(line.substr(17, 16)), {{"score", "grid_exact"}}, item).solved) << line;
    for (const auto& solution : solutions) {
      EXPECT_TRUE(score(test::lines(solution), {}, item).solved) << line;
      for (std::size_t cell = 0; cell < 16; ++cell) {
        std::string wrong = solution;
        wrong[cell] = wrong[cell] == '4' ? '1' : static_cast<char>(wrong[cell] + 1);
        EXPECT_FALSE(score(test::lines(wrong), {}, item).solved) << line << " " << wrong;
      }
    }
  }
  EXPECT_EQ(puzzles, 500);
  EXPECT_EQ(with_several_solutions, 124);
}

}  // namespace drift::sudoku_reward_test
