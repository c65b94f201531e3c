#pragma once

#include <core/process/child_process.h>
#include <core/report/terminal.h>
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
///     table.* runs.csv report.html sweep.toml
struct SweepFolder {
  std::filesystem::path path;

  std::filesystem::path run(const std::string& key) const { return path / "runs" / key; }
};

struct SweepOutcome {
  std::size_t failed = 0;  ///< runs that ended with an error
  int signal = 0;          ///< what stopped the sweep, or 0
};

/// Makes the runs of a plan that are not finished yet, each in a process of this same program.
///
/// The processes save their state when they are told to stop, and each run begins or goes on from what its folder
/// holds: whoever kills what and when, calling this again ends with the same results.
class SweepRunner {
 public:
  /// @param jobs  runs at a time
  SweepRunner(const SweepPlan& plan, SweepFolder folder, int jobs, Terminal& terminal);

  /// Until every run is finished or has failed, or SIGINT or SIGTERM came and the runs at work have saved.
  SweepOutcome run();

 private:
  struct Active {
    std::size_t run;
    ChildProcess process;
    std::uintmax_t output_before;  ///< bytes of output.txt that earlier attempts wrote
    double started;
  };

  void start_some();
  bool start(std::size_t run);
  void end(const Active& active, int status);
  void report_failure(const Active& active, int status);
  void pass_signal_on();
  void redraw();
  std::int64_t steps_done() const;
  int threads_for(const SweepRun& run) const;
  std::filesystem::path folder_of(std::size_t run) const { return folder_.run(plan_.runs[run].key); }

  const SweepPlan& plan_;
  SweepFolder folder_;
  std::size_t jobs_;
  Terminal& terminal_;
  std::deque<std::size_t> waiting_;
  std::vector<Active> active_;
  std::set<std::size_t> said_in_use_;
  std::size_t finished_ = 0;
  std::map<std::size_t, std::int64_t> steps_;  ///< done so far, by run
  std::int64_t all_steps_ = 0, steps_before_ = 0;
  double began_ = 0, drawn_ = 0;
  bool told_to_stop_ = false;
  SweepOutcome outcome_;
};

}  // namespace drift
