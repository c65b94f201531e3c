#pragma once

// A suite's TOML: a run's file with a [suite] section that says which tasks are answered how. docs/evaluation.md
// describes it.

#include <core/eval/cell.h>
#include <core/sweep/grid.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// Tasks whose columns stand in one table.
struct SuiteTable {
  std::string name;       ///< may be empty
  bool together = false;  ///< the schedules stand side by side in one table, else below each other
  std::size_t first = 0;  ///< its columns: [first, end) of SuiteFile::columns
  std::size_t end = 0;
};

/// Its axes are two: the schedules (one without a name where the file lists none), and the columns.
struct SuiteFile : Grid {
  std::filesystem::path published;  ///< figures to set beside; empty: none
  std::string backbone;             ///< whose of them; empty: the model's family
  std::vector<SuiteTable> tables;
  std::vector<EvaluationCell> columns;  ///< tasks and lengths, table by table; their schedules are left out
};

/// @throws ConfigError with every mistake of the [suite] section, or with those of load_document
SuiteFile read_suite_file(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides);

/// All cells, schedule by schedule, then column by column; labelled as they are named.
std::vector<GridCell> cells_of(const SuiteFile& suite);

EvaluationCell evaluation_cell(const SuiteFile& suite, const GridCell& cell);

}  // namespace drift
