#pragma once

#include <core/sweep/sweep_results.h>

#include <string>

namespace drift {

/// report.html of a sweep: the table, then for every group a picture per measure with a line for each of its cells: the
/// mean over the seeds, in a band from the lowest to the highest of them. Below, every run with a link to its own
/// report.
std::string sweep_report(const SweepResults& results);

}  // namespace drift
