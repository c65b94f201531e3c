#include "drawn_items.h"
#include "puzzle.h"

#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/task.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace drift::sudoku {
namespace {

// What is drawn for a puzzle; each has its own position of the random point. Cells take 16 positions from kCells on.
enum Position : std::int64_t { kGrid = 0, kBlanks = 1, kCells = 2, kDemonstration = 18 };

using tasks::at;
using tasks::point_of_item;

// The demonstrator solves easy puzzles mostly and hard ones seldom.
double share_of_correct(std::size_t blanks) {
  return std::clamp(0.5 + 0.15 * (7.5 - static_cast<double>(blanks)), 0.05, 1.0);
}

// Fills each row's gaps with the digits that the row lacks, in increasing order, blind to columns and boxes.
Grid careless_answer(const Grid& clues) {
  Grid answer = clues;
  for (std::size_t begin = 0; begin < answer.size(); begin += 4) {
    const auto row_begin = clues.begin() + static_cast<std::ptrdiff_t>(begin);
    char digit = '1';
    for (std::size_t cell = begin; cell < begin + 4; ++cell) {
      if (clues[cell] != '0') continue;
      while (std::find(row_begin, row_begin + 4, digit) != row_begin + 4) ++digit;
      answer[cell] = digit++;
    }
  }
  return answer;
}

/// What a held-out puzzle keeps out of training.
enum class Split {
  kGrids,      ///< 60 of the 288 grids are held out: every solution of a held-out puzzle is among them, none of a
               ///< training puzzle's
  kPuzzles,    ///< itself
  kSolutions,  ///< itself, and every puzzle that shares a solution with it
};
constexpr Choices<Split, 3> kSplits{
    {{"grids", Split::kGrids}, {"puzzles", Split::kPuzzles}, {"solutions", Split::kSolutions}}};

struct Settings {
  explicit Settings(Parameters& parameters)
      : blanks_low(parameters("blanks_low", 7, "fewest empty cells of a puzzle", between(1, 12))),
        blanks_high(parameters("blanks_high", 10, "most empty cells of a puzzle", between(1, 12))),
        unique(parameters("unique", true, "draw only puzzles with exactly one solution")),
        prompt(parameters("prompt", "raw",
                          "the grid alone, for small models, or with the words of the paper, of d1 or of ESPO",
                          one_of(prompt_names()))),
        split(parameters("split", kSplits, Split::kGrids,
                         "what is kept out of training: grids: 60 fixed solutions; puzzles: the held-out file's "
                         "puzzles; solutions: those and all their solutions")),
        held_out_size(parameters("held_out_size", 400, "number of held-out puzzles; of a file, at most so many",
                                 between(1, 10000))),
        held_out_file(parameters(path("held_out_file", "",
                                      "CSV file of puzzles to evaluate on instead of drawn ones; with split = grids, "
                                      "those whose solutions are all held out"))) {}

  std::int64_t blanks_low, blanks_high;
  bool unique;
  std::string prompt;
  Split split;
  std::int64_t held_out_size;
  std::string held_out_file;
};

/// Random 4x4 Sudoku puzzles.
class SudokuTask final : public Task {
 public:
  explicit SudokuTask(const Parameters& params);

  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, TaskItem& item) const override;

 private:
  Puzzle draw(const RandomStream& random, RandomPoint point, const std::vector<Grid>& grids) const;
  Puzzle draw_training(const RandomStream& random, RandomPoint& point) const;
  bool is_usable(const Grid& clues, bool held_out) const;
  bool all_on_side(const std::vector<std::size_t>& grids, bool held_out) const;
  void split_grids(const std::vector<Puzzle>& file);
  std::vector<Puzzle> draw_held_out() const;
  void keep_held_out(std::vector<Puzzle> file);
  void render(const Puzzle& puzzle, TaskItem& item) const;

  Settings settings_;
  std::vector<bool> is_held_out_;  ///< for each of all_grids()
  std::vector<Grid> training_grids_;
  std::vector<Grid> held_out_grids_;
  std::set<Grid> untrained_puzzles_;
  std::vector<Puzzle> held_out_;
};

SudokuTask::SudokuTask(const Parameters& params) : settings_(tasks::given<Settings>(params)) {
  tasks::require_range("blanks", settings_.blanks_low, settings_.blanks_high);
  const std::string& file = settings_.held_out_file;
  if (settings_.split != Split::kGrids && file.empty()) {
    throw Error("split = \"" + params.get<std::string>("split") + "\" needs a held_out_file",
                "name one, or leave split = \"grids\"");
  }
  const auto puzzles = file.empty() ? std::vector<Puzzle>() : read_puzzle_file(file);
  split_grids(puzzles);
  if (file.empty()) {
    held_out_ = draw_held_out();
  } else {
    keep_held_out(puzzles);
  }
  RandomPoint first;
  draw_training(RandomStream(tasks::kHeldOutSeed, "sudoku training puzzles"), first);  // there are some
}

void SudokuTask::split_grids(const std::vector<Puzzle>& file) {
  is_held_out_.assign(all_grids().size(), false);
  if (settings_.split == Split::kGrids) {
    for (std::size_t i = 0; i < all_grids().size(); ++i) is_held_out_[i] = is_held_out(i);
  } else {
    for (const Puzzle& puzzle : file) untrained_puzzles_.insert(puzzle.clues);
  }
  if (settings_.split == Split::kSolutions) {
    for (const Puzzle& puzzle : file) {
      for (const std::size_t grid : solutions(puzzle.clues)) is_held_out_[grid] = true;
    }
  }
  for (std::size_t i = 0; i < all_grids().size(); ++i) {
    (is_held_out_[i] ? held_out_grids_ : training_grids_).push_back(all_grids()[i]);
  }
}

