#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>

namespace drift {

/// How much of the machine this process may use, and who says so.
struct ThreadLimits {
  std::size_t machine = 1;                     ///< processors
  std::size_t affinity = 1;                    ///< those that it may run on: taskset, a batch system
  std::optional<std::size_t> quota;            ///< processor time of its control group: processors, rounded up
  std::optional<std::size_t> omp_num_threads;  ///< the environment's wish, for what computes

  /// That may be busy at a time, at least 1.
  std::size_t processors() const;
  /// How many threads compute where nothing else is said, at least 1.
  std::size_t threads() const;
  /// "2 threads: 16 processors, 4 of them for this process, OMP_NUM_THREADS=2"
  std::string text() const;
};

/// Of this process, now.
ThreadLimits thread_limits();

/// The first number of OMP_NUM_THREADS, which may have one for each level of nesting. Nothing if it is not one.
std::optional<std::size_t> first_count(const char* text);

/// The smallest cpu.max of a control group (version 2) and of those above it.
/// @param membership  /proc/self/cgroup, or a file like it
/// @param groups      the folder of the outermost group: /sys/fs/cgroup
std::optional<std::size_t> processor_quota(const std::filesystem::path& membership,
                                           const std::filesystem::path& groups);

}  // namespace drift
