#pragma once

#include <drift/task.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "grid.h"

namespace sudoku {

/// Random 4x4 Sudoku puzzles. Every solution of a training puzzle is one of the 228 training grids, every solution of a
/// held-out puzzle one of the 60 held-out grids.
class SudokuTask final : public drift::Task {
 public:
  static drift::ParamSpecs parameters();
  explicit SudokuTask(const drift::Params& params);

  void training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, drift::TaskItem& item) const override;

 private:
  Puzzle draw(const drift::RandomStream& random, drift::RandomPoint point, const std::vector<Grid>& grids) const;
  bool is_usable(const Grid& clues, bool held_out) const;
  std::vector<Puzzle> draw_held_out(std::size_t size) const;
  std::vector<Puzzle> read_held_out(const std::string& file, std::size_t size) const;
  void render(const Puzzle& puzzle, drift::TaskItem& item) const;

  std::int64_t blanks_low_;
  std::int64_t blanks_high_;
  bool unique_;
  bool paper_prompt_;
  std::vector<Grid> training_grids_;
  std::vector<Grid> held_out_grids_;
  std::vector<Puzzle> held_out_;
};

}  // namespace sudoku
