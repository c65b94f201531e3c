#pragma once

// The table of runs that are watched.

#include <core/report/watch_screen.h>

#include <cstddef>
#include <string>
#include <vector>

namespace drift {

/// Titles and a line for each run, or for `most` of them around the chosen one; columns that do not fit are left out.
std::vector<std::string> watched_table(const std::vector<WatchedRun>& runs, const WatchView& view, std::size_t most);

/// The metric that the view shows of a run; empty if it has none.
std::string shown_metric(const WatchedRun& run, const WatchView& view);

/// Of every step.
std::vector<double> watched_values(const WatchedRun& run, const std::string& metric);

/// The last one that is known; kUnknown if none is.
double last_watched(const WatchedRun& run, const std::string& metric);

}  // namespace drift
