// Task `sudoku`: where the quickstart's puzzles come from.

#include <core/text/tokenizer.h>
#include <drift/error.h>

#include "tests/support/sudoku.h"
#include "tests/support/support.h"
#include "tests/support/tasks.h"

namespace drift::sudoku_task_test {

using test::held_out_items;
using test::make_sudoku;
using test::puzzle_of;
using test::solution_of;
using test::training_items;
using testing::HasSubstr;

std::set<std::string> solution_grids(const std::vector<TaskItem>& items) {
  std::set<std::string> grids;
  for (const TaskItem& item : items) grids.insert(solution_of(item));
  return grids;
}

// The 60 grids, seen from outside: enough held-out puzzles show them all.
std::set<std::string> held_out_grids() {
  return solution_grids(held_out_items(*make_sudoku<Task>({{"held_out_size", std::int64_t{2000}}})));
}

std::size_t blanks(const std::string& puzzle) {
  return static_cast<std::size_t>(std::count(puzzle.begin(), puzzle.end(), '0'));
}

// The share of `hits` is `expected` within four standard errors.
void expect_share(std::size_t hits, std::size_t count, double expected, const std::string& of) {
  const double share = static_cast<double>(hits) / static_cast<double>(count);
  EXPECT_NEAR(share, expected, 4 * std::sqrt(expected * (1 - expected) / static_cast<double>(count))) << of;
}

std::string error_of(const std::map<std::string, Parameter::Value>& values) {
  return test::error_of([&] { make_sudoku<Task>(values); });
}

TEST(SudokuTask, AnItemIsAGridBetweenTwoSpecialTokens) {
  TaskItem item;
  make_sudoku<Task>()->held_out_item(0, item);
  EXPECT_EQ(item.prompt, "<|startoftext|>" + test::lines(puzzle_of(item)) + "<|sep|>");
  EXPECT_EQ(item.id, puzzle_of(item) + "-" + solution_of(item));
  EXPECT_EQ(item.demonstration, "") << "no held-out puzzle may have an answer to imitate";
}

TEST(SudokuTask, PromptsHaveTwentyOneTokensAndResponsesTwenty) {
  const Tokenizer tokenizer = Tokenizer::open(test::source_dir() / "assets" / "sudoku-llada");
  for (const TaskItem& item : training_items(*make_sudoku<Task>(), 200)) {
    EXPECT_EQ(tokenizer.encode(item.prompt).size(), 21u);
    EXPECT_EQ(tokenizer.encode(item.demonstration + "<|endoftext|>").size(), 20u);
  }
}

TEST(SudokuTask, EveryPuzzleHasExactlyOneSolution) {
  const auto task = make_sudoku<Task>({{"blanks_low", std::int64_t{4}}, {"blanks_high", std::int64_t{12}}});
  auto items = training_items(*task, 1000);
  const auto held_out = held_out_items(*task);
  items.insert(items.end(), held_out.begin(), held_out.end());
  for (const TaskItem& item : items) {
    EXPECT_THAT(test::solve(puzzle_of(item)), testing::ElementsAre(solution_of(item)));
    EXPECT_THAT(blanks(puzzle_of(item)), testing::AllOf(testing::Ge(4u), testing::Le(12u)));
  }
}

TEST(SudokuTask, TrainingAndHeldOutPuzzlesShareNoSolution) {
  const auto all = test::solve(std::string(16, '0'));
  ASSERT_EQ(all.size(), 288u);
  const auto held_out = held_out_grids();
  const auto training = solution_grids(training_items(*make_sudoku<Task>(), 10000));
  EXPECT_EQ(held_out.size(), 60u);
  EXPECT_EQ(training.size(), 228u);
  std::set<std::string> both = held_out;
  both.insert(training.begin(), training.end());
  EXPECT_EQ(both, std::set<std::string>(all.begin(), all.end()));
}

TEST(SudokuTask, PuzzlesWithSeveralSolutionsKeepAllOfThemOnOneSide) {
  const auto task =
      make_sudoku<Task>({{"unique", false}, {"blanks_low", std::int64_t{8}}, {"held_out_size", std::int64_t{200}}});
  const auto held_out = held_out_grids();
  const auto count_of_several = [&](const std::vector<TaskItem>& items, std::size_t expected_in_held_out) {
    int several = 0;
    for (const TaskItem& item : items) {
      const auto solutions = test::solve(puzzle_of(item));
      several += solutions.size() > 1;
      for (const auto& solution : solutions) EXPECT_EQ(held_out.count(solution), expected_in_held_out);
    }
    return several;
  };
  EXPECT_GT(count_of_several(training_items(*task, 1000), 0), 50);
  EXPECT_GT(count_of_several(held_out_items(*task), 1), 0);
}

TEST(SudokuTask, BothSidesHaveEveryRelabellingClass) {
  const auto classes = [](const std::set<std::string>& grids) {
    std::set<std::string> found;
    for (std::string grid : grids) {
      std::map<char, char> name;
      for (char& digit : grid) digit = name.emplace(digit, static_cast<char>('1' + name.size())).first->second;
      found.insert(grid);
    }
    return found.size();
  };
  EXPECT_EQ(classes(held_out_grids()), 12u);
  EXPECT_EQ(classes(solution_grids(training_items(*make_sudoku<Task>(), 10000))), 12u);
}

TEST(SudokuTask, TheSplitAndTheHeldOutPuzzlesArePinned) {
  EXPECT_EQ(test::hash_of(held_out_grids()), 4208089776373548885u)
      << "another split makes published figures incomparable";
  std::set<std::string> ids;
  for (const TaskItem& item : held_out_items(*make_sudoku<Task>())) ids.insert(item.id);
  EXPECT_EQ(test::hash_of(ids), 111330443332512179u) << "and so do other puzzles";
}

// The items of configs/tasks/sudoku.toml, to the last byte.
TEST(SudokuTask, TheSmallModelsItemsArePinned) {
  std::set<std::string> texts;
  for (const auto& items : {training_items(*make_sudoku<Task>(), 2000), held_out_items(*make_sudoku<Task>())}) {
    for (const TaskItem& item : items) texts.insert(test::text_of(item));
  }
  EXPECT_EQ(test::hash_of(texts), 11813806010008587740u);
}

TEST(SudokuTask, ItemsAreAFunctionOfSeedAndIndexAndHeldOutOnesAreDistinctAndGrowAtTheEnd) {
  test::expect_items_of_seed_and_index(*make_sudoku<Task>(), *make_sudoku<Task>({{"held_out_size", std::int64_t{1}}}));
  std::set<std::string> ids;
  for (const TaskItem& item : held_out_items(*make_sudoku<Task>())) ids.insert(item.id);
  EXPECT_EQ(ids.size(), 400u);
  test::expect_held_out_items_to_grow(*make_sudoku<Task>(), *make_sudoku<Task>({{"held_out_size", std::int64_t{100}}}));
}

// Puzzles are drawn with a uniform number of blanks and thrown away when they have several solutions, so what is left
// shows how often random puzzles with so many blanks have one solution.
TEST(SudokuTask, BlanksAreAsFrequentAsUniqueSolutions) {
  const std::map<std::size_t, double> share_of_unique = {{4, .996}, {5, .985},  {6, .958},  {7, .895}, {8, .800},
                                                         {9, .656}, {10, .449}, {11, .237}, {12, .054}};
  double sum = 0;
  for (const auto& [count, share] : share_of_unique) sum += share;
  std::map<std::size_t, std::size_t> seen;
  const auto task = make_sudoku<Task>({{"blanks_low", std::int64_t{4}}, {"blanks_high", std::int64_t{12}}});
  for (const TaskItem& item : training_items(*task, 10000)) ++seen[blanks(puzzle_of(item))];
  for (const auto& [count, share] : share_of_unique) {
    expect_share(seen[count], 10000, share / sum, std::to_string(count) + " blanks");
  }
}

TEST(SudokuTask, DemonstrationsGetCarelessAsPuzzlesGetHard) {
  const std::map<std::size_t, double> share_of_correct = {{4, 1.0},  {5, .875}, {6, .725},  {7, .575},
                                                          {8, .425}, {9, .275}, {10, .125}, {11, .05}};
  const auto careless = [](const std::string& puzzle) {
    std::string answer = puzzle;
    for (std::size_t row = 0; row < 16; row += 4) {
      for (char digit = '1'; digit <= '4'; ++digit) {
        if (answer.substr(row, 4).find(digit) != std::string::npos) continue;
        answer[answer.find('0', row)] = digit;
      }
    }
    return answer;
  };
  EXPECT_EQ(careless("0030200400001000"), "1234213412341234");

  const auto task = make_sudoku<Task>({{"blanks_low", std::int64_t{4}}, {"blanks_high", std::int64_t{11}}});
  std::map<std::size_t, std::size_t> correct;
  std::map<std::size_t, std::size_t> judged;  // of an easy puzzle, both answers may be the same
  for (const TaskItem& item : training_items(*task, 10000)) {
    const std::string wrong = test::lines(careless(puzzle_of(item)));
    const std::string right = test::lines(solution_of(item));
    EXPECT_THAT(item.demonstration, testing::AnyOf(right, wrong));
    if (right == wrong) continue;
    ++judged[blanks(puzzle_of(item))];
    correct[blanks(puzzle_of(item))] += item.demonstration == right;
  }
  for (const auto& [count, share] : share_of_correct) {
    expect_share(correct[count], judged[count], share, std::to_string(count) + " blanks");
  }
}

// All puzzles over two held-out and two training grids, in a file.
struct PuzzleFile {
  test::TemporaryFolder folder;
  std::string path = (folder.path() / "puzzles.csv").string();
  std::vector<std::string> puzzles;

