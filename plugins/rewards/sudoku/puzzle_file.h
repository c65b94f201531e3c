#pragma once

#include <filesystem>
#include <vector>

#include "grid.h"

namespace sudoku {

/// Puzzles of a CSV file with the header Puzzle,Solution and 16 digits in either column.
/// @throws drift::Error naming the line that is not so, whose solution does not solve its puzzle, or that repeats one.
std::vector<Puzzle> read_puzzle_file(const std::filesystem::path& path);

}  // namespace sudoku
