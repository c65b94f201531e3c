#pragma once

// A job array of Slurm as a batch script, one job a task.

#include <core/sweep/launcher.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace drift {

/// Where a task's shell and Slurm itself write, and where its exit status is left: FOLDER/JOB_TASK.txt and .status.
struct SlurmTaskFiles {
  std::filesystem::path folder;

  std::filesystem::path log(const std::string& task) const { return folder / (task + ".txt"); }
  std::filesystem::path status(const std::string& task) const { return folder / (task + ".status"); }
};

struct SlurmScript {
  std::string name;  ///< of the grid
  SlurmSettings settings;
  SlurmTaskFiles files;           ///< an absolute path
  std::filesystem::path working;  ///< where relative paths of the jobs count from
  std::filesystem::path program;  ///< this one
  std::size_t at_a_time = 0;      ///< tasks; 0: no limit
};

/// For people to read as for sbatch to run: its options, a case for every task, one call of the program.
/// @param jobs  task N, from 1, is jobs[N - 1]
std::string slurm_script_text(const SlurmScript& script, const std::vector<Job>& jobs);

}  // namespace drift
