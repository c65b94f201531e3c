#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace drift::sudoku {

/// 16 digits, row by row. In a puzzle '0' is an empty cell; in an answer any digit may stand anywhere.
using Grid = std::array<char, 16>;

/// 16 characters from '0' to '4', else nothing.
std::optional<Grid> parse_grid(std::string_view text);

std::size_t count_blanks(const Grid& clues);

/// Whether no cell of the same row, column or box has the digit.
bool fits(const Grid& grid, std::size_t cell, char digit);

/// "r1c3": row 1, column 3.
std::string cell_name(std::size_t cell);

/// The first cell whose clue `grid` does not have; the number of cells if it has all.
std::size_t changed_clue(const Grid& grid, const Grid& clues);

/// "row 2 holds 3 more than once": the first rule that a grid of digits breaks; empty if it breaks none.
std::string broken_rule(const Grid& grid);

/// Number of empty cells that are filled as in `solution`.
std::size_t count_right(const Grid& answer, const Grid& clues, const Grid& solution);

/// The same by that solution of the puzzle which fits the answer best.
std::size_t count_right_at_best(const Grid& answer, const Grid& clues);

}  // namespace drift::sudoku
