#include <core/sweep/slurm_jobs.h>

#include <core/io/atomic.h>
#include <core/io/json.h>

#include <drift/error.h>

#include <nlohmann/json.hpp>

#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <limits>
#include <system_error>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;

// Slurm's own limit is 1001 unless a cluster sets it (MaxArraySize).
constexpr std::size_t kLargestArray = 1000;
// Between two calls of squeue: soon after something changed, seldom while nothing does. All users share the controller.
constexpr double kShortestPause = 1, kLongestPause = 20, kPauseGrowth = 1.3;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// What the shell of a task left; -1 if it left nothing.
int read_status(const fs::path& file) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return -1;
  const std::string text = read_whole_file(file);
  int status = -1;
  std::from_chars(text.data(), text.data() + text.size(), status);
  return status;
}

std::string count_of(std::size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

SlurmJobs::SlurmJobs(const Grid& grid, const LauncherSettings& settings, Say say)
    : script_{grid.name,
              grid.slurm,
              {fs::absolute(settings.folder).lexically_normal() / "slurm"},
              fs::current_path(),
              fs::read_symlink("/proc/self/exe"),
              settings.at_a_time},
      say_(std::move(say)) {
  read_arrays();
  if (!arrays_.empty()) find_earlier_tasks();
}

fs::path SlurmJobs::file(std::size_t array, const char* ending) const {
  return script_.files.folder / ("array-" + std::to_string(array) + ending);
}

void SlurmJobs::read_arrays() {
  std::error_code ignored;
  for (std::size_t number = 1; fs::exists(file(number, ".json"), ignored); ++number) {
    const nlohmann::json json = read_json_object(file(number, ".json"));
    try {
      arrays_.push_back({json.at("job"), json.at("tasks")});
    } catch (const nlohmann::json::exception& error) {
      throw Error(file(number, ".json").string() + " does not say which tasks were submitted: " + json_problem(error),
                  "cancel what still runs (squeue --me), and remove the folder " + script_.files.folder.string());
    }
  }
}

void SlurmJobs::write_array(std::size_t number, const Array& array) const {
  const nlohmann::ordered_json json = {{"job", array.job}, {"tasks", array.jobs}};
  write_file_atomically(file(number, ".json"), json_text(json, 1) + "\n");
}

void SlurmJobs::find_earlier_tasks() {
  std::set<std::string> jobs;
  for (const SlurmTask& task : slurm_queue()) {
    for (std::size_t number = 1; number <= arrays_.size(); ++number) {
      Array& array = arrays_[number - 1];
      if (array.job.empty() && task.script == file(number, ".sh")) {
        array.job = task.job;
        write_array(number, array);
      }
      // Another cluster's job may have the same number.
      const bool same = array.job == task.job && task.script.filename() == file(number, ".sh").filename();
      if (!same || task.number < 1 || task.number > array.jobs.size() || task.has_ended()) continue;
      active_[array.jobs[task.number - 1]] = task;
      jobs.insert(task.job);
    }
  }
  for (const std::string& job : jobs) {
    const auto count = std::ranges::count_if(active_, [&](const auto& one) { return one.second.job == job; });
    say_("watching   job " + job + ": " + count_of(static_cast<std::size_t>(count), "task") +
         " of an earlier command at work or waiting");
  }
}

std::size_t SlurmJobs::places() const { return std::numeric_limits<std::size_t>::max(); }

void SlurmJobs::start(const std::vector<Job>& jobs) {
  for (std::size_t first = 0; first < jobs.size(); first += kLargestArray) {
    const auto begin = jobs.begin() + static_cast<std::ptrdiff_t>(first);
    submit({begin, begin + static_cast<std::ptrdiff_t>(std::min(kLargestArray, jobs.size() - first))});
  }
}

void SlurmJobs::submit(const std::vector<Job>& jobs) {
  std::vector<Job> absolute = jobs;
  Array array;
  for (Job& job : absolute) {
    job.output = fs::absolute(job.output).lexically_normal();
    if (!job.continues.empty()) job.continues = fs::absolute(job.continues).lexically_normal();
    array.jobs.push_back(job.name);
  }
  fs::create_directories(script_.files.folder);
  const std::size_t number = arrays_.size() + 1;
  const fs::path script = file(number, ".sh");
  write_file_atomically(script, slurm_script_text(script_, absolute));
  write_array(number, array);
  arrays_.push_back(array);
  arrays_.back().job = submit_to_slurm(script);
  write_array(number, arrays_.back());
  const std::string& job = arrays_.back().job;
  for (std::size_t task = 1; task <= jobs.size(); ++task)
    active_[jobs[task - 1].name] = {job, job + "_" + std::to_string(task), task, "PENDING", "", script};
  say_("submitted  job " + job + ": " + count_of(jobs.size(), "task") + ", " + script.string());
  next_look_ = 0;
  pause_ = kShortestPause;
}

std::vector<JobEnd> SlurmJobs::wait(double seconds) {
  ::poll(nullptr, 0, static_cast<int>(1000 * seconds));
  if (active_.empty() || now() < next_look_) return {};
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
      if (!task.is_waiting()) began_.try_emplace(name, now());
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
  next_look_ = now() + pause_;
  return ended;
}

JobEnd SlurmJobs::end_of(const std::string& name, const SlurmTask& task) const {
  look_again(script_.files.folder);
  JobEnd end{name, read_status(script_.files.status(task.id)), task.how()};
  if (const auto began = began_.find(name); began != began_.end()) end.seconds = now() - began->second;
  std::error_code ignored;
  if (fs::exists(script_.files.log(task.id), ignored)) end.log = script_.files.log(task.id);
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
void SlurmJobs::say_why_waiting(const SlurmTask& task) {
  static constexpr std::array kUsual = {"",          "None",    "Priority", "Resources", "JobArrayTaskLimit",
                                        "BeginTime", "Cleaning"};
  if (std::ranges::find(kUsual, task.reason) != kUsual.end()) return;
  if (said_.insert(task.job + task.reason).second)
    say_("job " + task.job + " waits: " + task.reason + " (squeue --job " + task.job + ", scancel " + task.job + ")");
}

std::vector<JobAtWork> SlurmJobs::at_work() const {
  std::vector<JobAtWork> jobs;
  for (const auto& [name, task] : active_) jobs.push_back({name, task.is_waiting()});
  return jobs;
}

std::string SlurmJobs::stop(int) {
  if (active_.empty()) return {};
  std::set<std::string> jobs;
  std::size_t waiting = 0;
  for (const auto& [name, task] : active_) {
    jobs.insert(task.job);
    waiting += task.is_waiting() ? 1 : 0;
  }
  std::string cancel = "scancel";
  for (const std::string& job : jobs) cancel += " " + job;
  return count_of(active_.size(), "task") + " of Slurm " + (active_.size() == 1 ? "goes" : "go") +
         " on without this command, " + std::to_string(active_.size() - waiting) + " at work and " +
         std::to_string(waiting) + " waiting; to cancel: " + cancel;
}

}  // namespace drift
