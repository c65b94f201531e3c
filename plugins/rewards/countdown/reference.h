#pragma once

#include <drift/task.h>

#include <cstdint>
#include <set>

namespace countdown {

struct Reference {
  std::multiset<std::int64_t> numbers;
  std::int64_t target = 0;
};

/// The puzzle of an item: {"numbers": [3, 7, 12], "target": 24}, by itself or as a record's `ground_truth_answer`; a
/// published data set says `nums`.
/// @throws drift::Error naming the item if its reference is anything else. A target without the numbers is refused: to
/// repeat it would be right.
Reference parse_reference(const drift::TaskItem* item);

}  // namespace countdown
