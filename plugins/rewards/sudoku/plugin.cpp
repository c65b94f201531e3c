#include <drift/plugin.h>

#include "reward.h"
#include "task.h"

DRIFT_PLUGIN("sudoku", "1.0.0", "Apache-2.0") {
  registry.add<sudoku::SudokuTask>("sudoku",
                                   "4x4 Sudoku puzzles over 228 grids; puzzles over the other 60 are held out.",
                                   sudoku::SudokuTask::parameters());
  registry.add<sudoku::SudokuReward>("sudoku", "Judges a 4x4 Sudoku grid by the rules or by the stored solution.",
                                     sudoku::SudokuReward::parameters());
}
