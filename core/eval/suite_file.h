#pragma once

// A suite's TOML: a run's file with a [suite] section that says which tasks are answered how. docs/evaluation.md
// describes it.

#include <core/config/document.h>
#include <core/eval/cell.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

struct SuiteLength {
  std::int64_t positions = 0;
  Origin origin;
};

struct SuiteSchedule {
  std::string name;
  Origin origin;
};

struct SuiteTask {
  std::string name;  ///< as the table prints it, and as files are named by
  ExtendedFile file;
  std::vector<SuiteLength> lengths;
};

/// Tasks whose columns stand in one table.
struct SuiteTable {
  std::string name;       ///< may be empty
  bool together = false;  ///< the schedules stand side by side in one table, else below each other
  std::vector<SuiteTask> tasks;
};

struct SuiteFile {
  std::filesystem::path file;
  std::vector<ConfigOverride> overrides;  ///< the command line's, for every cell
  std::string name;                       ///< the file's
  std::vector<SuiteSchedule> schedules;   ///< empty: as the configuration has it
  std::filesystem::path published;        ///< figures to set beside; empty: none
  std::string backbone;                   ///< whose of them; empty: the model's family
  std::vector<SuiteTable> tables;
};

/// @throws ConfigError with every mistake of the [suite] section, or with those of load_document
SuiteFile read_suite_file(const std::filesystem::path& file, const std::vector<ConfigOverride>& overrides);

/// A cell of a suite, and what its configuration is made of.
struct SuiteCell {
  EvaluationCell cell;
  const SuiteTask* task = nullptr;
  const SuiteLength* length = nullptr;
  const SuiteSchedule* schedule = nullptr;  ///< null where the suite names none
};

/// All cells, schedule by schedule, then task by task. The suite must outlive them.
std::vector<SuiteCell> cells_of(const SuiteFile& suite);

/// The configuration of a cell, not yet checked: the files that the suite's file extends, the task's file, the suite's
/// file without [suite], length and schedule, the command line; the last wins.
/// @throws ConfigError
ConfigDocument cell_document(const SuiteFile& suite, const SuiteCell& cell);

}  // namespace drift
