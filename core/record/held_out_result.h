#pragma once

#include <core/base/unknown.h>

#include <cstdint>

namespace drift {

/// One evaluation on held-out items.
struct HeldOutResult {
  double accuracy = 0;        ///< solved items / items, in [0, 1]
  double standard_error = 0;  ///< of `accuracy`, binomial
  std::int64_t items = 0;
  double forwards_per_response = 0;
  double seconds = 0;
  double validation = kUnknown;  ///< accuracy on evaluation.validation_items, which `accuracy` leaves out
};

}  // namespace drift
