#pragma once

// What a run prints: a header line, a table of steps above a live line, warnings, a closing summary.

#include <core/base/unknown.h>
#include <core/record/step_record.h>
#include <core/report/progress.h>
#include <core/report/terminal.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace drift {

/// First line of a run. Empty or zero fields are left out.
struct RunHeader {
  std::string version = {};
  std::string algorithm = {};  ///< with the parts that are not its own, or "pretrain"
  std::string model = {};
  std::int64_t parameters = 0;
  std::string data_type = {};  ///< "float32"
  std::string task = {};
  std::string device = {};  ///< "cpu"
  std::int64_t ranks = 1;   ///< processes; one is not worth a word
  int threads = 0;          ///< of each
  std::string run_folder = {};
  std::int64_t resumed_at = 0;  ///< last finished step of the run that goes on
};

/// Which columns a run has.
enum class RunKind { kTrain, kPretrain };

struct RunPlan {
  RunKind kind = RunKind::kTrain;
  std::int64_t first_step = 1;  ///< of this start; a resumed run begins later than 1
  std::int64_t steps = 0;       ///< number of the last step
  bool evaluates = false;       ///< some rows have held_out
};

/// The end of a run. Empty or missing fields are left out.
struct RunClosing {
  std::int64_t last_step = 0;
  bool interrupted = false;
  std::optional<HeldOutResult> before = {}, after = {};
  std::string decoding = {};  ///< how the held-out items were answered: "greedy"
  double seconds = kUnknown;  ///< of training
  double evaluation_seconds = kUnknown, start_seconds = kUnknown;
  double total_seconds = kUnknown;  ///< these and what lies between them
  double peak_memory_mib = kUnknown;
  std::vector<std::pair<std::string, std::int64_t>> warnings = {};  ///< what went wrong in how many steps
  std::string profile = {};                                         ///< profile_table()
  std::string checkpoint = {};                                      ///< the last one on disk
  std::string report = {};
  std::string resume_command = {};
};

/// Shows one run. Warnings (log_warning) of any thread appear in it during its lifetime; everything else comes from one
/// thread.
class RunDisplay {
 public:
  explicit RunDisplay(Terminal& terminal);
  ~RunDisplay();
  RunDisplay(const RunDisplay&) = delete;
  RunDisplay& operator=(const RunDisplay&) = delete;

  void header(const RunHeader& header);

  /// Titles of the table, and the live line.
  void begin(const RunPlan& plan);

  /// A finished step. Each printed row is the mean over the steps since the row before it; rows come every few steps,
  /// at every evaluation, at the last step, and at least every twenty seconds.
  void step(const StepRecord& step);

  /// What the current step is busy with, on the live line only: ("rollout", 32, 128).
  void activity(std::string_view what, std::int64_t done, std::int64_t total);

  /// A line for the user: "finishing step 37, then saving; Ctrl-C again exits immediately".
  void message(std::string_view text);

  void close(const RunClosing& closing);

 private:
  void print_titles();
  void print_row();
  void redraw(std::string_view activity, bool at_once);

  Terminal& terminal_;
  RunPlan plan_;
  std::vector<int> columns_;  // indices into the table of columns, those that fit
  std::int64_t row_every_ = 1;
  std::vector<StepRecord> pending_;  // steps since the last printed row
  RateEstimator rate_;
  double printed_at_ = 0;
  int rows_since_titles_ = 0;
  std::int64_t done_ = 0;
  double last_reward_ = kUnknown;
};

}  // namespace drift
