#pragma once

#include <core/sweep/launcher.h>
#include <core/sweep/slurm_queue.h>
#include <core/sweep/slurm_script.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace drift {

/// Jobs as tasks of Slurm's job arrays, which outlive this program. In the grid's folder:
///
///     slurm/array-1.sh       what was submitted
///     slurm/array-1.json     Slurm's number of it, and which job each of its tasks is
///     slurm/12_3.txt         what Slurm and the shell of a task wrote
///     slurm/12_3.status      the exit status of its program
///
/// A job is never submitted while an earlier task of it waits or runs: array-N.json is written before sbatch is called,
/// and where this program died before it wrote the number down, squeue knows the script.
class SlurmJobs : public Launcher {
 public:
  /// Finds the tasks of earlier arrays. @throws Error if there are arrays and squeue fails
  SlurmJobs(const Grid& grid, const LauncherSettings& settings, Say say);

  std::size_t places() const override;
  bool has(const std::string& name) const override { return active_.contains(name); }
  void start(const std::vector<Job>& jobs) override;
  std::vector<JobEnd> wait(double seconds) override;
  std::vector<JobAtWork> at_work() const override;
  std::string stop(int signal) override;
  const char* step() const override { return "look at Slurm's queue"; }

 private:
  /// The lines of array-N.json.
  struct Array {
    std::string job;                ///< empty: not known
    std::vector<std::string> jobs;  ///< their names; task N is jobs[N - 1]
  };

  std::filesystem::path file(std::size_t array, const char* ending) const;
  void read_arrays();
  void write_array(std::size_t number, const Array& array) const;
  void find_earlier_tasks();
  void submit(const std::vector<Job>& jobs);
  JobEnd end_of(const std::string& name, const SlurmTask& task) const;
  void say_why_waiting(const SlurmTask& task);

  SlurmScript script_;
  Say say_;
  std::vector<Array> arrays_;                ///< array-1, …
  std::map<std::string, SlurmTask> active_;  ///< by the job's name
  std::map<std::string, double> began_;      ///< when a task of it was first seen at work; by the job's name
  std::set<std::string> said_;
  double next_look_ = 0, pause_ = 1;  ///< seconds; monotonic, and between two looks
};

}  // namespace drift
