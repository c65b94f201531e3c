#pragma once

// Runs that go on, as lines of a terminal.

#include <core/report/watched_run.h>

#include <cstddef>
#include <string>
#include <vector>

namespace drift {

/// How the runs are shown, and what of them was chosen.
struct WatchView {
  int columns = 80;
  int rows = 0;  ///< of the terminal; 0: as many as it takes, and no line about keys
  bool unicode = true;
  bool color = false;
  std::size_t run = 0;      ///< the one whose curve, profile, responses and alarms are shown
  std::size_t sample = 0;   ///< the first of its responses
  std::string metric = {};  ///< that the curve shows; one that the run does not have: the first that it has
};

/// What `m` goes through: the metrics that are known of a run, what matters most first.
std::vector<std::string> watched_metrics(const WatchedRun& run);

/// A line for each run; of the chosen one the curve, the seconds of each phase, the alarms and the last responses. At
/// most `rows` lines of at most `columns`. Texts from files cannot move the cursor or colour anything.
std::vector<std::string> watch_lines(const std::vector<WatchedRun>& runs, const WatchView& view);

// ---- parts of it ----

/// Titles and a line for each run, or for `most` of them around the chosen one; columns that do not fit are left out.
std::vector<std::string> watched_table(const std::vector<WatchedRun>& runs, const WatchView& view, std::size_t most);

/// The metric that the view shows of a run; empty if it has none.
std::string shown_metric(const WatchedRun& run, const WatchView& view);

/// The last one that is known; kUnknown if none is.
double last_watched(const WatchedRun& run, const std::string& metric);

}  // namespace drift
