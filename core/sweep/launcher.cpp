#include <core/sweep/launcher.h>

#include <core/base/child_process.h>
#include <core/base/phase_timer.h>
#include <core/io/file_error.h>
#include <core/sweep/slurm_jobs.h>

#include <drift/error.h>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

namespace drift {
namespace {

namespace fs = std::filesystem;

// This program, also where its file was replaced since it was started.
constexpr const char* kThisProgram = "/proc/self/exe";

/// Processes of this machine, which end with this one.
class LocalJobs : public Launcher {
 public:
  explicit LocalJobs(std::size_t places) : places_(std::max<std::size_t>(1, places)) {}

  std::size_t places() const override { return places_; }
  bool has(const std::string&) const override { return false; }

  void start(const std::vector<Job>& jobs) override {
    for (const Job& job : jobs) {
      const int file = ::open(job.output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
      if (file < 0) throw_file_error("write", job.output, errno);
      const Descriptor out(file, job.output.string());
      ChildCommand command{.arguments = {kThisProgram},
                           .descriptors = {{out.get(), STDOUT_FILENO}, {out.get(), STDERR_FILENO}},
                           .end_signal = SIGTERM,
                           .ends_with_parent = true};
      command.arguments.insert(command.arguments.end(), job.arguments.begin(), job.arguments.end());
      std::error_code ignored;
      if (!job.continues.empty() && fs::exists(job.continues, ignored)) command.arguments.emplace_back("--resume");
      active_.push_back({job.name, ChildProcess(command)});
    }
  }

  std::vector<JobEnd> wait(double seconds) override {
    watch_.wait(seconds);
    std::vector<JobEnd> ended;
    for (Active& job : active_) {
      const std::optional<ChildEnd>& end = job.process.end();
      if (!end) continue;
      ended.push_back({job.name, end->status(), how_it_ended(end->status()), job.timer.seconds(), {}});
    }
    std::erase_if(active_, [](Active& job) { return job.process.end().has_value(); });
    return ended;
  }

  std::vector<JobAtWork> at_work() const override {
    std::vector<JobAtWork> jobs;
    for (const Active& job : active_) jobs.push_back({job.name});
    return jobs;
  }

  std::string stop(int signal) override {
    for (const Active& job : active_) job.process.send(signal);
    return {};
  }
  const char* step() const override { return "step"; }

 private:
  struct Active {
    std::string name;
    ChildProcess process;
    PhaseTimer timer = {};
  };

  std::size_t places_;
  ChildWatch watch_;
  std::vector<Active> active_;
};

/// Jobs that wait in Slurm's queue would be made twice. Where squeue cannot be asked, the locks of the runs remain.
void refuse_what_slurm_makes(const Grid& grid, const LauncherSettings& settings) {
  std::error_code ignored;
  if (!fs::exists(settings.folder / "slurm", ignored) || find_program("squeue").empty()) return;
  const std::string going_on = slurm_launcher(grid, settings, [](const std::string&) {})->stop(0);
  if (!going_on.empty())
    throw Error("jobs of " + settings.folder.string() + " are in Slurm's queue: " + going_on,
                "watch them with --launcher slurm");
}

}  // namespace

std::string how_it_ended(int status) {
  return status > 128 ? "ended by signal " + std::to_string(status - 128) : "exit status " + std::to_string(status);
}

void look_again(const fs::path& folder) {
  std::error_code ignored;
  const fs::directory_iterator opened(folder, ignored);
}

void check_launcher(const std::string& name) {
  if (name == kLocalLauncher) return;
  for (const char* command : {"sbatch", "squeue"}) {
    if (find_program(command).empty())
      throw Error("--launcher slurm needs `" + std::string(command) + "`, which no folder of PATH has",
                  "start it where jobs are submitted, on a login node of the cluster; without --launcher it runs here");
  }
}

std::unique_ptr<Launcher> make_launcher(const std::string& name, const Grid& grid, const LauncherSettings& settings,
                                        Say say) {
  if (name == kLocalLauncher) {
    refuse_what_slurm_makes(grid, settings);
    return std::make_unique<LocalJobs>(settings.at_a_time);
  }
  return slurm_launcher(grid, settings, std::move(say));
}

}  // namespace drift
