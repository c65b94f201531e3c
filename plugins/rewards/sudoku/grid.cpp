#include "grid.h"

#include <algorithm>

namespace sudoku {
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

std::string broken_rule(const Grid& grid) {
  struct Unit {
    const char* name;
    std::size_t (*of)(std::size_t cell);
  };
  for (const Unit& unit : {Unit{"row", row}, Unit{"column", column}, Unit{"box", box}}) {
    for (std::size_t number = 0; number < 4; ++number) {
      std::array<int, 256> count{};
      for (std::size_t cell = 0; cell < grid.size(); ++cell) {
        if (unit.of(cell) != number || ++count[static_cast<unsigned char>(grid[cell])] == 1) continue;
        return std::string(unit.name) + " " + std::to_string(number + 1) + " holds " + grid[cell] + " more than once";
      }
    }
  }
  return {};
}

std::string cell_name(std::size_t cell) {
  return "r" + std::to_string(row(cell) + 1) + "c" + std::to_string(column(cell) + 1);
}

std::size_t count_blanks(const Grid& clues) {
  return static_cast<std::size_t>(std::count(clues.begin(), clues.end(), '0'));
}

std::optional<Grid> parse_grid(std::string_view text) {
  Grid grid;
  if (text.size() != grid.size()) return std::nullopt;
  for (std::size_t cell = 0; cell < grid.size(); ++cell) {
    if (text[cell] < '0' || text[cell] > '4') return std::nullopt;
    grid[cell] = text[cell];
  }
  return grid;
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

}  // namespace sudoku
