#pragma once

#include <core/record/alarms.h>

#include <filesystem>

namespace drift {

/// How often the page of a run that goes on loads itself, and is written at most.
inline constexpr double kSecondsBetweenPages = 30;

/// Read metrics.jsonl, summary.json, config.toml, plugins.json and samples.json of a run's folder and write report.html
/// next to them: one file that needs no other, for screen (light and dark), phone and paper. A file that is missing is
/// a part of the page that is missing; the replays are linked (replay_before.html, replay_after.html). Written
/// atomically.
/// @param limits  of the alarms, which are computed from the metrics
/// @throws Error naming the file (and line) that is not what it should be; the earlier report then stays.
void write_report(const std::filesystem::path& run_folder, const AlarmLimits& limits);

}  // namespace drift
