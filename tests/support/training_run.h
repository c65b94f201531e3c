#pragma once

// Runs of the real program, small enough for a test: a base model, and the files of a run.

#include <tests/support/program.h>

#include <core/base/child_process.h>

namespace drift::test {

/// A checkpoint that writes grids, most of them wrong. ctest runs base_checkpoint_test before the tests that use it.
std::filesystem::path base_checkpoint();
/// Makes it by `drift pretrain`, from random weights.
void make_base_checkpoint();

/// A folder with run.toml: two prompts of four responses a step, a checkpoint after every step. Options come behind
/// `drift train run.toml --out NAME`, and win. blocks.toml is the same of a model with blocks.
class TrainingRuns : public ProgramFolder {
 public:
  TrainingRuns();

  std::filesystem::path run(const std::string& name) const { return path(name); }
  CommandResult train(const std::string& name, const std::string& options = "") const {
    return drift("train run.toml --out " + name + " " + options);
  }
  /// What `--dry-run --json` says of the run.
  nlohmann::json plan(const std::string& options) const {
    return nlohmann::json::parse(train("planned", "--dry-run --json " + options).output);
  }
  std::vector<nlohmann::json> metrics_in(const std::string& run) const;
  std::string difference_of(const std::string& run, const std::string& expected) const;
};

/// The running program, to be watched and disturbed. Its output goes to FOLDER/output and FOLDER/error.
class RunningProgram {
 public:
  /// @param variables  of its environment besides this process's, each "NAME=VALUE"
  RunningProgram(const std::filesystem::path& folder, const std::string& arguments,
                 const std::vector<std::string>& variables = {});

  pid_t id() const { return process_.id(); }
  void send(int signal) const { process_.send(signal); }
  /// Until condition() holds; false if the program ended, or nothing happened in a minute.
  bool wait_until(const std::function<bool()>& condition);
  bool is_running() { return !process_.end(); }
  /// Exit status; 128 + signal when killed.
  int wait() { return process_.wait().status(); }
  std::string output() const { return read_file(folder_ / "output"); }
  std::string error() const { return read_file(folder_ / "error"); }

 private:
  std::filesystem::path folder_;
  ChildProcess process_;
};

/// The lines of a run's metrics.jsonl.
std::vector<nlohmann::json> metrics_of(const std::filesystem::path& run);

/// Name and accuracy of the checkpoint of the highest held-out accuracy, the first of equal ones: "step-000007". By the
/// run's metrics, whether it is there or not.
std::pair<std::string, double> best_checkpoint_of(const std::filesystem::path& run);

/// What every run of a sweep computed, but for how long it took. By folder, and folders are named by settings.
std::map<std::string, std::vector<nlohmann::json>> results_of(const std::filesystem::path& sweep);

/// Empty if two runs computed the same: the metrics, but for how long things took, and the last checkpoint's weights
/// and optimizer state bit for bit.
std::string difference(const std::filesystem::path& run, const std::filesystem::path& expected);

}  // namespace drift::test
