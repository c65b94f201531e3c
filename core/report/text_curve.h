#pragma once

// Curves of characters: blocks, or ASCII.

#include <string>
#include <vector>

namespace drift {

/// A curve with its axes, filled below: `rows` lines, each at most `columns` wide, the last one with the first and last
/// x. A value that is not known reads as the one before it. Empty if none is known or there is no room.
/// Where values are close, their mean is drawn.
/// @param x  increasing, one a value
std::vector<std::string> text_curve(const std::vector<double>& x, const std::vector<double>& y, int columns, int rows,
                                    bool unicode);

/// The same in one line of at most `columns`: "▂▃▅▇█", or "_.-=#". Empty if no value is known.
std::string text_spark(const std::vector<double>& y, int columns, bool unicode);

}  // namespace drift
