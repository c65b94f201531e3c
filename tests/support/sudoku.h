#pragma once

// The Sudoku plugins as the program sees them, and an independent, naive idea of the game to check it against.

#include <drift/reward.h>
#include <drift/task.h>

#include <type_traits>

#include "tests/support/plugins.h"
#include "tests/support/support.h"

namespace drift::test {

/// Component `sudoku` of kind T with some parameters set.
template <class T>
std::unique_ptr<T> make_sudoku(const std::map<std::string, Parameter::Value>& values = {}) {
  return create<T>(std::is_same_v<T, Task> ? "sudoku_task" : "sudoku", "sudoku", values);
}

inline std::string puzzle_of(const TaskItem& item) { return nlohmann::json::parse(item.reference)["puzzle"]; }
inline std::string solution_of(const TaskItem& item) { return nlohmann::json::parse(item.reference)["solution"]; }

/// "1234…" -> "1234\n…", as the raw answer is written.
inline std::string lines(const std::string& grid) {
  return grid.substr(0, 4) + "\n" + grid.substr(4, 4) + "\n" + grid.substr(8, 4) + "\n" + grid.substr(12, 4);
}

/// Every way to fill the '0's of a puzzle, by trying all digits cell after cell.
inline void fill(std::string& grid, std::vector<std::string>& found) {
  const std::size_t cell = grid.find('0');
  if (cell == std::string::npos) {
    found.push_back(grid);
    return;
  }
  for (char digit = '1'; digit <= '4'; ++digit) {
    bool fits = true;
    for (std::size_t other = 0; other < 16; ++other) {
      const bool same_box = other / 8 == cell / 8 && other % 4 / 2 == cell % 4 / 2;
      if ((other / 4 == cell / 4 || other % 4 == cell % 4 || same_box) && grid[other] == digit) fits = false;
    }
    if (!fits) continue;
    grid[cell] = digit;
    fill(grid, found);
    grid[cell] = '0';
  }
}

inline std::vector<std::string> solve(std::string puzzle) {
  std::vector<std::string> found;
  fill(puzzle, found);
  return found;
}

}  // namespace drift::test
