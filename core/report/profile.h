#pragma once

// Where the time of a step goes.

#include <core/record/step_record.h>
#include <core/report/text_table.h>

#include <string>
#include <vector>

namespace drift {

struct PhaseShare {
  std::string name;
  double mean_seconds;  ///< a step
  double share;         ///< of the whole step, in [0, 1]
};

/// Mean over the steps that were measured, longest phase first, "other" last. Empty if none was.
std::vector<PhaseShare> phase_shares(const std::vector<StepRecord>& steps);

/// How a phase of the metrics is called: "old" -> "old policy".
std::string phase_name(const std::string& key);

/// A row for each: its name, seconds and share. @param bar  columns of a bar as long as the share; 0: none
TextTable phase_table(const std::vector<PhaseShare>& shares, int bar = 0, bool unicode = true);

/// The same of all phases and of the whole step as a text; empty if nothing was measured.
std::string profile_table(const std::vector<StepRecord>& steps);

}  // namespace drift
