#pragma once

#include <drift/task.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "puzzle.h"
#include "search.h"

namespace countdown {

/// Random Countdown puzzles, each with a solution by the chosen rules. A puzzle is held out or not by its numbers, in
/// any order, together with its target: by a hash of them or, where there is a file of held-out puzzles, by that file.
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
    std::optional<Solution> solution;  ///< with all numbers and positive integers throughout, where there is one
  };

  Puzzle draw(const drift::RandomStream& random, drift::RandomPoint point) const;
  bool is_held_out(const Puzzle& puzzle) const;
  Solved draw_solvable(const drift::RandomStream& random, drift::RandomPoint point, bool held_out) const;
  std::vector<Puzzle> draw_held_out(std::size_t size) const;
  void read_held_out(const std::string& file, std::size_t size);
  void render(const Puzzle& puzzle, drift::TaskItem& item) const;
  std::string demonstration(const Solved& solved, double chance) const;
  void check_ranges() const;

  std::size_t count_;
  std::int64_t number_low_, number_high_;
  std::int64_t target_low_, target_high_;
  bool sorted_;
  std::string operators_;
  Rules rules_;
  std::string prompt_;
  double correct_sums_, correct_products_;
  std::vector<Puzzle> held_out_;
  std::set<std::string> file_keys_;  ///< key_of every puzzle of the file; empty: no file, the hash decides
};

}  // namespace countdown
