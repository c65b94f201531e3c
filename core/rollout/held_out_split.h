#pragma once

#include <core/config/run_settings.h>

#include <drift/error.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace drift {

/// Which of a task's held-out items an evaluation answers: first those for choosing among runs, then those that
/// accuracy counts.
struct HeldOutSplit {
  std::int64_t validation = 0;
  std::int64_t items = 0;

  /// @param available   Task::held_out_size()
  /// @throws Error if nothing is left that accuracy could count
  static HeldOutSplit of(const EvaluationSettings& evaluation, std::int64_t available) {
    const std::int64_t validation = evaluation.validation_items, items = evaluation.items;
    if (available == 0) return {};
    if (validation >= available)
      throw Error("evaluation.validation_items = " + std::to_string(validation) + " leaves none of the task's " +
                      std::to_string(available) + " held-out items for accuracy",
                  "lower it, or give the task more held-out items");
    const std::int64_t left = available - validation;
    return {validation, items == 0 ? left : std::min(items, left)};
  }
};

}  // namespace drift
