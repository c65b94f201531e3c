#include <core/base/quote.h>
#include <core/eval/suite_jobs.h>

#include <core/base/stop_signal.h>
#include <core/eval/cell_summary.h>
#include <core/eval/record_file.h>
#include <core/io/atomic.h>
#include <core/report/progress.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <system_error>

namespace drift {
namespace {

constexpr double kSecondsBetweenLooks = 0.25;
constexpr double kSecondsBetweenCounts = 5;  // whole files are read

std::int64_t responses_in(const std::filesystem::path& file) {
  std::error_code failed;
  return std::filesystem::exists(file, failed) ? std::ranges::count(read_whole_file(file), '\n') : 0;
}

class CellWatch {
 public:
  CellWatch(Launcher& launcher, const std::vector<CellJob>& cells, const EvaluationFolder& folder, Terminal& terminal)
      : launcher_(launcher), folder_(folder), terminal_(terminal) {
    for (const CellJob& cell : cells) cells_[cell.job.name] = &cell;
  }

  CellJobsOutcome run() {
    const StopSignal stop(launcher_.step());
    start();
    while (left_ > 0) {
      if (StopSignal::received() != 0) {
        const std::string going_on = launcher_.stop(StopSignal::received());
        if (!going_on.empty()) terminal_.print(going_on);
        break;
      }
      redraw();
      for (const JobEnd& job : launcher_.wait(kSecondsBetweenLooks)) end(job);
    }
    terminal_.show_live({}, true);
    outcome_.signal = StopSignal::received();
    return outcome_;
  }

 private:
  void start() {
    std::vector<Job> jobs;
    for (const auto& [name, cell] : cells_) {
      if (!launcher_.has(name)) jobs.push_back(cell->job);
    }
    left_ = cells_.size();
    if (!jobs.empty()) launcher_.start(jobs);
  }

  void end(const JobEnd& job) {
    const auto found = cells_.find(job.name);
    if (found == cells_.end()) return;  // of a task that this command was not asked for
    --left_;
    const std::string place =
        "[" + std::to_string(cells_.size() - left_) + "/" + std::to_string(cells_.size()) + "] " + job.name;
    if (job.status == 0) {
      for (const auto& file : {folder_.settings(job.name), folder_.responses(job.name)}) look_again(file.parent_path());
      const auto settings = read_settings(folder_.settings(job.name));
      const auto records = RecordFile(folder_.responses(job.name)).records();
      terminal_.print(printable(place) + "  " +
                      result_line(summarise(found->second->cell, records, settings.responses), terminal_.unicode()));
      return;
    }
    ++outcome_.failed;
    terminal_.print(terminal_.styled("failed", Style::kWarning) + "  " +
                    printable(place + ": " + job.how + ", see " + found->second->job.output.string() +
                              (job.log.empty() ? "" : " and " + job.log.string())));
  }

  void redraw() {
    if (!terminal_.is_terminal() || terminal_.now() - drawn_ < kSecondsBetweenCounts) return;
    drawn_ = terminal_.now();
    std::string text = std::to_string(cells_.size() - left_) + "/" + std::to_string(cells_.size()) + " cells  " +
                       progress_bar(terminal_, static_cast<std::int64_t>(cells_.size() - left_),
                                    static_cast<std::int64_t>(cells_.size()), kWidestBar);
    std::size_t waiting = 0;
    std::string at_work;
    for (const JobAtWork& job : launcher_.at_work()) {
      waiting += job.is_waiting ? 1 : 0;
      if (!job.is_waiting)
        at_work += "  " + job.name + " " + std::to_string(responses_in(folder_.responses(job.name))) + " responses";
    }
    if (waiting > 0) text += "  " + std::to_string(waiting) + " waiting";
    terminal_.show_live(text + terminal_.styled(at_work, Style::kFaint));
  }

  Launcher& launcher_;
  const EvaluationFolder& folder_;
  Terminal& terminal_;
  std::map<std::string, const CellJob*> cells_;  // by the job's name
  std::size_t left_ = 0;
  double drawn_ = 0;
  CellJobsOutcome outcome_;
};

}  // namespace

CellJobsOutcome run_cell_jobs(Launcher& launcher, const std::vector<CellJob>& cells, const EvaluationFolder& folder,
                              Terminal& terminal) {
  return CellWatch(launcher, cells, folder, terminal).run();
}

}  // namespace drift
