#pragma once

#include <drift/task.h>

#include <optional>

#include "grid.h"

namespace sudoku {

struct Reference {
  std::optional<Grid> clues;  ///< empty: only the solution is known
  Grid solution;
};

/// What an item says about its puzzle: {"puzzle": "16 digits", "solution": "16 digits"}, as the task `sudoku` writes
/// it; or the solution alone, by itself or as a record's `ground_truth_answer`, with the clues from the last grid in
/// the record's `question` or, without a record, in the item's question.
/// @throws drift::Error naming the item if there is no solution, or if it does not keep the clues.
Reference parse_reference(const drift::TaskItem* item);

}  // namespace sudoku
