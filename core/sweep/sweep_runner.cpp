#include <core/base/quote.h>
#include <core/sweep/sweep_runner.h>

#include <core/base/stop_signal.h>
#include <core/base/thread_limits.h>
#include <core/io/atomic.h>
#include <core/io/folder_lock.h>
#include <core/report/format.h>
#include <core/report/progress.h>
#include <core/sweep/run_record.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <sstream>
#include <vector>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr double kSecondsBetweenLooks = 0.25;
constexpr std::size_t kOutputLines = 8;

std::uintmax_t size_of(const fs::path& file) {
  std::error_code failed;
  const auto size = fs::file_size(file, failed);
  return failed ? 0 : size;
}

/// The last lines that an attempt wrote, each behind two spaces.
std::string last_lines(const fs::path& file, std::uintmax_t before) {
  std::deque<std::string> lines;
  std::istringstream text(fs::exists(file) ? read_whole_file(file).substr(before) : "");
  for (std::string line; std::getline(text, line);) {
    if (line.empty()) continue;
    lines.push_back("    " + line + "\n");
    if (lines.size() > kOutputLines) lines.pop_front();
  }
  std::string all;
  for (const std::string& line : lines) all += line;
  return all;
}

std::string result_text(const fs::path& folder, const SweepMeasure& measure) {
  const double value = measure.of(read_run(folder));
  const std::string unit = measure.unit;
  if (std::isnan(value)) return {};
  return "  " + std::string(measure.name) + " " + format_decimal(value, measure.digits) +
         (unit.empty() ? "" : " " + unit);
}

class SweepRunner {
 public:
  SweepRunner(const SweepPlan& plan, const SweepFolder& folder, Launcher& launcher, std::size_t sharing,
              Terminal& terminal)
      : plan_(plan), folder_(folder), launcher_(launcher), terminal_(terminal) {
    for (std::size_t run = 0; run < plan_.runs.size(); ++run) {
      const RunRecord record = glance_at_run(folder_of(run));
      const bool finished = record.status == RunStatus::kFinished;
      steps_[run] = finished ? plan_.runs[run].steps : record.step;
      all_steps_ += plan_.runs[run].steps;
      finished_ += finished ? 1 : 0;
      if (!finished) waiting_.push_back(run);
    }
    sharing_ = std::max<std::size_t>(1, std::min(sharing, waiting_.size()));
    steps_before_ = steps_done();
    began_ = terminal_.now();
  }

  SweepOutcome run() {
    const StopSignal stop_signal(launcher_.step());
    while (!waiting_.empty() || !active_.empty()) {
      if (StopSignal::received() != 0 && stop()) break;
      if (!told_to_stop_) start_some();
      if (active_.empty() && (told_to_stop_ || waiting_.empty())) break;
      redraw();
      for (const JobEnd& job : launcher_.wait(kSecondsBetweenLooks)) end(job);
    }
    terminal_.show_live({}, true);
    outcome_.signal = StopSignal::received();
    return outcome_;
  }

 private:
  struct Active {
    std::size_t run;
    std::uintmax_t output_before;  ///< bytes of output.txt that earlier attempts wrote
  };
  enum class Turn { kNow, kLater, kNever };

  std::filesystem::path folder_of(std::size_t run) const { return folder_.run(plan_.runs[run].key); }

  void start_some() {
    std::vector<Job> jobs;
    for (std::size_t tried = waiting_.size(); tried > 0 && active_.size() < launcher_.places(); --tried) {
      const std::size_t run = waiting_.front();
      waiting_.pop_front();
      const std::string& key = plan_.runs[run].key;
      const bool at_work = launcher_.has(key);  // of an earlier command
      const Turn turn = at_work ? Turn::kNow : turn_of(run);
      if (turn == Turn::kLater) waiting_.push_back(run);
      if (turn != Turn::kNow) continue;
      if (!at_work) jobs.push_back(prepare(run));
      active_[key] = {run, size_of(folder_of(run) / "output.txt")};
    }
    if (!jobs.empty()) launcher_.start(jobs);
  }

  /// A run may be in use: an earlier sweep was killed, and the process that it left behind still saves.
  Turn turn_of(std::size_t run) {
    const fs::path folder = folder_of(run);
    if (const auto holder = FolderLock::holder(folder)) {
      if (said_in_use_.insert(run).second)
        terminal_.print(printable("waiting for " + *holder + ", which is at work in " + folder.string()));
      return Turn::kLater;
    }
    if (glance_at_run(folder).status != RunStatus::kFinished) return Turn::kNow;
    ++finished_;
    return Turn::kNever;
  }

