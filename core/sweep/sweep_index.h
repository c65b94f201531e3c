#pragma once

// What a sweep calls its runs, for those who find its folder without its file.

#include <core/sweep/sweep_plan.h>

#include <filesystem>
#include <string>
#include <vector>

namespace drift {

struct IndexedRun {
  std::filesystem::path folder;
  std::string cell = {};      ///< label of the cell
  std::string baseline = {};  ///< of the cell that the sweep compares it with
  std::string name = {};      ///< "k=4, seed 2"; the cell's label where it has one run

  /// `name` or, where a sweep gave none, that of the folder: "quickstart".
  std::string title() const;
};

/// Write cells.json into the sweep's folder.
void write_sweep_index(const SweepPlan& plan, const std::filesystem::path& sweep);

/// All runs that it names, cell by cell in the order of the sweep's file and by seed, whether they have begun or not. A
/// run that cells share is there for each of them. Empty if the folder has no such file. @throws Error if it is damaged
std::vector<IndexedRun> read_sweep_index(const std::filesystem::path& sweep);

}  // namespace drift
