// Programs judged per second, how long one takes, and what is left afterwards: the code reward on many small programs,
// some of them hostile. Every verdict is checked.

#include <core/process/threads.h>

#include <drift/error.h>
#include <drift/export.h>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "bench/code_programs.h"
#include "reward.h"

namespace drift::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct Settings {
  std::int64_t programs = 10'000;
  std::int64_t workers = 2;
  std::int64_t hostile_every = 10;  // 0: none
  double time_limit = 1;            // processor seconds of a call
};

struct Judged {
  double milliseconds = 0;
  bool hostile = false;
  bool as_expected = false;
};

/// What programs could leave on the machine.
struct Leftovers {
  std::int64_t descriptors = 0, mounts = 0, files = 0;

  static Leftovers now() {
    Leftovers found;
    found.descriptors = std::distance(fs::directory_iterator("/proc/self/fd"), {});
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);) ++found.mounts;
    // The hostile programs that write, write files of this name wherever they can.
    const char* const home = std::getenv("HOME");
    for (const std::string folder :
         {"/", "/tmp", "/var/tmp", "/dev/shm", "/usr", ".", home != nullptr ? home : "/root"}) {
      found.files += fs::exists(fs::path(folder) / kLeftoverName) ? 1 : 0;
    }
    return found;
  }
};

/// Children that have ended and were not waited for, or that still run. Orphans of this process are its children.
std::int64_t processes_left() {
  std::int64_t count = 0;
  while (::waitpid(-1, nullptr, WNOHANG) > 0) ++count;
  return count + (::waitpid(-1, nullptr, WNOHANG) == 0 ? 1 : 0);
}

Judged judge(const Reward& reward, const Program& program, std::int64_t index, double time_limit) {
  TaskItem item;
  item.id = std::to_string(index);
  item.reference = nlohmann::json{{"test_list", program.tests}, {"test_time_limit", time_limit}}.dump();
  const std::string response = "```python\n" + program.code + "\n```\n";
  RewardResult result;
  const auto start = Clock::now();
  reward.score({.response = response, .item = &item}, result);
  const std::chrono::duration<double, std::milli> time = Clock::now() - start;
  const bool as_expected = result.value == program.value && result.status != RewardStatus::kInfrastructure;
  if (!as_expected) {
    std::fprintf(stderr, "program %lld (%s): %.3f instead of %.3f: %s\n", static_cast<long long>(index),
                 program.name.c_str(), result.value, program.value, result.reason.c_str());
  }
  return {time.count(), program.hostile, as_expected};
}

std::vector<Judged> judge_all(const Reward& reward, const Settings& settings) {
  std::vector<Judged> judged(static_cast<std::size_t>(settings.programs));
  const auto judge_one = [&](std::size_t at) {
    const auto index = static_cast<std::int64_t>(at);
    judged[at] = judge(reward, program_number(index, settings.hostile_every), index, settings.time_limit);
  };
  for_each_at_once(judged.size(), judge_one, static_cast<std::size_t>(settings.workers));
  return judged;
}

void print_times(const char* name, const std::vector<Judged>& judged, bool hostile) {
  std::vector<double> times;
  std::size_t as_expected = 0;
  for (const Judged& one : judged) {
    if (one.hostile != hostile) continue;
    times.push_back(one.milliseconds);
    as_expected += one.as_expected ? 1 : 0;
  }
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double share) {
    return times[std::min(times.size() - 1, static_cast<std::size_t>(share * static_cast<double>(times.size())))];
  };
  std::printf("%-8s %6zu programs, %6zu verdicts as expected; median %8.1f ms, 99 of 100 within %8.1f, worst %8.1f\n",
              name, times.size(), as_expected, quantile(0.5), quantile(0.99), times.back());
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

void run(const Settings& settings) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Leftovers before = Leftovers::now();
  auto reward =
      std::make_unique<code::CodeReward>(Params(code::CodeReward::parameters(), {{"workers", settings.workers}}));
  const auto start = Clock::now();
  const std::vector<Judged> judged = judge_all(*reward, settings);
  const double wall = std::chrono::duration<double>(Clock::now() - start).count();
  reward.reset();
  rusage children{};
  ::getrusage(RUSAGE_CHILDREN, &children);
  std::printf("%.1f programs per second: %zu in %.1f s, %lld at a time; processor time of the sandboxes %.1f s\n",
              static_cast<double>(judged.size()) / wall, judged.size(), wall, static_cast<long long>(settings.workers),
              seconds(children.ru_utime) + seconds(children.ru_stime));
  print_times("honest", judged, false);
  print_times("hostile", judged, true);
  const Leftovers after = Leftovers::now();
  std::printf("left over: %lld processes, %lld files, %lld mounts, %lld descriptors\n",
              static_cast<long long>(processes_left()), static_cast<long long>(after.files - before.files),
              static_cast<long long>(after.mounts - before.mounts),
              static_cast<long long>(after.descriptors - before.descriptors));
}

Settings read_settings(int argc, char** argv) {
  namespace po = boost::program_options;
  Settings settings;
  po::options_description options("code_bench [options]");
  options.add_options()("programs", po::value(&settings.programs), "how many")("workers", po::value(&settings.workers),
                                                                               "programs at a time")(
      "hostile-every", po::value(&settings.hostile_every), "every Nth program is hostile; 0: none")(
      "time-limit", po::value(&settings.time_limit), "processor seconds per call");
  po::variables_map given;
  po::store(po::parse_command_line(argc, argv, options), given);
  po::notify(given);
  return settings;
}

}  // namespace
}  // namespace drift::bench

DRIFT_API int main(int argc, char** argv) {
  try {
    drift::bench::run(drift::bench::read_settings(argc, argv));
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
