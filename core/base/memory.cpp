#include <core/base/memory.h>

#include <ATen/DeviceAccelerator.h>

#include <algorithm>
#include <fstream>
#include <string>

namespace drift {
namespace {

/// The number after `name` in a file of lines "NAME: NUMBER kB", in bytes.
std::optional<std::int64_t> kilobytes_of(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    std::int64_t kilobytes = 0;
    if (word == name + ":" && file >> kilobytes) return kilobytes << 10;
  }
  return std::nullopt;
}

std::optional<std::int64_t> number_in(const char* path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (file >> number) return number;  // "max": no limit
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> available_memory(at::Device device) {
  if (!device.is_cpu()) return static_cast<std::int64_t>(at::accelerator::getMemoryInfo(device.index()).first);
  auto available = kilobytes_of("/proc/meminfo", "MemAvailable");
  const auto limit = number_in("/sys/fs/cgroup/memory.max"), used = number_in("/sys/fs/cgroup/memory.current");
  if (available && limit && used) available = std::min(*available, *limit - *used);
  return available;
}

std::optional<std::int64_t> total_memory(at::Device device) {
  if (!device.is_cpu()) return static_cast<std::int64_t>(at::accelerator::getMemoryInfo(device.index()).second);
  const auto total = kilobytes_of("/proc/meminfo", "MemTotal"), limit = number_in("/sys/fs/cgroup/memory.max");
  return total && limit ? std::min(*total, *limit) : total;
}

std::int64_t resident_memory() { return kilobytes_of("/proc/self/status", "VmRSS").value_or(0); }

}  // namespace drift
