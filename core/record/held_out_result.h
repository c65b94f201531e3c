#pragma once

#include <cstdint>

namespace drift {

/// One evaluation on held-out items.
struct HeldOut {
  double accuracy = 0;        ///< solved items / items, in [0, 1]
  double standard_error = 0;  ///< of `accuracy`
  std::int64_t items = 0;
};

}  // namespace drift
