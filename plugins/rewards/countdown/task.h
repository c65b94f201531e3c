#pragma once

#include <drift/task.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "search.h"

namespace countdown {

struct Puzzle {
  std::vector<std::int64_t> numbers;
  std::int64_t target = 0;
};

/// Random Countdown puzzles, each solvable with all its numbers and positive integers throughout. A puzzle is held out
/// or not by its numbers, in any order, together with its target.
class CountdownTask final : public drift::Task {
 public:
  static drift::ParamSpecs parameters();
  explicit CountdownTask(const drift::Params& params);

  void training_item(std::int64_t index, const drift::RandomStream& random, drift::TaskItem& item) const override;
  std::int64_t held_out_size() const override { return static_cast<std::int64_t>(held_out_.size()); }
  void held_out_item(std::int64_t index, drift::TaskItem& item) const override;

 private:
  struct Solved {
    Puzzle puzzle;
    Solution solution;
  };

  Puzzle draw(const drift::RandomStream& random, drift::RandomPoint point) const;
  Solved draw_solvable(const drift::RandomStream& random, drift::RandomPoint point, bool held_out) const;
  std::vector<Puzzle> draw_held_out(std::size_t size) const;
  std::string demonstration(const Solved& solved, double chance) const;
  void check_ranges() const;

  std::size_t count_;
  std::int64_t number_low_, number_high_;
  std::int64_t target_low_, target_high_;
  bool sorted_;
  std::string operators_;
  double correct_sums_, correct_products_;
  std::vector<Puzzle> held_out_;
};

}  // namespace countdown
