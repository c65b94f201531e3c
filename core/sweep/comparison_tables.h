#pragma once

// A comparison as tables: for people with "±" and few digits, for programs with every number in a column of its own.

#include <core/report/text_table.h>
#include <core/sweep/comparison.h>

#include <string>
#include <vector>

namespace drift {

/// What each line came to, over its finished runs. Columns of which nothing is known are left out.
TextTable line_table(const RunComparison& comparison);
TextTable line_numbers(const RunComparison& comparison);

/// The other lines against the baseline; no row where there is one line, or nothing that was measured. A corrected p
/// below 0.05 stands out.
TextTable difference_table(const RunComparison& comparison);
TextTable difference_numbers(const RunComparison& comparison);

/// A row for every run.
TextTable compared_runs(const RunComparison& comparison);

/// What the columns mean, which runs are missing, what could not be tested: one sentence each.
std::vector<std::string> comparison_notes(const RunComparison& comparison);

}  // namespace drift
