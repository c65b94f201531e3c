#pragma once

// The results of a sweep as tables.

#include <core/sweep/sweep_results.h>

#include <string>
#include <vector>

namespace drift {

/// Cells of text, laid out by the functions below.
struct TextTable {
  std::vector<std::string> titles;
  std::vector<bool> is_number;  ///< of every column: aligned to the right
  std::vector<std::vector<std::string>> rows;
};

/// A row for every cell: the values of its axes, then what was measured. Columns of which nothing is known are left
/// out. "±" is a standard error over the seeds.
TextTable result_table(const SweepResults& results);

/// What the columns mean and which runs are missing, one sentence each.
std::vector<std::string> result_notes(const SweepResults& results);

/// Every number in a column of its own, with all its digits; unknown ones are empty.
TextTable result_numbers(const SweepResults& results);

/// A row for every run: cell, seed, folder, status, what it came to.
TextTable run_numbers(const SweepResults& results, const std::filesystem::path& runs);

/// Lines up in a terminal; without Unicode, "+-" for "±".
std::string to_text(const TextTable& table, bool unicode);
/// RFC 4180, but for line feeds alone as line ends.
std::string to_csv(const TextTable& table);
/// A `tabular` that needs no package; every special character escaped.
std::string to_latex(const TextTable& table);
std::string to_markdown(const TextTable& table);
/// A <table>.
std::string to_html(const TextTable& table);

}  // namespace drift
