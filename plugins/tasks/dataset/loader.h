#pragma once

#include "settings.h"

#include <drift/task.h>

#include <string>
#include <vector>

namespace drift::dataset {

/// What the files come to.
struct Items {
  std::vector<TaskItem> training, held_out;
  std::vector<std::string> notes;  ///< what was left out, one line for each set
};

/// Read all files, look for what is wrong with them, and choose the training items.
/// @throws Error with everything that is wrong.
Items load_items(const Settings& settings);

}  // namespace drift::dataset
