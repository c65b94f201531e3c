#pragma once

// Where the runs of a sweep and the cells of a suite are made: in processes of this machine, or as tasks of a cluster.

#include <core/sweep/grid.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace drift {

/// One piece of work: a command of this program.
struct Job {
  std::string name;                      ///< its own in the grid, good for a file: a run's key, a cell
  std::string label;                     ///< for people
  std::vector<std::string> arguments;    ///< "train", …
  std::filesystem::path output;          ///< what it prints goes behind what is there
  std::filesystem::path continues = {};  ///< with --resume where this file is there when it begins; empty: never
};

struct JobEnd {
  std::string name;
  int status = 0;                  ///< as a shell tells it; -1: not known
  std::string how;                 ///< "exit status 1", "cancelled": for people
  double seconds = 0;              ///< at work, as far as this program saw it
  std::filesystem::path log = {};  ///< what else there is to read of it; may be empty
};

/// A job that was given to a launcher and has not ended.
struct JobAtWork {
  std::string name;
  bool is_waiting = false;  ///< for its turn, not yet running
};

/// Takes jobs, and tells when each has ended.
class Launcher {
 public:
  virtual ~Launcher() = default;

  /// How many jobs it has at a time.
  virtual std::size_t places() const = 0;
  /// Whether the job was begun by an earlier launcher of this grid, and has not ended: wait() tells of it too.
  virtual bool has(const std::string& name) const = 0;
  /// @param jobs  no more than there are places for
  /// @throws Error if they cannot be started
  virtual void start(const std::vector<Job>& jobs) = 0;
  /// For so many seconds, or until a job ends or a signal comes. @return the jobs that have ended since the last call
  virtual std::vector<JobEnd> wait(double seconds) = 0;
  virtual std::vector<JobAtWork> at_work() const = 0;
  /// The user wants to stop. Processes of this machine get the signal.
  /// @return what to tell where the jobs go on without this program; empty: they end, and wait() tells when
  virtual std::string stop(int signal) = 0;
  /// What is finished before that, for StopSignal: "step".
  virtual const char* step() const = 0;
};

/// "exit status 1", "ended by signal 9"
std::string how_it_ended(int status);

/// Before files of a job on another machine are looked for: an NFS client remembers that they were missing, and asks
/// again when their folder is opened.
void look_again(const std::filesystem::path& folder);

/// What a launcher says between its jobs: one line.
using Say = std::function<void(const std::string&)>;

inline constexpr const char* kLocalLauncher = "local";
inline constexpr const char* kSlurmLauncher = "slurm";
/// @throws Error if what the launcher needs is not here
void check_launcher(const std::string& name);

struct LauncherSettings {
  std::filesystem::path folder;  ///< of the grid's results
  std::size_t at_a_time = 0;     ///< jobs; 0: one locally, as many as the cluster lets run
};
/// @param name  one of the two above
std::unique_ptr<Launcher> make_launcher(const std::string& name, const Grid& grid, const LauncherSettings& settings,
                                        Say say);

}  // namespace drift
