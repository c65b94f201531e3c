#pragma once

#include <cstddef>
#include <string>

namespace drift {

/// One record of a log.
struct LoggedRecord {
  std::size_t begin = 0, end = 0;  ///< in the file
  std::string bytes;
};

/// Larger logs are none of a run.
inline constexpr std::size_t kLargestLog = std::size_t{1} << 36;

}  // namespace drift
