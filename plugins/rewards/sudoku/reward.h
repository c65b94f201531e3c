#pragma once

#include <drift/reward.h>

#include <optional>
#include <string_view>

#include "grid.h"

namespace sudoku {

/// Judges a grid that a response holds. Which references it reads: reference.h.
class SudokuReward final : public drift::Reward {
 public:
  static drift::ParamSpecs parameters();
  explicit SudokuReward(const drift::Params& params);

  /// @throws drift::Error if the item's reference is not a Sudoku puzzle, or lacks what `score` needs. Any response is
  /// judged.
  void score(const drift::RewardRequest& request, drift::RewardResult& result) const override;

 private:
  enum class Score { kGridValid, kGridExact, kCells, kCellsStored };

  std::optional<Grid> find_answer(std::string_view response, drift::RewardResult& result) const;
  std::optional<Grid> find_tagged(std::string_view response, drift::RewardResult& result) const;
  void judge(const Grid& answer, const Puzzle& puzzle, drift::RewardResult& result) const;

  bool tags_;
  bool lenient_;
  Score score_;
};

}  // namespace sudoku
