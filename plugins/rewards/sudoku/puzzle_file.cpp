#include "puzzle_file.h"

#include <drift/error.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace sudoku {
namespace {

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

std::vector<Puzzle> read_puzzle_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw drift::Error("cannot open the puzzle file " + path.string(),
                       "set held_out_file; plugins/rewards/sudoku/README.md says where such a file comes from");
  std::vector<Puzzle> puzzles;
  std::map<Grid, int> line_of;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.ends_with('\r')) line.pop_back();
    if (number == 1 && line == "Puzzle,Solution") continue;
    const auto puzzle = number == 1 ? std::nullopt : parse_line(line);
    if (!puzzle) {
      throw drift::Error(path.string() + ":" + std::to_string(number) + ": " +
                             (number == 1 ? "the header `Puzzle,Solution` is missing"
                                          : "this is not a puzzle and its solution, 16 digits each"),
                         "a line reads 3102200002100320,3142243142131324");
    }
    const auto [first, is_new] = line_of.emplace(puzzle->clues, number);
    if (!is_new) {
      throw drift::Error(path.string() + ":" + std::to_string(number) + ": the puzzle of line " +
                             std::to_string(first->second) + " again",
                         "each puzzle may stand once");
    }
    puzzles.push_back(*puzzle);
  }
  return puzzles;
}

}  // namespace sudoku
