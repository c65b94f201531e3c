#pragma once

#include "answer_limits.h"

namespace math_reward {

/// What one comparison has cost so far, in operations: a verdict may depend on the limit, never on the clock.
class Work {
 public:
  /// Count `cost` operations. False once there were more than kMostWork.
  bool spend(long cost) {
    spent_ += cost;
    return spent_ <= kMostWork;
  }
  bool exhausted() const { return spent_ > kMostWork; }

 private:
  long spent_ = 0;
};

}  // namespace math_reward
