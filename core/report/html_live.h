#pragma once

// A page of a run that goes on: it loads itself again, and says when nothing comes any more.

#include <core/record/step_record.h>

#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// Seconds between two loads, and how often a page is written at most.
inline constexpr double kSecondsBetweenPages = 30;

/// A line for the head of the page: that the run goes on, and when the page was written. kLiveScript reads it.
/// @param written  seconds since the epoch: when the run last wrote what the page shows
std::string live_line(const std::vector<StepRecord>& steps, double written);

/// When the newest of the files from which the page of a run is made was written, in seconds since the epoch.
double last_sign_of(const std::filesystem::path& run_folder);

/// For every page of a run: where the page was scrolled to and what was open is so again after it has loaded itself,
/// as it does while it has the line above and something came not long before. A hidden page waits, and one with text
/// selected.
extern const char* const kLiveScript;

}  // namespace drift