  Job prepare(std::size_t number) const {
    const SweepRun& run = plan_.runs[number];
    const fs::path folder = folder_of(number);
    fs::create_directories(folder);
    write_problem(folder, "");
    write_file_atomically(folder / "settings.toml", run.config.resolved_toml());
    return {.name = run.key,
            .label = run.label,
            .arguments = {"train", (folder / "settings.toml").string(), "--out", folder.string(), "--set",
                          "run.threads=" + std::to_string(threads_for(run))},
            .output = folder / "output.txt",
            .continues = begun_file(folder)};
  }

  /// Runs that are made at the same time share the machine, unless their file says otherwise.
  int threads_for(const SweepRun& run) const {
    const auto chosen = static_cast<int>(run.config.get<RunSettings>().threads);
    if (chosen != 0 || sharing_ == 1) return chosen;
    return std::max(1, static_cast<int>(thread_limits().threads() / sharing_));
  }

  void end(const JobEnd& job) {
    const auto found = active_.find(job.name);
    if (found == active_.end()) return;  // of a run that the file no longer asks for
    const Active active = found->second;
    active_.erase(found);
    look_again(folder_of(active.run));
    const RunRecord record = glance_at_run(folder_of(active.run));
    steps_[active.run] = record.step;
    if (job.status == 0 && record.status == RunStatus::kFinished) {
      ++finished_;
      terminal_.print(printable(std::to_string(finished_) + "/" + std::to_string(plan_.runs.size()) + "  " +
                                plan_.runs[active.run].label + "  " + format_duration(job.seconds) +
                                result_text(folder_of(active.run), plan_.file.measure)));
    } else if (!told_to_stop_ || job.status != 128 + StopSignal::received()) {
      report_failure(active, job);
    }
  }

  void report_failure(const Active& active, const JobEnd& job) {
    ++outcome_.failed;
    const fs::path folder = folder_of(active.run), output = folder / "output.txt";
    write_problem(folder, job.how);
    std::string text = "  " + plan_.runs[active.run].label + ": " + job.how + " after " + format_duration(job.seconds) +
                       ", the end of " + output.string() + ":\n" + last_lines(output, active.output_before);
    if (!job.log.empty()) text += "  and of " + job.log.string() + ":\n" + last_lines(job.log, 0);
    terminal_.print(terminal_.styled("failed", Style::kWarning) + printable(text));
  }

  /// @return whether the runs go on without this program
  bool stop() {
    if (told_to_stop_) return false;
    told_to_stop_ = true;
    const std::string going_on = launcher_.stop(StopSignal::received());
    if (!going_on.empty()) terminal_.print(going_on);
    return !going_on.empty();
  }

  std::int64_t steps_done() const {
    std::int64_t sum = 0;
    for (const auto& [run, steps] : steps_) sum += steps;
    return sum;
  }

  void redraw() {
    if (!terminal_.is_terminal() || terminal_.now() - drawn_ < kSecondsBetweenLooks) return;
    drawn_ = terminal_.now();
    std::string at_work;
    std::size_t waiting = 0;
    for (const JobAtWork& job : launcher_.at_work()) {
      waiting += job.is_waiting ? 1 : 0;
      const auto active = active_.find(job.name);
      if (job.is_waiting || active == active_.end()) continue;
      const std::size_t number = active->second.run;
      const SweepRun& run = plan_.runs[number];
      steps_[number] = glance_at_run(folder_of(number)).step;
      at_work += "  " + run.label + " " + std::to_string(steps_[number]) + "/" + std::to_string(run.steps);
    }
    if (waiting > 0) at_work = "  " + std::to_string(waiting) + " waiting" + at_work;
    const std::int64_t done = steps_done();
    const double rate = static_cast<double>(done - steps_before_) / (drawn_ - began_);
    const double left = rate > 0 ? static_cast<double>(all_steps_ - done) / rate : kUnknown;
    const std::string speed = rate > 0 ? "  " + describe_rate(rate, "step") : "";
    terminal_.show_live(std::to_string(finished_) + "/" + std::to_string(plan_.runs.size()) + " runs  " +
                        progress_bar(terminal_, done, all_steps_, kWidestBar) + "  " + format_duration(left) + " left" +
                        speed + terminal_.styled(at_work, Style::kFaint));
  }

  const SweepPlan& plan_;
  const SweepFolder& folder_;
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

}  // namespace

SweepOutcome run_sweep(const SweepPlan& plan, const SweepFolder& folder, Launcher& launcher, std::size_t sharing,
                       Terminal& terminal) {
  return SweepRunner(plan, folder, launcher, sharing, terminal).run();
}

}  // namespace drift
