#include "bench/measure.h"

#include <core/base/memory.h>
#include <core/base/phase_timer.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randn.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string_view>

#include <time.h>

namespace drift::bench {
namespace {

/// The most memory that this process held since the measurement of the peak was restarted.
std::int64_t peak_resident_memory() {
  constexpr std::string_view kKey = "VmHWM:";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kKey)) return std::stoll(line.substr(kKey.size())) * 1024;
  }
  throw std::runtime_error("/proc/self/status does not have VmHWM");
}

c10::CachingAllocator::Stat bytes_of_tensors(at::Device device) {
  using c10::CachingAllocator::StatType;
  return c10::getDeviceAllocator(device.type())
      ->getDeviceStats(device.index())
      .allocated_bytes[static_cast<std::size_t>(StatType::AGGREGATE)];
}

}  // namespace

std::string source_file(const std::string& name) {
  const char* moved = std::getenv("DRIFT_SOURCE_DIR");
  return std::string(moved == nullptr ? DRIFT_SOURCE : moved) + "/" + name;
}

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void wait_for(at::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

double product_rate(at::ScalarType type, at::Device device, std::int64_t size) {
  const at::NoGradGuard no_gradient;
  const auto options = at::TensorOptions(type).device(device);
  const auto a = at::randn({size, size}).to(options), b = at::randn({size, size}).to(options);
  auto c = at::empty({size, size}, options);
  double best = 0;
  const double operations = 2.0 * std::pow(static_cast<double>(size), 3);
  for (int trial = 0; trial < 4; ++trial) {
    wait_for(device);
    const PhaseTimer timer;
    at::mm_out(c, a, b);
    wait_for(device);
    best = std::max(best, operations / timer.seconds());
  }
  return best;
}

MemoryPeak::MemoryPeak(at::Device device) : device_(device) {
  if (device.is_cpu()) {
    std::ofstream("/proc/self/clear_refs") << 5;  // restarts the measurement of the peak
    before_ = resident_memory();
  } else {
    c10::getDeviceAllocator(device.type())->resetPeakStats(device.index());
    before_ = bytes_of_tensors(device).current;
  }
}

std::int64_t MemoryPeak::bytes() const {
  return (device_.is_cpu() ? peak_resident_memory() : bytes_of_tensors(device_).peak) - before_;
}

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, values.size() - 1);
    return values[below] + (place - static_cast<double>(below)) * (values[above] - values[below]);
  };
  return {at(0.5), at(0.25), at(0.75)};
}

}  // namespace drift::bench
