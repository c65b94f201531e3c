#include <drift/plugin.h>

#include "reward.h"
#include "task.h"

DRIFT_PLUGIN("sudoku", "1.0.0", "Apache-2.0") {
  registry.add<sudoku::SudokuTask>(
      "sudoku", "Random 4x4 Sudoku puzzles; held out are those over 60 of the 288 grids, or a file's.",
      sudoku::SudokuTask::parameters());
  registry.add<sudoku::SudokuReward>("sudoku", "Judges a 4x4 Sudoku grid by the rules or by the stored solution.",
                                     sudoku::SudokuReward::parameters());
}
