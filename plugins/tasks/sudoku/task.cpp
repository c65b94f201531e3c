#include "puzzle.h"

#include <drift/error.h>
#include <drift/plugin.h>
#include <drift/task.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

namespace drift::sudoku {
namespace {

// The held-out puzzles are the same in every run, whatever its seed.
constexpr std::uint64_t kHeldOutSeed = 60;

// More draws than any usable settings need.
constexpr std::int64_t kMostDraws = 100'000;

// What is drawn for a puzzle; each has its own position of the random point. Cells take 16 positions from kCells on.
enum Position : std::int64_t { kGrid = 0, kBlanks = 1, kCells = 2, kDemonstration = 18 };

RandomPoint point_of_item(std::int64_t index) {
  return {.step = index & 0xFFFFFFFF, .response = index >> 32};  // a field holds 32 bits
}

RandomPoint at(RandomPoint point, std::int64_t position) {
  point.position = position;
  return point;
}

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

/// Random 4x4 Sudoku puzzles.
class SudokuTask final : public Task {
 public:
  static ParamSpecs parameters();
  explicit SudokuTask(const Params& params);

  void training_item(std::int64_t index, const RandomStream& random, TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, TaskItem& item) const override;

 private:
  Puzzle draw(const RandomStream& random, RandomPoint point, const std::vector<Grid>& grids) const;
  Puzzle draw_training(const RandomStream& random, RandomPoint& point) const;
  bool is_usable(const Grid& clues, bool held_out) const;
  bool all_on_side(const std::vector<std::size_t>& grids, bool held_out) const;
  void split_grids(Split split, const std::vector<Puzzle>& file);
  std::vector<Puzzle> draw_held_out(std::size_t size) const;
  void keep_held_out(std::vector<Puzzle> file, Split split, const std::string& name, std::size_t size);
  void render(const Puzzle& puzzle, TaskItem& item) const;

