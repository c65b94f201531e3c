#include "puzzle.h"

#include <map>

namespace drift::sudoku {
namespace {

// How a prompt shows the puzzle.
struct Prompt {
  std::string before;
  std::string after;
  bool in_lines = false;
  std::string_view separator = {};  // between the digits of a line
};

constexpr const char* kPaper =
    R"(Please solve the following 4x4 Sudoku puzzle. The puzzle is provided as a 4x4 grid where '0' represents empty cells.

**Rules:**
- Fill empty cells with digits 1-4.
- Each row must contain digits 1-4 exactly once.
- Each column must contain digits 1-4 exactly once.
- Each 2x2 box must contain digits 1-4 exactly once.

**Example:**
Puzzle:
0 4 0 1
0 0 2 0
1 0 0 3
0 3 1 0

Solution:
2 4 3 1
3 1 2 4
1 2 4 3
4 3 1 2

**Important:** Your solution must be a complete 4x4 grid using only digits 1-4, with each row on a new line and digits separated by single spaces.

Respond in this exact format:
<reasoning>
Your step-by-step solving process
</reasoning>
<answer>
row1
row2
row3
row4
</answer>

Now solve this puzzle:
Puzzle:
)";

constexpr const char* kD1 = R"(
Please solve the following 4x4 Sudoku puzzle. The puzzle is provided as a 16-character string reading left-to-right, top-to-bottom, where '0' represents empty cells.

Rules:
- Fill empty cells with digits 1-4
- Each row must contain digits 1-4 exactly once
- Each column must contain digits 1-4 exactly once
- Each 2x2 box must contain digits 1-4 exactly once

Important: Your solution must be a COMPLETE 16-character string with only the digits 1-4, representing your final solved grid.

Respond in this exact format:
<reasoning>
Your step-by-step solving process
</reasoning>
<answer>
[16-character solution string with no spaces or separators]
</answer>
)";

constexpr const char* kEspo = R"(
Please solve the following 4x4 Sudoku puzzle. The puzzle is provided as a 16-character string reading left-to-right, top-to-bottom, where '0' represents empty cells.

**Rules:**
- Fill empty cells with digits 1-4.
- Each row must contain digits 1-4 exactly once.
- Each column must contain digits 1-4 exactly once.
- Each 2x2 box must contain digits 1-4 exactly once.

**Example:**
Puzzle: 0401002010030310
This puzzle grid looks like this:
0 4 | 0 1
0 0 | 2 0
----+----
1 0 | 0 3
0 3 | 1 0

Solution: 2431312412434312
The solved grid looks like this:
2 4 | 3 1
3 1 | 2 4
----+----
1 2 | 4 3
4 3 | 1 2

**Important:** Your solution must be a COMPLETE 16-character string with only the digits 1-4, representing your final solved grid.

Respond in this exact format:
<reasoning>
Your step-by-step solving process
</reasoning>
<answer>
[16-character solution string with no spaces or separators]
</answer>
)";

const std::map<std::string, Prompt>& prompts() {
  static const std::map<std::string, Prompt> prompts = {
      {"raw", {"<|startoftext|>", "<|sep|>", true}},
      {"paper", {kPaper, "", true, " "}},
      {"d1", {std::string(kD1) + "\n\nSolve the following Sudoku puzzle: ", "\n"}},
      {"espo", {std::string(kEspo) + "\n\nNow, solve the following Sudoku puzzle: ", "\n"}},
      {"espo_eval", {std::string(kEspo) + "\n\nSolve the following Sudoku puzzle: ", "\n"}}};
  return prompts;
}

}  // namespace

std::vector<std::string> prompt_names() {
  std::vector<std::string> names;
  for (const auto& [name, prompt] : prompts()) names.push_back(name);
  return names;
}

std::string prompt_of(const Grid& clues, const std::string& name) {
  const Prompt& prompt = prompts().at(name);
  return prompt.before + (prompt.in_lines ? to_lines(clues, prompt.separator) : to_text(clues)) + prompt.after;
}

}  // namespace drift::sudoku
