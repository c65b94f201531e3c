#pragma once

// The results of a suite in the layout of published tables, with published figures beside them.

#include <core/eval/cell_summary.h>
#include <core/eval/published.h>
#include <core/eval/suite_file.h>
#include <core/report/text_table.h>

#include <filesystem>
#include <string>
#include <vector>

namespace drift {

struct SuiteResults {
  const SuiteFile* suite = nullptr;
  std::string name;                        ///< of the model that was evaluated, as its row has it
  std::vector<CellSummary> cells;          ///< in the order of cells_of(suite)
  std::vector<PublishedFigure> published;  ///< of the model's backbone
};

struct TitledTable {
  std::string title;
  TextTable table;
};

/// For each table of the suite and each schedule (or for all schedules side by side): a row for every published method,
/// one for their difference, one for this model and one for its standard error; a column for every task and length. The
/// best figures of a column stand out. A figure of a cell that is not complete begins with "~" and is no best.
std::vector<TitledTable> layout_tables(const SuiteResults& results);

/// What the signs in the tables mean, one sentence each.
std::vector<std::string> table_notes(const SuiteResults& results);

/// Tables, notes and the table of cells, as the terminal shows them.
std::string suite_text(const SuiteResults& results, bool unicode);

/// table.txt, table.csv (one header; the tables below each other), table.tex and cells.csv, each written atomically.
void write_suite_tables(const SuiteResults& results, const std::filesystem::path& folder);

}  // namespace drift
