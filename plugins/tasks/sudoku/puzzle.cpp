#include "puzzle.h"

#include <drift/error.h>

#include <algorithm>
#include <fstream>
#include <map>

namespace drift::sudoku {
namespace {

// Indices into all_grids(), drawn once at random. Each of the 12 classes of grids that differ only in the names of the
// digits has members on both sides, so that held-out puzzles ask for unseen grids of seen symmetry classes.
constexpr std::array<std::size_t, 60> kHeldOut = {
    5,   7,   8,   12,  15,  20,  22,  45,  46,  55,  59,  63,  64,  73,  74,  76,  81,  90,  92,  97,
    101, 103, 106, 110, 111, 124, 126, 136, 150, 154, 158, 159, 166, 173, 181, 182, 201, 206, 207, 208,
    209, 210, 214, 219, 223, 226, 228, 237, 240, 245, 253, 258, 269, 272, 273, 278, 281, 282, 284, 287};

std::size_t row(std::size_t cell) { return cell / 4; }
std::size_t column(std::size_t cell) { return cell % 4; }
std::size_t box(std::size_t cell) { return row(cell) / 2 * 2 + column(cell) / 2; }

bool fits(const Grid& grid, std::size_t cell, char digit) {
  for (std::size_t other = 0; other < cell; ++other) {
    const bool sees = row(other) == row(cell) || column(other) == column(cell) || box(other) == box(cell);
    if (sees && grid[other] == digit) return false;
  }
  return true;
}

void fill_from(std::size_t cell, Grid& grid, std::vector<Grid>& found) {
  if (cell == grid.size()) {
    found.push_back(grid);
    return;
  }
  for (char digit = '1'; digit <= '4'; ++digit) {
    if (!fits(grid, cell, digit)) continue;
    grid[cell] = digit;
    fill_from(cell + 1, grid, found);
  }
}

bool keeps_clues(const Grid& grid, const Grid& clues) {
  for (std::size_t cell = 0; cell < grid.size(); ++cell) {
    if (clues[cell] != '0' && clues[cell] != grid[cell]) return false;
  }
  return true;
}

// 16 characters from '0' to '4', else nothing.
std::optional<Grid> parse_grid(std::string_view text) {
  Grid grid;
  if (text.size() != grid.size()) return std::nullopt;
  for (std::size_t cell = 0; cell < grid.size(); ++cell) {
    if (text[cell] < '0' || text[cell] > '4') return std::nullopt;
    grid[cell] = text[cell];
  }
  return grid;
}

// "0012…,3142…" -> a puzzle with its solution; nothing if the line is anything else.
std::optional<Puzzle> parse_line(std::string_view line) {
  if (line.size() != 33 || line[16] != ',') return std::nullopt;
  const auto clues = parse_grid(line.substr(0, 16));
  const auto solution = parse_grid(line.substr(17));
  if (!clues || !solution) return std::nullopt;
  const auto solves = [&](std::size_t grid) { return all_grids()[grid] == *solution; };
  const auto found = solutions(*clues);
  if (std::none_of(found.begin(), found.end(), solves)) return std::nullopt;
  return Puzzle{*clues, *solution};
}

}  // namespace

const std::vector<Grid>& all_grids() {
  static const std::vector<Grid> grids = [] {
    std::vector<Grid> found;
    Grid grid{};
    fill_from(0, grid, found);
    return found;
  }();
  return grids;
}

bool is_held_out(std::size_t grid) { return std::binary_search(kHeldOut.begin(), kHeldOut.end(), grid); }

std::vector<std::size_t> solutions(const Grid& clues) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < all_grids().size(); ++i) {
    if (keeps_clues(all_grids()[i], clues)) found.push_back(i);
  }
  return found;
}

std::size_t count_blanks(const Grid& clues) {
  return static_cast<std::size_t>(std::count(clues.begin(), clues.end(), '0'));
}

std::string to_text(const Grid& grid) { return {grid.begin(), grid.end()}; }

std::string to_lines(const Grid& grid, std::string_view separator) {
  std::string lines;
  for (std::size_t cell = 0; cell < grid.size(); ++cell) {
    if (cell > 0) lines += column(cell) == 0 ? std::string_view("\n") : separator;
    lines += grid[cell];
  }
  return lines;
}

std::vector<Puzzle> read_puzzle_file(const std::filesystem::path& path) {
  std::error_code ignored;
  std::ifstream file;
  if (std::filesystem::is_regular_file(path, ignored)) file.open(path, std::ios::binary);
  if (!file.is_open())
    throw Error("cannot open the puzzle file " + path.string(),
                "scripts/fetch_data brings the published puzzles into data/ (docs/data.md); or set held_out_file");
  std::vector<Puzzle> puzzles;
  std::map<Grid, int> line_of;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1 && line == "Puzzle,Solution") continue;
    const auto puzzle = number == 1 ? std::nullopt : parse_line(line);
    if (!puzzle) {
      throw Error(path.string() + ":" + std::to_string(number) + ": " +
                      (number == 1 ? "the header `Puzzle,Solution` is missing"
                                   : "this is not a puzzle and its solution, 16 digits each"),
                  "a line reads 3102200002100320,3142243142131324");
    }
    const auto [first, is_new] = line_of.emplace(puzzle->clues, number);
    if (!is_new) {
      throw Error(path.string() + ":" + std::to_string(number) + ": the puzzle of line " +
                      std::to_string(first->second) + " again",
                  "each puzzle may stand once");
    }
    puzzles.push_back(*puzzle);
  }
  return puzzles;
}

}  // namespace drift::sudoku
