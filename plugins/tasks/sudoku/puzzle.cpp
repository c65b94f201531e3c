#include "puzzle.h"

#include "drawn_items.h"

#include <drift/error.h>

#include <algorithm>

namespace drift::sudoku {
namespace {

// Indices into all_grids(), drawn once at random. Each of the 12 classes of grids that differ only in the names of the
// digits has members on both sides, so that held-out puzzles ask for unseen grids of seen symmetry classes.
constexpr std::array<std::size_t, 60> kHeldOut = {
    5,   7,   8,   12,  15,  20,  22,  45,  46,  55,  59,  63,  64,  73,  74,  76,  81,  90,  92,  97,
    101, 103, 106, 110, 111, 124, 126, 136, 150, 154, 158, 159, 166, 173, 181, 182, 201, 206, 207, 208,
    209, 210, 214, 219, 223, 226, 228, 237, 240, 245, 253, 258, 269, 272, 273, 278, 281, 282, 284, 287};

void fill_from(std::size_t cell, Grid& grid, std::vector<Grid>& found) {
  if (cell == grid.size()) {
    found.push_back(grid);
    return;
  }
  for (char digit = '1'; digit <= '4'; ++digit) {
    if (!fits(grid, cell, digit)) continue;
    grid[cell] = digit;
    fill_from(cell + 1, grid, found);
    grid[cell] = '0';
  }
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
    Grid grid;
    grid.fill('0');
    fill_from(0, grid, found);
    return found;
  }();
  return grids;
}

bool is_held_out(std::size_t grid) { return std::binary_search(kHeldOut.begin(), kHeldOut.end(), grid); }

std::vector<std::size_t> solutions(const Grid& clues) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < all_grids().size(); ++i) {
    if (changed_clue(all_grids()[i], clues) == clues.size()) found.push_back(i);
  }
  return found;
}

std::string to_text(const Grid& grid) { return {grid.begin(), grid.end()}; }

std::string to_lines(const Grid& grid, std::string_view separator) {
  std::string lines;
  for (std::size_t cell = 0; cell < grid.size(); ++cell) {
    if (cell > 0) lines += cell % 4 == 0 ? std::string_view("\n") : separator;
    lines += grid[cell];
  }
  return lines;
}

std::vector<Puzzle> read_puzzle_file(const std::filesystem::path& path) {
  const auto parse = [](std::string line, int number) -> std::optional<Puzzle> {
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1 && line == "Puzzle,Solution") return std::nullopt;
    const auto puzzle = number == 1 ? std::nullopt : parse_line(line);
    if (puzzle) return puzzle;
    throw Error(number == 1 ? "the header `Puzzle,Solution` is missing"
                            : "this is not a puzzle and its solution, 16 digits each",
                "a line reads 3102200002100320,3142243142131324");
  };
  const auto clues_of = [](const Puzzle& puzzle) { return puzzle.clues; };
  return tasks::read_puzzles<Puzzle>(path, parse, clues_of, "each puzzle may stand once");
}

}  // namespace drift::sudoku
