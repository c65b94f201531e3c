#include <core/sweep/slurm_jobs.h>

#include <core/base/phase_timer.h>
#include <core/io/atomic.h>
#include <core/io/file_error.h>
#include <core/report/format.h>
#include <core/sweep/slurm_text.h>

#include <drift/error.h>

#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <set>
#include <system_error>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;

// Slurm's own limit is 1001 unless a cluster sets it (MaxArraySize).
constexpr std::size_t kLargestArray = 1000;
// Between two calls of squeue: soon after something changed, seldom while nothing does. All users share the controller.
constexpr double kShortestPause = 1, kLongestPause = 20, kPauseGrowth = 1.3;

/// What the shell of a task left; -1 if it left nothing.
int read_status(const fs::path& file) {
  if (!is_there(file)) return -1;
  const std::string text = read_whole_file(file);
  int status = -1;
  std::from_chars(text.data(), text.data() + text.size(), status);
  return status;
}

class SlurmJobs : public Launcher {
 public:
  SlurmJobs(const Grid& grid, const LauncherSettings& settings, Say say)
      : script_{grid.name,
                grid.slurm,
                fs::absolute(settings.folder).lexically_normal() / "slurm",
                fs::current_path(),
                fs::read_symlink("/proc/self/exe"),
                settings.at_a_time},
        say_(std::move(say)) {
    while (is_there(script_file(arrays_ + 1))) ++arrays_;
    if (arrays_ > 0) find_earlier_tasks();
  }

  std::size_t places() const override { return std::numeric_limits<std::size_t>::max(); }

  void start(const std::vector<Job>& jobs) override {
    for (std::size_t first = 0; first < jobs.size(); first += kLargestArray) {
      const auto begin = jobs.begin() + static_cast<std::ptrdiff_t>(first);
      submit({begin, begin + static_cast<std::ptrdiff_t>(std::min(kLargestArray, jobs.size() - first))});
    }
  }

  std::vector<JobEnd> wait(double seconds) override {
    ::poll(nullptr, 0, static_cast<int>(1000 * seconds));
    const double now = kProgramTimer.seconds();
    if (active_.empty() || now < next_look_) return {};
    std::vector<JobEnd> ended;
    bool changed = false;
    try {
      std::map<std::string, SlurmTask> known;
      for (SlurmTask& task : slurm_queue()) known[task.id] = std::move(task);
      for (auto& [name, task] : active_) {
        const auto found = known.find(task.id);
        const bool forgotten = found == known.end();
        changed = changed || forgotten || found->second.state != task.state;
        if (!forgotten) task = found->second;
        if (!task.is_waiting()) began_.try_emplace(name, now);
        if (forgotten || task.has_ended()) ended.push_back(end_of(name, task));
        if (!forgotten && task.is_waiting()) say_why_waiting(task);
      }
    } catch (const Error& error) {  // a controller that restarts: the tasks go on meanwhile
      if (said_.insert(error.what()).second) say_(std::string("waiting for Slurm: ") + error.what());
    }
    for (const JobEnd& end : ended) {
      active_.erase(end.name);
      began_.erase(end.name);
    }
    pause_ = changed ? kShortestPause : std::min(kLongestPause, pause_ * kPauseGrowth);
    next_look_ = now + pause_;
    return ended;
  }

  std::vector<JobAtWork> at_work() const override {
    std::vector<JobAtWork> jobs;
    for (const auto& [name, task] : active_) jobs.push_back({name, task.is_waiting()});
    return jobs;
  }

  std::string stop(int) override {
    if (active_.empty()) return {};
    std::set<std::string> jobs;
    std::size_t waiting = 0;
    for (const auto& [name, task] : active_) {
      jobs.insert(" " + task.job);
      waiting += task.is_waiting() ? 1 : 0;
    }
    std::string cancel = "scancel";
    for (const std::string& job : jobs) cancel += job;
    return count_of(active_.size(), "task") + " of Slurm " + (active_.size() == 1 ? "goes" : "go") +
           " on without this command, " + std::to_string(active_.size() - waiting) + " at work and " +
           std::to_string(waiting) + " waiting; to cancel: " + cancel;
  }

