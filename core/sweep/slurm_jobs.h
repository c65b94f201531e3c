#pragma once

#include <core/sweep/launcher.h>

#include <memory>

namespace drift {

/// Jobs as tasks of Slurm's job arrays, which outlive this program. In the grid's folder:
///
///     slurm/array-1.sh       what was submitted, and which job each of its tasks is
///     slurm/12_3.txt         what Slurm and the shell of a task wrote
///     slurm/12_3.status      the exit status of its program
///
/// A job is never submitted while an earlier task of it waits or runs: squeue says of which script a task is.
///
/// Finds the tasks of earlier arrays. @throws Error if there are arrays and squeue fails
std::unique_ptr<Launcher> slurm_launcher(const Grid& grid, const LauncherSettings& settings, Say say);

}  // namespace drift
