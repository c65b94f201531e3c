#pragma once

#include <cstdint>
#include <vector>

namespace drift {

/// Views of a plan, by number.
using Views = std::vector<std::int64_t>;

/// A position that is scored in a row.
struct RowTarget {
  /// Of the response; in rows of a model with blocks, of the row: that of the hidden state which predicts the token.
  std::int64_t position;
  std::int64_t token;
  std::int64_t flat;  ///< v * L + position of the v-th of the views: where the log-probability belongs
};

}  // namespace drift
