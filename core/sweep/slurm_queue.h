#pragma once

// What Slurm's own commands are asked, and what they answer.

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace drift {

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

/// @return the job's number
/// @throws Error with what sbatch wrote
std::string submit_to_slurm(const std::filesystem::path& script);

}  // namespace drift
