#pragma once

// The results of a sweep as tables.

#include <core/report/text_table.h>
#include <core/sweep/sweep_results.h>

#include <string>
#include <vector>

namespace drift {

/// "73.0 ± 1.2"; one value has no error. Empty if it is not known. @param sign  also of what is above 0
std::string estimate_text(const Estimate& value, int digits, bool sign = false);

/// A mean as some function writes it; empty if it is not known.
std::string known_text(double value, std::string (*text)(double));
/// Evaluations of the model a response.
std::string evaluations_text(double value);

/// "8 of 12 runs are not finished"; empty if all are.
std::string missing_runs(std::size_t missing, std::size_t runs);

/// A row for every cell: the values of its axes, then what was measured. Columns of which nothing is known are left
/// out. "±" is a standard error over the seeds.
TextTable result_table(const SweepResults& results);

/// What each cell sets other than its baseline, presets' values included; empty where the labels say all.
TextTable settings_table(const SweepResults& results);

/// What the columns mean and which runs are missing, one sentence each.
std::vector<std::string> result_notes(const SweepResults& results);

/// Every number in a column of its own, with all its digits; unknown ones are empty.
TextTable result_numbers(const SweepResults& results);

/// A row for every run: cell, seed, folder, status, what it came to.
TextTable run_numbers(const SweepResults& results, const std::filesystem::path& runs);

}  // namespace drift
