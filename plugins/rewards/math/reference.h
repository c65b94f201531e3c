#pragma once

#include <drift/task.h>

#include <string>

namespace math_reward {

/// The truth that an item's reference holds: plain text (`\frac{3}{4}`), or a record of a data set as a JSON object
/// with `ground_truth_answer` or `answer`, a text or a number. Of a worked solution that ends in `#### 18` what follows
/// the last `####`. White space around it is dropped.
/// @throws drift::Error naming the item if there is no item, no such field, or nothing in it.
std::string truth_of(const drift::TaskItem* item);

}  // namespace math_reward
