#include "prompt.h"

namespace sudoku {
namespace {

constexpr const char* kPaperInstruction =
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

}  // namespace

std::string raw_prompt(const Grid& clues) { return "<|startoftext|>" + to_lines(clues, "") + "<|sep|>"; }

std::string paper_prompt(const Grid& clues) { return kPaperInstruction + to_lines(clues, " "); }

}  // namespace sudoku
