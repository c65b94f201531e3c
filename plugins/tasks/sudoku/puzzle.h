#pragma once

#include "grid.h"

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drift::sudoku {

struct Puzzle {
  Grid clues;
  Grid solution;  ///< one of them, if there are several
};

/// All 288 grids that keep the rules, in lexicographic order.
const std::vector<Grid>& all_grids();

/// 60 of the 288 grids are held out: no training puzzle has one of them as a solution.
bool is_held_out(std::size_t grid);

/// The grids, as indices into all_grids(), that have every clue of `clues`.
std::vector<std::size_t> solutions(const Grid& clues);

/// The 16 digits.
std::string to_text(const Grid& grid);

/// Four lines without a newline at the end; `separator` stands between the digits of a line.
std::string to_lines(const Grid& grid, std::string_view separator);

/// Puzzles of a CSV file with the header Puzzle,Solution and 16 digits in either column.
/// @throws Error naming the line that is not so, whose solution does not solve its puzzle, or that repeats one.
std::vector<Puzzle> read_puzzle_file(const std::filesystem::path& path);

/// The names of the prompts: what [task] prompt may be.
std::vector<std::string> prompt_names();

/// The question that a model reads, without the words and turns of [prompt]. `name` is one of prompt_names():
/// raw: for the quickstart's small model, the grid between two special tokens, 21 tokens;
/// paper: the RLDF paper's appendix, whose bytes are not published: where it has typographic signs this has ASCII, and
/// ** for bold;
/// d1: its training and evaluation; espo, espo_eval: ESPO's training and evaluation.
std::string prompt_of(const Grid& clues, const std::string& name);

}  // namespace drift::sudoku