  PuzzleFile() {
    std::string lines = "Puzzle,Solution\n";
    for (const auto& items :
         {training_items(*make_sudoku<Task>({{"unique", false}}), 2), held_out_items(*make_sudoku<Task>())}) {
      for (std::size_t i = 0; i < 2; ++i) {
        puzzles.push_back(puzzle_of(items[i]));
        lines += puzzles.back() + "," + solution_of(items[i]) + "\n";
      }
    }
    test::write_file(path, lines);
  }
};

TEST(SudokuTask, AllPuzzlesOfAFileMayBeHeldOut) {
  const PuzzleFile file;
  const auto task = make_sudoku<Task>({{"held_out_file", file.path}, {"split", "puzzles"}});
  std::vector<std::string> held_out;
  for (const TaskItem& item : held_out_items(*task)) held_out.push_back(puzzle_of(item));
  EXPECT_EQ(held_out, file.puzzles);
  EXPECT_EQ(solution_grids(training_items(*task, 10000)).size(), 288u) << "every grid makes training puzzles";
}

TEST(SudokuTask, NoPuzzleOfAFileIsTrainedOn) {
  const std::int64_t one = 1;
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "puzzles.csv";
  // With one empty cell there are 288 x 16 puzzles. The file holds those whose empty cell is in the first row.
  std::string lines = "Puzzle,Solution\n";
  std::set<std::string> in_file;
  for (const auto& grid : test::solve(std::string(16, '0'))) {
    for (std::size_t cell = 0; cell < 4; ++cell) {
      std::string puzzle = grid;
      puzzle[cell] = '0';
      lines += puzzle + "," + grid + "\n";
      in_file.insert(puzzle);
    }
  }
  test::write_file(path, lines);
  const auto task = make_sudoku<Task>({{"held_out_file", path.string()},
                                       {"split", "puzzles"},
                                       {"held_out_size", one},
                                       {"blanks_low", one},
                                       {"blanks_high", one}});
  EXPECT_EQ(task->held_out_size(), 1);
  std::set<std::string> trained;
  for (const TaskItem& item : training_items(*task, 20000)) {
    EXPECT_EQ(in_file.count(puzzle_of(item)), 0u);
    trained.insert(puzzle_of(item));
  }
  EXPECT_GT(trained.size(), 3300u) << "of 3456";
}

TEST(SudokuTask, NoSolutionOfAFilesPuzzlesIsTrainedOn) {
  const PuzzleFile file;
  const auto task = make_sudoku<Task>({{"held_out_file", file.path}, {"split", "solutions"}, {"unique", false}});
  std::set<std::string> solutions;
  for (const auto& puzzle : file.puzzles) {
    for (const auto& solution : test::solve(puzzle)) solutions.insert(solution);
  }
  EXPECT_EQ(held_out_items(*task).size(), 4u);
  const auto items = training_items(*task, 5000);
  for (const TaskItem& item : items) {
    for (const auto& solution : test::solve(puzzle_of(item))) EXPECT_EQ(solutions.count(solution), 0u);
  }
  EXPECT_EQ(solution_grids(items).size(), 288 - solutions.size());
}

// The published test file, as the paper's protocol uses it.
TEST(SudokuTask, TheTestFileMayBeHeldOutWholly) {
  if (const auto missing = test::missing_data({"sudoku_4x4_test.csv"}); !missing.empty()) GTEST_SKIP() << missing;
  const auto file = test::data_file("sudoku_4x4_test.csv").string();
  const std::int64_t eight = 8, five_hundred = 500;
  std::map<std::string, Parameter::Value> values = {
      {"held_out_file", file}, {"held_out_size", five_hundred}, {"split", "puzzles"}, {"unique", false},
      {"blanks_low", eight},   {"blanks_high", eight},          {"prompt", "paper"}};
  const auto task = make_sudoku<Task>(values);
  std::set<std::string> held_out, solutions;
  for (const TaskItem& item : held_out_items(*task)) {
    held_out.insert(puzzle_of(item));
    for (const auto& solution : test::solve(puzzle_of(item))) solutions.insert(solution);
  }
  EXPECT_EQ(held_out.size(), 500u);
  for (const TaskItem& item : training_items(*task, 3000)) EXPECT_EQ(held_out.count(puzzle_of(item)), 0u);
  values["split"] = "solutions";
  for (const TaskItem& item : training_items(*make_sudoku<Task>(values), 500)) {
    EXPECT_EQ(solutions.count(solution_of(item)), 0u);
  }
}

TEST(SudokuTask, ImpossibleParametersAreErrors) {
  EXPECT_THAT(error_of({{"blanks_low", std::int64_t{8}}, {"blanks_high", std::int64_t{7}}}),
              HasSubstr("blanks_low = 8 is more than blanks_high = 7"));
  const std::int64_t one = 1;
  EXPECT_THAT(error_of({{"blanks_low", one}, {"blanks_high", one}, {"held_out_size", std::int64_t{1000}}}),
              HasSubstr("only 960 different puzzles"))
      << "60 grids with 16 cells each";
  EXPECT_THAT(error_of({{"split", "puzzles"}}), HasSubstr("split = \"puzzles\" needs a held_out_file"));
  EXPECT_THROW(make_sudoku<Task>({{"blanks_high", std::int64_t{13}}}), Error) << "no such puzzle has one solution";
}

TEST(SudokuTask, AFileOfPuzzlesIsReadWithCare) {
  const test::TemporaryFolder folder;
  const auto with = [&](const std::string& content) {
    const auto path = folder.path() / "puzzles.csv";
    test::write_file(path, content);
    return error_of({{"held_out_file", path.string()}});
  };
  const std::string held_out = *held_out_grids().begin();
  EXPECT_EQ(with("Puzzle,Solution\n0" + held_out.substr(1) + "," + held_out + "\n"), "");
  EXPECT_EQ(with("Puzzle,Solution\r\n0" + held_out.substr(1) + "," + held_out + "\r\n"), "");
  EXPECT_THAT(with("Puzzle,Solution\n"), HasSubstr("no puzzle of"));
  EXPECT_THAT(with(""), HasSubstr("no puzzle of"));
  EXPECT_THAT(with("0" + held_out.substr(1) + "," + held_out), HasSubstr(":1: the header `Puzzle,Solution` is"));
  std::string everything = "Puzzle,Solution\n";
  for (const auto& grid : test::solve(std::string(16, '0'))) everything += "0" + grid.substr(1) + "," + grid + "\n";
  test::write_file(folder.path() / "all.csv", everything);
  EXPECT_THAT(error_of({{"held_out_file", (folder.path() / "all.csv").string()}, {"split", "solutions"}}),
              HasSubstr("the held-out puzzles leave none to train on"));
  EXPECT_THAT(with("Puzzle,Solution\n0" + held_out.substr(1) + "," + held_out + "\n0" + held_out.substr(1) + "," +
                   held_out + "\n"),
              HasSubstr(":3: the puzzle of line 2 again"));
  EXPECT_THAT(with("Puzzle,Solution\n12,34\n"), HasSubstr(":2: this is not a puzzle and its solution"));
  EXPECT_THAT(with("Puzzle,Solution\n" + std::string(16, '0') + "," + std::string(16, '1')), HasSubstr(":2: "));
  EXPECT_THAT(with("Puzzle,Solution\n" + std::string(33, '\0')), HasSubstr(":2: "));
  EXPECT_THAT(error_of({{"held_out_file", (folder.path() / "missing.csv").string()}}), HasSubstr("cannot open"));
  EXPECT_THAT(error_of({{"held_out_file", folder.path().string()}}), HasSubstr("cannot open"));
}

TEST(SudokuTask, OfTheTestFileThePuzzlesThatAreWhollyHeldOutAreUsed) {
  if (const auto missing = test::missing_data({"sudoku_4x4_test.csv"}); !missing.empty()) GTEST_SKIP() << missing;
  const auto file = test::data_file("sudoku_4x4_test.csv").string();
  const auto items = held_out_items(*make_sudoku<Task>({{"held_out_file", file}}));
  EXPECT_EQ(items.size(), 83u);
  const auto held_out = held_out_grids();
  for (const TaskItem& item : items) {
    for (const auto& solution : test::solve(puzzle_of(item))) EXPECT_EQ(held_out.count(solution), 1u);
  }
}

}  // namespace drift::sudoku_task_test
