#pragma once

#include <cstddef>

namespace drift {

/// Of values in each other in any text that is read (JSON, TOML), and of files that extend each other: deeper than any
/// that makes sense, and far from the end of the stack for whatever works through them level by level.
inline constexpr int kDeepestNesting = 64;

/// Bytes of a TOML file. Mistakes in it take a hundred times as much memory.
inline constexpr std::size_t kLargestToml = std::size_t{4} << 20;

/// Mistakes of one kind that are listed; the others are counted.
inline constexpr std::size_t kMostMistakes = 20;

/// Metrics of a run's losses and plugins that are shown, in alphabetical order.
inline constexpr std::size_t kMostOwnMetrics = 200;

}  // namespace drift
