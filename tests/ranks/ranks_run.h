#pragma once

// Runs of several processes by mpirun, compared, watched and disturbed.

#include "tests/ranks/mpirun.h"
#include "tests/support/support.h"
#include "tests/support/training_run.h"

#include <core/io/safetensors.h>

#include <ATen/TensorOperators.h>

#include <signal.h>

#include <atomic>
#include <chrono>
#include <iterator>
#include <thread>

namespace drift::test {

inline std::size_t count_of(const std::string& word, const std::string& text) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != text.npos; at += word.size()) ++count;
  return count;
}

/// The ranks of runs in a folder, by the number of the process. mpirun and srun say which rank a process is.
inline std::vector<std::pair<pid_t, int>> ranks_in(const std::filesystem::path& folder) {
  const std::string variable = "PMIX_RANK=";
  std::vector<std::pair<pid_t, int>> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != name.npos) continue;
    std::error_code failed;
    if (std::filesystem::read_symlink(entry.path() / "cwd", failed) != folder) continue;
    std::ifstream file(entry.path() / "environ", std::ios::binary);
    const std::string environment((std::istreambuf_iterator<char>(file)), {});
    const auto at = environment.find(variable);
    if (at != environment.npos)
      found.emplace_back(static_cast<pid_t>(std::stol(name)), std::stoi(environment.substr(at + variable.size())));
  }
  return found;
}

/// The process that is this rank of a run in the folder; 0 if there is none.
inline pid_t process_of(int rank, const std::filesystem::path& folder) {
  for (const auto& [process, its_rank] : ranks_in(folder)) {
    if (its_rank == rank) return process;
  }
  return 0;
}

class RanksRun : public testing::Test {
 protected:
  void SetUp() override {
    if (const auto missing = missing_ranks(); !missing.empty()) GTEST_SKIP() << missing;
  }

  /// The shell command of a run, of which `programs` are "-n 2 drift train …" and more, with colons between.
  std::string command(const std::string& programs) const {
    std::string all = programs;
    for (std::size_t at = 0; (at = all.find("drift ", at)) != all.npos; at += program().string().size())
      all.replace(at, 5, program().string());
    return "cd " + runs_.path().string() + " && " + mpirun() + all;
  }

  CommandResult train(int ranks, const std::string& name, const std::string& options = "") const {
    return run_command(command("-n " + std::to_string(ranks) + " drift train run.toml --out " + name + " " + options));
  }

  /// A run of one process is as exact as its rounding; so is one of several.
  void expect_same_run(const std::string& got, const std::string& want) const {
    const auto lines = metrics_of(runs_.run(got)), expected = metrics_of(runs_.run(want));
    ASSERT_EQ(lines.size(), expected.size());
    for (std::size_t step = 0; step < lines.size(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      for (const char* key : {"reward", "solved", "live_groups", "kept_groups", "response_length",
                              "forwards_per_response", "update_forwards_per_response", "skipped"})
        EXPECT_EQ(lines[step].at(key), expected[step].at(key)) << key;
      if (expected[step].contains("held_out")) {  // what ended on the way was evaluated there too
        EXPECT_EQ(lines[step].at("held_out").at("accuracy"), expected[step]["held_out"]["accuracy"]);
      }
      for (const char* key : {"loss", "grad_norm"}) {
        if (expected[step].at(key).is_null()) continue;
        const double value = expected[step].at(key);
        EXPECT_NEAR(lines[step].at(key).get<double>(), value, 1e-5 * (1 + std::abs(value))) << key;
      }
    }
    const auto weights = [&](const std::string& name) {
      return SafetensorsFile(runs_.run(name) / "checkpoints/last/model.safetensors");
    };
    const auto found = weights(got), wanted = weights(want);
    for (const SafetensorsEntry& entry : wanted.entries()) {
      const auto difference = found.tensor(entry.name) - wanted.tensor(entry.name);
      EXPECT_LT(difference.abs().max().item<double>(), 1e-4) << entry.name;
    }
  }

  /// While `command` runs: disturb() is called once condition() holds. The run must end within 30 seconds of that.
  CommandResult disturbed(const std::string& command, const std::function<bool()>& condition,
                          const std::function<void()>& disturb) const {
    CommandResult result;
    std::atomic<bool> ended = false;
    std::thread run([&] {
      result = run_command(command);
      ended = true;
    });
    while (!ended && !condition()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_FALSE(ended) << "it ended by itself: " << result.output << result.error;
    const auto begin = std::chrono::steady_clock::now();
    disturb();
    run.join();
    const auto in_time = [&] { return std::chrono::steady_clock::now() - begin < std::chrono::seconds(30); };
    while (in_time() && !ranks_in(folder()).empty()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_TRUE(in_time()) << "a process goes on";
    return result;
  }

  /// Of the runs, without links.
  std::filesystem::path folder() const { return std::filesystem::canonical(runs_.path()); }
  /// Sends a signal to a rank, which must be there.
  void send(int signal, int rank) const {
    const pid_t process = process_of(rank, folder());
    EXPECT_NE(process, 0) << "rank " << rank;
    if (process != 0) ::kill(process, signal);
  }
  bool has_checkpoint(const std::string& name) const {
    return std::filesystem::exists(runs_.run(name) / "checkpoints/last");
  }

  TrainingRuns runs_;
};

}  // namespace drift::test
