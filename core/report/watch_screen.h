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

}  // namespace drift
