#pragma once

// A grid: every combination of some values, each with a configuration of its own. Sweeps and evaluation suites are
// such: run's files with a section that says what varies.

#include <core/config/document.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace drift {

/// Settings of an axis value that hold only together with certain values of other axes.
struct GridException {
  std::map<std::string, std::vector<std::string>> where;  ///< axis -> names of its values
  ConfigLayer settings;
};

/// One value of an axis: a bundle of files and settings under a name.
struct GridValue {
  std::string name;
  std::vector<ExtendedFile> extends;
  ConfigLayer settings;
  std::vector<GridException> exceptions = {};  ///< in the file's order, the later wins
};

struct GridAxis {
  std::string name;  ///< the key, where the axis is one
  bool is_key = false;
  std::vector<GridValue> values = {};  ///< at least one

  /// "k=4" for a key; the value alone where the axis has a name or the key is a component's.
  std::string label(std::size_t value) const;
};

/// What tasks of a Slurm cluster ask for; what is empty is left to the cluster.
struct SlurmSettings {
  std::string partition;
  std::string time;                ///< the limit of a task, as sbatch takes it: "04:00:00"
  std::int64_t gpus = 0;           ///< of a task
  std::vector<std::string> lines;  ///< further options of sbatch: "--mem=32G"
};

struct Grid {
  std::filesystem::path file;
  std::string section;                    ///< of the file, where it says what varies
  std::vector<ConfigOverride> overrides;  ///< the command line's, for every cell
  std::string name;                       ///< the file's unless it says another
  std::vector<GridAxis> axes;             ///< the first varies slowest
  SlurmSettings slurm = {};               ///< where a cluster makes its cells
};

/// One point of the grid: a value of every axis.
struct GridCell {
  std::vector<std::size_t> values;  ///< index of the value, one an axis
  std::string label;                ///< "small, k=4"; the grid's name if there are no axes
};

/// Each cell is a configuration of its own.
inline constexpr std::size_t kMostCells = 1'000;
/// Of a sweep: cells with each seed.
inline constexpr std::size_t kMostRuns = 10'000;

/// Every combination; the last axis varies fastest. One cell if there are no axes.
/// @throws Error if they are more than kMostCells
std::vector<GridCell> expand_grid(const Grid& grid);

/// The configuration of every cell, not yet checked: what the file extends, what the cell's values extend, the file
/// without the grid's section, the values' settings, the command line; the last wins.
/// @throws ConfigError with the mistakes of all cells, each of them once
std::vector<ConfigDocument> cell_documents(const Grid& grid, const std::vector<GridCell>& cells);

/// Call action(number) for every one of some cells. What it finds wrong, in a ConfigError or in an Error, is a mistake
/// of the cell. @throws ConfigError with all of them, each once, with the cells that it is in unless it is in every one
void for_every_cell(const std::vector<std::string>& labels, const std::function<void(std::size_t)>& action);
void for_every_cell(const std::vector<GridCell>& cells, const std::function<void(std::size_t)>& action);

}  // namespace drift
