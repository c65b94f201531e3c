#include <core/base/thread_limits.h>

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

namespace drift {
namespace {

namespace fs = std::filesystem;

/// OMP_PROC_BIND ties the first thread to one processor as soon as OpenMP is loaded: the launcher has counted before.
std::size_t processors_allowed(std::size_t machine) {
  if (const auto counted = first_count(std::getenv("DRIFT_PROCESSORS"))) return *counted;
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return machine;
  return static_cast<std::size_t>(CPU_COUNT(&allowed));
}

/// "200000 100000": microseconds in every so many; "max 100000": no limit.
std::optional<double> read_quota(const fs::path& file) {
  std::ifstream stream(file);
  double quota = 0, period = 0;
  if (!(stream >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

}  // namespace

std::size_t ThreadLimits::processors() const {
  std::size_t count = affinity;
  if (quota) count = std::min(count, *quota);
  return std::max<std::size_t>(1, count);
}

std::size_t ThreadLimits::threads() const { return std::min(processors(), omp_num_threads.value_or(processors())); }

std::string ThreadLimits::text() const {
  const std::string count = std::to_string(threads());
  std::string text = count + (threads() == 1 ? " thread: " : " threads: ") + std::to_string(machine) +
                     (machine == 1 ? " processor" : " processors");
  if (affinity < machine) text += ", " + std::to_string(affinity) + " of them for this process (affinity)";
  if (quota) text += ", the time of " + std::to_string(*quota) + " (quota of the control group)";
  if (omp_num_threads) text += ", OMP_NUM_THREADS=" + std::to_string(*omp_num_threads);
  return text;
}

ThreadLimits thread_limits() {
  ThreadLimits limits;
  limits.machine = std::max(1U, std::thread::hardware_concurrency());
  limits.affinity = processors_allowed(limits.machine);
  limits.machine = std::max(limits.machine, limits.affinity);
  limits.quota = processor_quota("/proc/self/cgroup", "/sys/fs/cgroup");
  limits.omp_num_threads = first_count(std::getenv("OMP_NUM_THREADS"));
  return limits;
}

std::optional<std::size_t> first_count(const char* text) {
  if (text == nullptr) return std::nullopt;
  const char* end = text + std::strlen(text);
  std::size_t count = 0;
  const auto [behind, error] = std::from_chars(text, end, count);
  const bool ends = behind == end || *behind == ',';
  return error == std::errc() && ends && count > 0 ? std::optional(count) : std::nullopt;
}

std::optional<std::size_t> processor_quota(const fs::path& membership, const fs::path& groups) {
  constexpr std::string_view kVersion2 = "0::/";
  std::ifstream stream(membership);
  std::string line;
  while (std::getline(stream, line) && !line.starts_with(kVersion2)) {
  }
  if (!line.starts_with(kVersion2)) return std::nullopt;
  std::optional<double> least;
  for (fs::path group = fs::path(line.substr(kVersion2.size()));; group = group.parent_path()) {
    const auto quota = read_quota(groups / group / "cpu.max");
    if (quota) least = std::min(*quota, least.value_or(*quota));
    if (group.empty()) break;
  }
  if (!least) return std::nullopt;
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(*least)));
}

}  // namespace drift
