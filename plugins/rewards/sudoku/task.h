#pragma once

#include <drift/task.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "grid.h"

namespace sudoku {

/// What a held-out puzzle keeps out of training.
enum class Split {
  kGrids,      ///< 60 of the 288 grids are held out: every solution of a held-out puzzle is among them, none of a
               ///< training puzzle's
  kPuzzles,    ///< itself
  kSolutions,  ///< itself, and every puzzle that shares a solution with it
};

/// Random 4x4 Sudoku puzzles.
class SudokuTask final : public drift::Task {
 public:
  static drift::ParamSpecs parameters();
  explicit SudokuTask(const drift::Params& params);

  void training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, drift::TaskItem& item) const override;

 private:
  Puzzle draw(const drift::RandomStream& random, drift::RandomPoint point, const std::vector<Grid>& grids) const;
  Puzzle draw_training(const drift::RandomStream& random, drift::RandomPoint& point) const;
  bool is_usable(const Grid& clues, bool held_out) const;
  bool all_on_side(const std::vector<std::size_t>& grids, bool held_out) const;
  void split_grids(Split split, const std::vector<Puzzle>& file);
  std::vector<Puzzle> draw_held_out(std::size_t size) const;
  void keep_held_out(std::vector<Puzzle> file, Split split, const std::string& name, std::size_t size);
  void render(const Puzzle& puzzle, drift::TaskItem& item) const;

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

}  // namespace sudoku
