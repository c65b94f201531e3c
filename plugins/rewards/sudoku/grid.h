#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sudoku {

/// 16 digits, row by row. In a puzzle '0' is an empty cell; in an answer any digit may stand anywhere.
using Grid = std::array<char, 16>;

struct Puzzle {
  Grid clues;
  Grid solution;  ///< one of them, where there are several
};

/// All 288 grids that keep the rules, in lexicographic order.
const std::vector<Grid>& all_grids();

/// 60 of the 288 grids are held out: no training puzzle has one of them as a solution.
bool is_held_out(std::size_t grid);

/// The grids, as indices into all_grids(), that have every clue of `clues`.
std::vector<std::size_t> solutions(const Grid& clues);

/// "row 2 holds 3 more than once": the first rule that a grid of digits breaks; empty if it breaks none.
std::string broken_rule(const Grid& grid);

/// "r1c3": row 1, column 3.
std::string cell_name(std::size_t cell);

std::size_t count_blanks(const Grid& clues);

/// 16 characters from '0' to '4', else nothing.
std::optional<Grid> parse_grid(std::string_view text);

/// The 16 digits.
std::string to_text(const Grid& grid);

/// Four lines without a newline at the end; `separator` stands between the digits of a line.
std::string to_lines(const Grid& grid, std::string_view separator);

}  // namespace sudoku
