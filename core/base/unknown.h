#pragma once

#include <limits>

namespace drift {

/// An unknown number: shown as "-", written as null, left out of means. Test it with std::isnan.
inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

}  // namespace drift
