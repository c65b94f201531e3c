#pragma once

#include <core/report/terminal.h>
#include <core/sweep/launcher.h>
#include <core/sweep/sweep_plan.h>

#include <cstdint>
#include <deque>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace drift {

/// Where a sweep puts what it makes:
///
///     runs/KEY/            one run: what `drift train` writes, its settings.toml and output.txt
///     table.* runs.csv report.html sweep.toml cells.json
struct SweepFolder {
  std::filesystem::path path;

  std::filesystem::path run(const std::string& key) const { return path / "runs" / key; }
};

struct SweepOutcome {
  std::size_t failed = 0;  ///< runs that ended with an error
  int signal = 0;          ///< what stopped the sweep, or 0
};

/// Makes the runs of a plan that are not finished yet, each as a job of a launcher.
///
/// A run saves its state when it is told to stop, and begins or goes on from what its folder holds: whoever kills what
/// and when, calling this again ends with the same results.
class SweepRunner {
 public:
  /// @param sharing  runs that share this machine's threads
  SweepRunner(const SweepPlan& plan, SweepFolder folder, Launcher& launcher, std::size_t sharing, Terminal& terminal);

  /// Until every run is finished or has failed, or SIGINT or SIGTERM came and the runs of this machine have saved.
  SweepOutcome run();

 private:
  struct Active {
    std::size_t run;
    std::uintmax_t output_before;  ///< bytes of output.txt that earlier attempts wrote
  };
  enum class Turn { kNow, kLater, kNever };

  void start_some();
  Turn turn_of(std::size_t run);
  Job prepare(std::size_t run) const;
  void end(const JobEnd& job);
  void report_failure(const Active& active, const JobEnd& job);
  /// @return whether the runs go on without this program
  bool stop();
  void redraw();
  std::int64_t steps_done() const;
  int threads_for(const SweepRun& run) const;
  std::filesystem::path folder_of(std::size_t run) const { return folder_.run(plan_.runs[run].key); }

  const SweepPlan& plan_;
  SweepFolder folder_;
  Launcher& launcher_;
  std::size_t sharing_;
  Terminal& terminal_;
  std::deque<std::size_t> waiting_;
  std::map<std::string, Active> active_;  ///< by the run's key
  std::set<std::size_t> said_in_use_;
  std::size_t finished_ = 0;
  std::map<std::size_t, std::int64_t> steps_;  ///< done so far, by run
  std::int64_t all_steps_ = 0, steps_before_ = 0;
  double began_ = 0, drawn_ = 0;
  bool told_to_stop_ = false;
  SweepOutcome outcome_;
};

}  // namespace drift
