#include "grid.h"

#include <algorithm>

namespace drift::sudoku {
namespace {

std::size_t row(std::size_t cell) { return cell / 4; }
std::size_t column(std::size_t cell) { return cell % 4; }
std::size_t box(std::size_t cell) { return row(cell) / 2 * 2 + column(cell) / 2; }

// Fills the empty cells in every way that keeps the rules; `right` of those filled so far are as in `answer`.
void solve(Grid& grid, const Grid& answer, std::size_t right, std::size_t& best) {
  const auto empty = static_cast<std::size_t>(std::find(grid.begin(), grid.end(), '0') - grid.begin());
  if (empty == grid.size()) {
    best = std::max(best, right);
    return;
  }
  for (char digit = '1'; digit <= '4'; ++digit) {
    if (!fits(grid, empty, digit)) continue;
    grid[empty] = digit;
    solve(grid, answer, right + (answer[empty] == digit), best);
    grid[empty] = '0';
  }
}

}  // namespace

bool fits(const Grid& grid, std::size_t cell, char digit) {
  for (std::size_t other = 0; other < grid.size(); ++other) {
    const bool sees = row(other) == row(cell) || column(other) == column(cell) || box(other) == box(cell);
    if (sees && grid[other] == digit) return false;
  }
  return true;
}

std::optional<Grid> parse_grid(std::string_view text) {
  Grid grid;
  if (text.size() != grid.size() || text.find_first_not_of("01234") != std::string_view::npos) return std::nullopt;
  std::copy(text.begin(), text.end(), grid.begin());
  return grid;
}

std::size_t count_blanks(const Grid& clues) {
  return static_cast<std::size_t>(std::count(clues.begin(), clues.end(), '0'));
}

std::string cell_name(std::size_t cell) {
  return "r" + std::to_string(row(cell) + 1) + "c" + std::to_string(column(cell) + 1);
}

std::size_t changed_clue(const Grid& grid, const Grid& clues) {
  std::size_t cell = 0;
  while (cell < grid.size() && (clues[cell] == '0' || clues[cell] == grid[cell])) ++cell;
  return cell;
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

std::size_t count_right(const Grid& answer, const Grid& clues, const Grid& solution) {
  std::size_t right = 0;
  for (std::size_t cell = 0; cell < answer.size(); ++cell) {
    right += clues[cell] == '0' && answer[cell] == solution[cell];
  }
  return right;
}

std::size_t count_right_at_best(const Grid& answer, const Grid& clues) {
  Grid grid = clues;
  std::size_t best = 0;
  solve(grid, answer, 0, best);
  return best;
}

}  // namespace drift::sudoku
