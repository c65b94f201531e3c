#pragma once

#include <limits>

namespace drift {

/// A number that nobody knows: shown as "-", written as null, left out of means. Ask std::isnan.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace drift
