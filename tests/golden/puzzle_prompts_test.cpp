// The questions of Countdown and Sudoku in the words of the paper, d1 and ESPO, byte by byte.

#include <drift/task.h>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift::puzzle_prompts_test {

/// Title -> text.
std::map<std::string, std::string> golden_texts() {
  const std::string file = test::read_file(test::source_dir() / "tests/golden/puzzle_prompts.txt");
  const std::string mark = "\n=== ";
  std::map<std::string, std::string> texts;
  for (std::size_t at = file.find(mark); at != std::string::npos;) {
    const std::size_t title = at + mark.size(), text = file.find('\n', title) + 1;
    at = file.find(mark, text);
    const std::size_t end = at == std::string::npos ? file.find("\n===\n", text) : at;
    texts[file.substr(title, text - 1 - title)] = file.substr(text, end - text);
  }
  return texts;
}

/// The only item of a file of puzzles.
TaskItem item_of(const std::string& plugin, std::map<std::string, Parameter::Value> values, const std::string& file) {
  const test::TemporaryFolder folder;
  test::write_file(folder.path() / "puzzles", file);
  values["held_out_file"] = (folder.path() / "puzzles").string();
  TaskItem item;
  test::create<Task>(plugin + "_task", plugin, values)->held_out_item(0, item);
  return item;
}

TEST(PuzzlePrompts, AreTheOriginalsBytes) {
  std::map<std::string, std::string> made;
  for (const char* prompt : {"raw", "paper", "d1", "espo", "d1_eval"}) {
    made[std::string("countdown ") + prompt] =
        item_of("countdown", {{"prompt", prompt}}, R"({"input": "30,100,93", "output": "23"})").prompt;
  }
  for (const char* prompt : {"raw", "paper", "d1", "espo", "espo_eval"}) {
    made[std::string("sudoku ") + prompt] = item_of("sudoku", {{"prompt", prompt}, {"split", "puzzles"}},
                                                    "Puzzle,Solution\n3102200002100320,3142243142131324\n")
                                                .prompt;
  }
  for (const auto& [title, text] : golden_texts()) EXPECT_EQ(made[title], text) << title;
  EXPECT_EQ(made.size(), golden_texts().size());
}

TEST(PuzzlePrompts, OfThePaperCountTheNumbers) {
  EXPECT_THAT(item_of("countdown", {{"prompt", "paper"}}, R"({"input": "30,100,93,2", "output": "23"})").prompt,
              testing::HasSubstr("You are given 4 numbers: 30, 100, 93, 2. Your goal"));
}

TEST(PuzzlePrompts, OnlyRawOnesHaveDemonstrations) {
  for (const std::string plugin : {"countdown", "sudoku"}) {
    for (const char* prompt : {"raw", "paper", "d1", "espo"}) {
      TaskItem item;
      test::create<Task>(plugin + "_task", plugin, {{"prompt", prompt}})
          ->training_item(0, RandomStream(1, "items"), item);
      EXPECT_EQ(item.demonstration.empty(), std::string(prompt) != "raw") << plugin << " " << prompt;
    }
  }
}

}  // namespace drift::puzzle_prompts_test