  bool has(const std::string& name) const override { return active_.contains(name); }
  const char* step() const override { return "look at Slurm's queue"; }

 private:
  fs::path script_file(std::size_t array) const { return script_.folder / ("array-" + std::to_string(array) + ".sh"); }

  void find_earlier_tasks() {
    std::map<std::string, std::vector<std::string>> names;  // of each job's tasks
    std::map<std::string, std::size_t> found;
    for (const SlurmTask& task : slurm_queue()) {
      std::error_code ignored;  // of scripts that are gone, and of other folders
      if (task.has_ended() || !fs::equivalent(task.script, script_.folder / task.script.filename(), ignored)) continue;
      std::vector<std::string>& jobs = names[task.job];
      if (jobs.empty()) jobs = jobs_in_slurm_script(read_whole_file(task.script));
      if (task.number < 1 || task.number > jobs.size()) continue;
      active_[jobs[task.number - 1]] = task;
      ++found[task.job];
    }
    for (const auto& [job, count] : found)
      say_("watching   job " + job + ": " + count_of(count, "task") + " of an earlier command at work or waiting");
  }

  void submit(const std::vector<Job>& jobs) {
    fs::create_directories(script_.folder);
    const fs::path script = script_file(++arrays_);
    write_file_atomically(script, slurm_script_text(script_, jobs));
    const std::string job = submit_to_slurm(script);
    for (std::size_t task = 1; task <= jobs.size(); ++task)
      active_[jobs[task - 1].name] = {job, job + "_" + std::to_string(task), task, "PENDING", "", script};
    say_("submitted  job " + job + ": " + count_of(jobs.size(), "task") + ", " + script.string());
    next_look_ = 0;
    pause_ = kShortestPause;
  }

  JobEnd end_of(const std::string& name, const SlurmTask& task) const {
    look_again(script_.folder);
    JobEnd end{name, read_status(script_.folder / (task.id + ".status")), task.how()};
    if (const auto began = began_.find(name); began != began_.end())
      end.seconds = kProgramTimer.seconds() - began->second;
    if (const fs::path log = script_.folder / (task.id + ".txt"); is_there(log)) end.log = log;
    // Slurm forgets at once what it cancels before it has begun.
    if (end.how.empty() && end.status < 0 && end.log.empty()) end.how = "cancelled before it began";
    if (!end.how.empty()) {
      end.how += " (Slurm task " + task.id + ")";
    } else if (end.status >= 0) {
      end.how = how_it_ended(end.status);
    } else {
      end.how = "the task left no exit status; sacct -j " + task.id + " may know more";
    }
    return end;
  }

  /// Tasks wait for their turn; other reasons may never pass.
  void say_why_waiting(const SlurmTask& task) {
    static constexpr std::array kUsual = {"",          "None",    "Priority", "Resources", "JobArrayTaskLimit",
                                          "BeginTime", "Cleaning"};
    if (std::ranges::find(kUsual, task.reason) != kUsual.end()) return;
    if (said_.insert(task.job + task.reason).second)
      say_("job " + task.job + " waits: " + task.reason + " (squeue --job " + task.job + ", scancel " + task.job + ")");
  }

  SlurmScript script_;
  Say say_;
  std::size_t arrays_ = 0;                   ///< array-1, …
  std::map<std::string, SlurmTask> active_;  ///< by the job's name
  std::map<std::string, double> began_;      ///< when a task of it was first seen at work; by the job's name
  std::set<std::string> said_;
  double next_look_ = 0, pause_ = 1;  ///< seconds of kProgramTimer, and between two looks
};

}  // namespace

std::unique_ptr<Launcher> slurm_launcher(const Grid& grid, const LauncherSettings& settings, Say say) {
  return std::make_unique<SlurmJobs>(grid, settings, std::move(say));
}

}  // namespace drift
