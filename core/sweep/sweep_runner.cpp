#include <core/sweep/sweep_runner.h>

#include <core/base/stop_signal.h>
#include <core/io/atomic.h>
#include <core/io/file_error.h>
#include <core/process/thread_limits.h>
#include <core/report/format.h>
#include <core/report/progress.h>
#include <core/sweep/run_record.h>

#include <drift/error.h>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <limits>
#include <sstream>

namespace drift {
namespace {

namespace fs = std::filesystem;

constexpr double kSecondsBetweenLooks = 0.25;
constexpr std::size_t kOutputLines = 8;
// This program, also where its file was replaced since it was started.
constexpr const char* kThisProgram = "/proc/self/exe";

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

}  // namespace

SweepRunner::SweepRunner(const SweepPlan& plan, SweepFolder folder, int jobs, Terminal& terminal)
    : plan_(plan), folder_(std::move(folder)), jobs_(static_cast<std::size_t>(jobs)), terminal_(terminal) {
  for (std::size_t run = 0; run < plan_.runs.size(); ++run) {
    const RunRecord record = glance_at_run(folder_of(run));
    const bool finished = record.status == RunStatus::kFinished;
    steps_[run] = finished ? plan_.runs[run].steps : record.step;
    all_steps_ += plan_.runs[run].steps;
    finished_ += finished ? 1 : 0;
    if (!finished) waiting_.push_back(run);
  }
  jobs_ = std::max<std::size_t>(1, std::min(jobs_, waiting_.size()));
  steps_before_ = steps_done();
  began_ = terminal_.now();
}

SweepOutcome SweepRunner::run() {
  const ChildWatch watch;
  const StopSignal stop;
  while (!waiting_.empty() || !active_.empty()) {
    if (StopSignal::received() != 0) pass_signal_on();
    if (!told_to_stop_) start_some();
    if (active_.empty() && (told_to_stop_ || waiting_.empty())) break;
    redraw();
    watch.wait(kSecondsBetweenLooks);
    for (std::size_t at = 0; at < active_.size();) {
      const auto ended = active_[at].process.end();
      if (ended) end(active_[at], ended->status());
      ended ? void(active_.erase(active_.begin() + static_cast<std::ptrdiff_t>(at))) : void(++at);
    }
  }
  terminal_.show_live({}, true);
  outcome_.signal = StopSignal::received();
  return outcome_;
}

void SweepRunner::start_some() {
  for (std::size_t tried = waiting_.size(); tried > 0 && active_.size() < jobs_; --tried) {
    const std::size_t run = waiting_.front();
    waiting_.pop_front();
    if (!start(run)) waiting_.push_back(run);
  }
}

/// @return false if the run is in use: an earlier sweep was killed, and the process that it left behind still saves.
bool SweepRunner::start(std::size_t number) {
  const SweepRun& run = plan_.runs[number];
  const fs::path folder = folder_of(number);
  if (is_in_use(folder)) {
    if (said_in_use_.insert(number).second)
      terminal_.print("waiting for process " + read_whole_file(folder / ".lock") + ", which is at work in " +
                      folder.string());
    return false;
  }
  if (glance_at_run(folder).status == RunStatus::kFinished) {
    ++finished_;
    return true;
  }
  fs::create_directories(folder);
  write_problem(folder, "");
  write_file_atomically(folder / "settings.toml", run.config.resolved_toml());
  const fs::path output = folder / "output.txt";
  const std::uintmax_t before = size_of(output);
  const int file = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) throw_file_error("write", output, errno);
  const Descriptor out(file, output.string());
  ChildCommand command{.arguments = {kThisProgram, "train", (folder / "settings.toml").string(), "--out",
                                     folder.string(), "--set", "run.threads=" + std::to_string(threads_for(run))},
                       .descriptors = {{out.get(), STDOUT_FILENO}, {out.get(), STDERR_FILENO}},
                       .end_signal = SIGTERM,
                       .ends_with_parent = true};
  if (has_begun(folder)) command.arguments.emplace_back("--resume");
  active_.push_back({number, ChildProcess(command), before, terminal_.now()});
  return true;
}

/// Runs that are made at the same time share the machine, unless their file says otherwise.
int SweepRunner::threads_for(const SweepRun& run) const {
  const auto chosen = static_cast<int>(run.config.section("run").get<std::int64_t>("threads"));
  if (chosen != 0 || jobs_ == 1) return chosen;
  return std::max(1, static_cast<int>(thread_limits().threads() / jobs_));
}

void SweepRunner::end(const Active& active, int status) {
  const RunRecord record = glance_at_run(folder_of(active.run));
  steps_[active.run] = record.step;
  if (status == 0 && record.status == RunStatus::kFinished) {
    ++finished_;
    terminal_.print(std::to_string(finished_) + "/" + std::to_string(plan_.runs.size()) + "  " +
                    plan_.runs[active.run].label + "  " + format_duration(terminal_.now() - active.started) +
                    result_text(folder_of(active.run), plan_.file.measure));
  } else if (!told_to_stop_ || status != 128 + StopSignal::received()) {
    report_failure(active, status);
  }
}

void SweepRunner::report_failure(const Active& active, int status) {
  ++outcome_.failed;
  const fs::path folder = folder_of(active.run), output = folder / "output.txt";
  const std::string how =
      status > 128 ? "ended by signal " + std::to_string(status - 128) : "exit status " + std::to_string(status);
  write_problem(folder, how);
  terminal_.print(terminal_.styled("failed", Style::kWarning) + "  " + plan_.runs[active.run].label + ": " + how +
                  " after " + format_duration(terminal_.now() - active.started) + ", the end of " + output.string() +
                  ":\n" + last_lines(output, active.output_before));
}

void SweepRunner::pass_signal_on() {
  if (told_to_stop_) return;
  told_to_stop_ = true;
  for (const Active& active : active_) active.process.send(StopSignal::received());
}

std::int64_t SweepRunner::steps_done() const {
  std::int64_t sum = 0;
  for (const auto& [run, steps] : steps_) sum += steps;
  return sum;
}

void SweepRunner::redraw() {
  if (!terminal_.is_terminal() || terminal_.now() - drawn_ < kSecondsBetweenLooks) return;
  drawn_ = terminal_.now();
  std::string at_work;
  for (const Active& active : active_) {
    const SweepRun& run = plan_.runs[active.run];
    steps_[active.run] = glance_at_run(folder_of(active.run)).step;
    at_work += "  " + run.label + " " + std::to_string(steps_[active.run]) + "/" + std::to_string(run.steps);
  }
  const std::int64_t done = steps_done();
  const double rate = static_cast<double>(done - steps_before_) / (drawn_ - began_);
  const double left = rate > 0 ? static_cast<double>(all_steps_ - done) / rate : kUnknown;
  const std::string speed = rate > 0 ? "  " + describe_rate(rate, "step") : "";
  terminal_.show_live(std::to_string(finished_) + "/" + std::to_string(plan_.runs.size()) + " runs  " +
                      progress_bar(terminal_, done, all_steps_, kWidestBar) + "  " + format_duration(left) + " left" +
                      speed + terminal_.styled(at_work, Style::kFaint));
}

}  // namespace drift