bool SudokuTask::all_on_side(const std::vector<std::size_t>& grids, bool held_out) const {
  return std::all_of(grids.begin(), grids.end(), [&](std::size_t grid) { return is_held_out_[grid] == held_out; });
}

void SudokuTask::training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const {
  RandomPoint point = point_of_item(index);
  const Puzzle puzzle = draw_training(random, point);
  render(puzzle, item);
  if (settings_.prompt != "raw") return;
  const bool correct = random.uniform(at(point, kDemonstration)) < share_of_correct(count_blanks(puzzle.clues));
  item.demonstration = to_lines(correct ? puzzle.solution : careless_answer(puzzle.clues), "");
}

void SudokuTask::held_out_item(std::int64_t index, TaskItem& item) const {
  render(tasks::held_out_at(held_out_, index), item);
}

// A puzzle that cannot be used is thrown away whole and drawn again, so that fewer blanks are a little more frequent.
// `point` is left at the draw that was used.
Puzzle SudokuTask::draw_training(const RandomStream& random, RandomPoint& point) const {
  for (point.draw = 0; !training_grids_.empty() && point.draw < tasks::kMostDraws; ++point.draw) {
    const Puzzle puzzle = draw(random, point, training_grids_);
    if (is_usable(puzzle.clues, false) && !untrained_puzzles_.contains(puzzle.clues)) return puzzle;
  }
  throw Error("the held-out puzzles leave none to train on, or so few that none was found in " +
                  std::to_string(tasks::kMostDraws) + " draws",
              "widen blanks_low and blanks_high, set split = \"puzzles\", or use a smaller held_out_file");
}

// A grid, a number of blanks, and as many cells.
Puzzle SudokuTask::draw(const RandomStream& random, RandomPoint point, const std::vector<Grid>& grids) const {
  const auto grid = random.below(static_cast<std::int64_t>(grids.size()), at(point, kGrid));
  const auto [low, high] = std::tie(settings_.blanks_low, settings_.blanks_high);
  const auto blanks = low + random.below(high - low + 1, at(point, kBlanks));
  Puzzle puzzle;
  puzzle.solution = grids[static_cast<std::size_t>(grid)];
  puzzle.clues = puzzle.solution;
  std::array<std::size_t, 16> cells;
  std::iota(cells.begin(), cells.end(), std::size_t{0});
  for (std::int64_t i = 0; i < blanks; ++i) {
    const std::int64_t chosen = i + random.below(16 - i, at(point, kCells + i));
    std::swap(cells[static_cast<std::size_t>(i)], cells[static_cast<std::size_t>(chosen)]);
    puzzle.clues[cells[static_cast<std::size_t>(i)]] = '0';
  }
  return puzzle;
}

bool SudokuTask::is_usable(const Grid& clues, bool held_out) const {
  const auto found = solutions(clues);
  return all_on_side(found, held_out) && (!settings_.unique || found.size() == 1);
}

std::vector<Puzzle> SudokuTask::draw_held_out() const {
  const RandomStream random(tasks::kHeldOutSeed, "sudoku held-out puzzles");
  const auto usable = [&](std::int64_t index) {
    const Puzzle puzzle = draw(random, point_of_item(index), held_out_grids_);
    return is_usable(puzzle.clues, true) ? std::optional(puzzle) : std::nullopt;
  };
  const auto clues_of = [](const Puzzle& puzzle) { return puzzle.clues; };
  return tasks::draw_different<Puzzle>(settings_.held_out_size, 100 * settings_.held_out_size + 10000, usable, clues_of,
                                       "the 60 held-out grids give",
                                       "puzzles with " + std::to_string(settings_.blanks_low) + " to " +
                                           std::to_string(settings_.blanks_high) + " empty cells",
                                       "lower held_out_size, or widen blanks_low and blanks_high");
}

// A file's puzzles are what they are: any number of empty cells, also several solutions.
void SudokuTask::keep_held_out(std::vector<Puzzle> file) {
  const bool by_grids = settings_.split == Split::kGrids;
  const auto is_partly_trained = [&](const Puzzle& puzzle) { return !all_on_side(solutions(puzzle.clues), true); };
  if (by_grids) std::erase_if(file, is_partly_trained);
  if (file.empty()) {
    throw Error("no puzzle of " + settings_.held_out_file +
                    (by_grids ? " has all its solutions among the 60 held-out grids" : ""),
                "use a larger file, or leave held_out_file empty");
  }
  const auto size = static_cast<std::size_t>(settings_.held_out_size);
  if (file.size() > size) file.resize(size);
  held_out_ = std::move(file);
}

void SudokuTask::render(const Puzzle& puzzle, TaskItem& item) const {
  const std::string clues = to_text(puzzle.clues);
  const std::string solution = to_text(puzzle.solution);
  item.id = clues + "-" + solution;
  item.prompt = prompt_of(puzzle.clues, settings_.prompt);
  item.reference = R"({"puzzle": ")" + clues + R"(", "solution": ")" + solution + R"("})";
  item.demonstration.clear();
}

}  // namespace
}  // namespace drift::sudoku

DRIFT_PLUGIN("sudoku_task", "1.0.0", "Apache-2.0") {
  using drift::sudoku::Settings;
  using drift::sudoku::SudokuTask;
  registry.add<SudokuTask>("sudoku",
                           "Random 4x4 Sudoku puzzles; held out are those over 60 of the 288 grids, or a file's.",
                           drift::tasks::declared<Settings>());
}
