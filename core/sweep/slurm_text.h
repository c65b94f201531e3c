#pragma once

// What Slurm is given, a job array as a batch script, and what its commands answer.

#include <core/sweep/launcher.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

/// A job array, one job a task.
struct SlurmScript {
  std::string name;  ///< of the grid
  SlurmSettings settings;
  std::filesystem::path folder;   ///< absolute: of what tasks leave, JOB_TASK.txt (their shell and Slurm) and .status
  std::filesystem::path working;  ///< where relative paths of the jobs count from
  std::filesystem::path program;  ///< this one
  std::size_t at_a_time = 0;      ///< tasks; 0: no limit
};

/// For people to read as for sbatch to run: its options, a case for every task, one call of the program.
/// @param jobs  task N, from 1, is jobs[N - 1]
std::string slurm_script_text(const SlurmScript& script, const std::vector<Job>& jobs);

/// The names of its jobs.
std::vector<std::string> jobs_in_slurm_script(std::string_view text);

/// @return the job's number
/// @throws Error with what sbatch wrote
std::string submit_to_slurm(const std::filesystem::path& script);

/// A line of squeue: one task of a job array.
struct SlurmTask {
  std::string job = {};               ///< "12"
  std::string id = {};                ///< "12_3"
  std::size_t number = 0;             ///< 3
  std::string state = {};             ///< "PENDING", "RUNNING", "TIMEOUT": as squeue writes it in full
  std::string reason = {};            ///< why it waits or has ended: "Resources"
  std::filesystem::path script = {};  ///< that was submitted

  bool is_waiting() const;
  /// A job that Slurm will start again has not.
  bool has_ended() const;
  /// "cancelled", "time limit reached"; empty where the exit status says more.
  std::string how() const;
};

/// The tasks in what `squeue --array --noheader --format=kSlurmFormat` printed; other jobs are left out.
inline constexpr const char* kSlurmFormat = "%i|%T|%r|%o";
std::vector<SlurmTask> parse_slurm_queue(std::string_view text);

/// All tasks of this user that Slurm still knows; it forgets those that ended after some minutes.
/// @throws Error if squeue fails
std::vector<SlurmTask> slurm_queue();

}  // namespace drift
