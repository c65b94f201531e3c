#pragma once

#include <drift/task.h>

#include <string>
#include <vector>

#include "settings.h"

namespace dataset {

/// What the files come to.
struct Items {
  std::vector<drift::TaskItem> training, held_out;
  std::vector<std::string> notes;  ///< what was left out, one line for each set
};

/// Read all files, look for what is wrong with them, and choose the training items.
/// @throws drift::Error with everything that is wrong.
Items load_items(const Settings& settings);

}  // namespace dataset