  std::int64_t blanks_low_;
  std::int64_t blanks_high_;
  bool unique_;
  std::string prompt_;
  std::vector<bool> is_held_out_;  ///< for each of all_grids()
  std::vector<Grid> training_grids_;
  std::vector<Grid> held_out_grids_;
  std::set<Grid> untrained_puzzles_;
  std::vector<Puzzle> held_out_;
};

ParamSpecs SudokuTask::parameters() {
  return {{"blanks_low", 7, "fewest empty cells of a puzzle", between(1, 12)},
          {"blanks_high", 10, "most empty cells of a puzzle", between(1, 12)},
          {"unique", true, "draw only puzzles with exactly one solution"},
          {"prompt", "raw", "the grid alone, for small models, or with the words of the paper, of d1 or of ESPO",
           one_of(prompt_names())},
          {"split", kSplits, Split::kGrids,
           "what is kept out of training: grids: 60 fixed solutions; puzzles: the held-out file's puzzles; solutions: "
           "those and all their solutions"},
          {"held_out_size", 400, "number of held-out puzzles; of a file, at most so many", between(1, 10000)},
          path("held_out_file", "",
               "CSV file of puzzles to evaluate on instead of drawn ones; with split = grids, those whose solutions "
               "are all held out")};
}

SudokuTask::SudokuTask(const Params& params)
    : blanks_low_(params.get<std::int64_t>("blanks_low")),
      blanks_high_(params.get<std::int64_t>("blanks_high")),
      unique_(params.get<bool>("unique")),
      prompt_(params.get<std::string>("prompt")) {
  if (blanks_low_ > blanks_high_) {
    throw Error(
        "blanks_low = " + std::to_string(blanks_low_) + " is more than blanks_high = " + std::to_string(blanks_high_),
        "set both, the smaller number as blanks_low");
  }
  const auto split = params.get("split", kSplits);
  const auto file = params.get<std::string>("held_out_file");
  if (split != Split::kGrids && file.empty()) {
    throw Error("split = \"" + params.get<std::string>("split") + "\" needs a held_out_file",
                "name one, or leave split = \"grids\"");
  }
  const auto size = static_cast<std::size_t>(params.get<std::int64_t>("held_out_size"));
  const auto puzzles = file.empty() ? std::vector<Puzzle>() : read_puzzle_file(file);
  split_grids(split, puzzles);
  if (file.empty()) {
    held_out_ = draw_held_out(size);
  } else {
    keep_held_out(puzzles, split, file, size);
  }
  RandomPoint first;
  draw_training(RandomStream(kHeldOutSeed, "sudoku training puzzles"), first);  // there are some
}

void SudokuTask::split_grids(Split split, const std::vector<Puzzle>& file) {
  is_held_out_.assign(all_grids().size(), false);
  if (split == Split::kGrids) {
    for (std::size_t i = 0; i < all_grids().size(); ++i) is_held_out_[i] = is_held_out(i);
  } else {
    for (const Puzzle& puzzle : file) untrained_puzzles_.insert(puzzle.clues);
  }
  if (split == Split::kSolutions) {
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
  if (prompt_ != "raw") return;
  const bool correct = random.uniform(at(point, kDemonstration)) < share_of_correct(count_blanks(puzzle.clues));
  item.demonstration = to_lines(correct ? puzzle.solution : careless_answer(puzzle.clues), "");
}

void SudokuTask::held_out_item(std::int64_t index, TaskItem& item) const {
  if (index < 0 || index >= held_out_size()) {
    throw Error("there is no held-out item " + std::to_string(index) + ", only " + std::to_string(held_out_size()) +
                " from 0 on");
  }
  render(held_out_[static_cast<std::size_t>(index)], item);
}

// A puzzle that cannot be used is thrown away whole and drawn again, so that fewer blanks are a little more frequent.
// `point` is left at the draw that was used.
Puzzle SudokuTask::draw_training(const RandomStream& random, RandomPoint& point) const {
  for (point.draw = 0; !training_grids_.empty() && point.draw < kMostDraws; ++point.draw) {
    const Puzzle puzzle = draw(random, point, training_grids_);
    if (is_usable(puzzle.clues, false) && !untrained_puzzles_.contains(puzzle.clues)) return puzzle;
  }
  throw Error("the held-out puzzles leave none to train on, or so few that none was found in " +
                  std::to_string(kMostDraws) + " draws",
              "widen blanks_low and blanks_high, set split = \"puzzles\", or use a smaller held_out_file");
}

// A grid, a number of blanks, and as many cells.
Puzzle SudokuTask::draw(const RandomStream& random, RandomPoint point, const std::vector<Grid>& grids) const {
  const auto grid = random.below(static_cast<std::int64_t>(grids.size()), at(point, kGrid));
  const auto blanks = blanks_low_ + random.below(blanks_high_ - blanks_low_ + 1, at(point, kBlanks));
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
  return all_on_side(found, held_out) && (!unique_ || found.size() == 1);
}

std::vector<Puzzle> SudokuTask::draw_held_out(std::size_t size) const {
  const RandomStream random(kHeldOutSeed, "sudoku held-out puzzles");
  const std::int64_t most_draws = 100 * static_cast<std::int64_t>(size) + 10000;
  std::vector<Puzzle> puzzles;
  std::set<Grid> seen;
  for (std::int64_t index = 0; puzzles.size() < size && index < most_draws; ++index) {
    const Puzzle puzzle = draw(random, point_of_item(index), held_out_grids_);
    if (is_usable(puzzle.clues, true) && seen.insert(puzzle.clues).second) puzzles.push_back(puzzle);
  }
  if (puzzles.size() < size) {
    throw Error("the 60 held-out grids give only " + std::to_string(puzzles.size()) + " different puzzles with " +
                    std::to_string(blanks_low_) + " to " + std::to_string(blanks_high_) + " empty cells, not " +
                    std::to_string(size),
                "lower held_out_size, or widen blanks_low and blanks_high");
  }
  return puzzles;
}

// A file's puzzles are what they are: any number of empty cells, also several solutions.
void SudokuTask::keep_held_out(std::vector<Puzzle> file, Split split, const std::string& name, std::size_t size) {
  const auto is_partly_trained = [&](const Puzzle& puzzle) { return !all_on_side(solutions(puzzle.clues), true); };
  if (split == Split::kGrids) file.erase(std::remove_if(file.begin(), file.end(), is_partly_trained), file.end());
  if (file.empty()) {
    throw Error(
        "no puzzle of " + name + (split == Split::kGrids ? " has all its solutions among the 60 held-out grids" : ""),
        "use a larger file, or leave held_out_file empty");
  }
  if (file.size() > size) file.resize(size);
  held_out_ = std::move(file);
}

void SudokuTask::render(const Puzzle& puzzle, TaskItem& item) const {
  const std::string clues = to_text(puzzle.clues);
  const std::string solution = to_text(puzzle.solution);
  item.id = clues + "-" + solution;
  item.prompt = prompt_of(puzzle.clues, prompt_);
  item.reference = R"({"puzzle": ")" + clues + R"(", "solution": ")" + solution + R"("})";
  item.demonstration.clear();
}

}  // namespace
}  // namespace drift::sudoku

DRIFT_PLUGIN("sudoku_task", "1.0.0", "Apache-2.0") {
  using drift::sudoku::SudokuTask;
  registry.add<SudokuTask>("sudoku",
                           "Random 4x4 Sudoku puzzles; held out are those over 60 of the 288 grids, or a file's.",
                           SudokuTask::parameters());
}
