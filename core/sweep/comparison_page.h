#pragma once

// Runs side by side as a page: a comparison with every figure and table on its own, for a paper, and a sweep.

#include <core/sweep/comparison.h>
#include <core/sweep/sweep_results.h>

#include <filesystem>
#include <string>

namespace drift {

/// Writes into a folder, which is made if it is missing:
///
///     index.html                    everything, for screen and print
///     FIGURE.svg FIGURE.csv         a figure, and what it draws
///     results.tex results.csv       what the lines came to
///     differences.tex .csv          the paired differences, where there are any
///     runs.csv                      a row for every run
///
/// @throws Error if the folder is that of a run, or cannot be written
void write_comparison(const RunComparison& comparison, const std::filesystem::path& folder);

/// The page of a sweep in its folder, report.html: the table, the curves of every group of cells, the runs.
std::string sweep_report(const SweepResults& results, const std::filesystem::path& folder);

}  // namespace drift
