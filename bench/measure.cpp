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
#include <fstream>
#include <stdexcept>
#include <string_view>

#include <time.h>

namespace drift::bench {
namespace {

double milliseconds_on(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

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

double processor_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void wait_for(at::Device device) {
  if (!device.is_cpu()) c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
}

ProductRate product_rate(at::ScalarType type, at::Device device) {
  const at::NoGradGuard no_gradient;
  const std::int64_t size = device.is_cpu() ? 2048 : 8192;
  const auto options = at::TensorOptions(type).device(device);
  const auto a = at::randn({size, size}).to(options), b = at::randn({size, size}).to(options);
  auto c = at::empty({size, size}, options);
  ProductRate best;
  const double operations = 2.0 * std::pow(static_cast<double>(size), 3);
  for (int trial = 0; trial < 4; ++trial) {
    wait_for(device);
    const PhaseTimer timer;
    const double before = processor_seconds();
    at::mm_out(c, a, b);
    wait_for(device);
    best.wall = std::max(best.wall, operations / timer.seconds());
    best.processor = std::max(best.processor, operations / (processor_seconds() - before));
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

Measurement::Measurement(const std::vector<Case>& cases, int rounds) : wall_(cases.size()), processor_(cases.size()) {
  for (const Case& one : cases) names_.push_back(one.name);
  for (int round = -1; round < rounds; ++round) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      const double wall = milliseconds_on(CLOCK_MONOTONIC), processor = milliseconds_on(CLOCK_PROCESS_CPUTIME_ID);
      cases[i].run();
      if (round < 0) continue;
      wall_[i].push_back(milliseconds_on(CLOCK_MONOTONIC) - wall);
      processor_[i].push_back(milliseconds_on(CLOCK_PROCESS_CPUTIME_ID) - processor);
    }
  }
}

const Measurement::Rounds& Measurement::times(const std::string& name, Clock clock) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) throw std::logic_error("nothing was measured under the name " + name);
  return (clock == Clock::kWall ? wall_ : processor_)[static_cast<std::size_t>(found - names_.begin())];
}

Spread Measurement::milliseconds(const std::string& name) const { return spread(times(name, Clock::kWall)); }

Spread Measurement::ratio(const std::string& numerator, const std::string& denominator, Clock clock) const {
  const auto &above = times(numerator, clock), &below = times(denominator, clock);
  std::vector<double> ratios;
  for (std::size_t round = 0; round < above.size(); ++round) ratios.push_back(above[round] / below[round]);
  return spread(ratios);
}

void print_yardsticks(const Measurement& measured, const std::string& name,
                      const std::vector<std::string>& yardsticks) {
  std::printf("\n%s and its baselines\n", name.c_str());
  print_line(name, measured.milliseconds(name));
  std::printf("\n  time / time of %s: 1 = products and attentions only\n", name.c_str());
  for (const std::string& yardstick : yardsticks) {
    print_line(yardstick, measured.milliseconds(yardstick));
    print_ratio("  / " + name, measured.ratio(yardstick, name));
    print_ratio("  / " + name + ", processor time", measured.ratio(yardstick, name, Clock::kProcessor));
  }
}

double print_shares(const Measurement& measured, const std::vector<std::string>& names, double whole) {
  double sum = 0;
  for (const std::string& name : names) {
    print_line(name, measured.milliseconds(name), whole);
    sum += measured.milliseconds(name).median;
  }
  return sum;
}

std::vector<std::string> names_of(const std::vector<Case>& cases) {
  std::vector<std::string> names;
  for (const Case& one : cases) names.push_back(one.name);
  return names;
}

void print_line(const std::string& name, const Spread& milliseconds, double whole) {
  std::printf("  %-58s %9.2f ms  (%.2f to %.2f)", name.c_str(), milliseconds.median, milliseconds.low,
              milliseconds.high);
  if (whole > 0) std::printf("  %5.1f %%", 100 * milliseconds.median / whole);
  std::printf("\n");
}

void print_line(const std::string& name, double milliseconds, double whole) {
  std::printf("  %-58s %9.2f ms  (difference)  %5.1f %%\n", name.c_str(), milliseconds, 100 * milliseconds / whole);
}

void print_ratio(const std::string& name, const Spread& ratio) {
  std::printf("  %-58s %9.3f     (%.3f to %.3f)\n", name.c_str(), ratio.median, ratio.low, ratio.high);
}

}  // namespace drift::bench
