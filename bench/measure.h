#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace drift::bench {

/// Something to time, called once a round.
struct Case {
  std::string name;
  std::function<void()> run;
};

/// Median and quartiles.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread(std::vector<double> values);

/// kProcessor: what all threads of the process used, which other programs on the machine hardly change. Threads that
/// wait sleep, and hardly count.
enum class Clock { kWall, kProcessor };

/// Times of several cases in one process, taken in turn: what disturbs the machine for a while disturbs all alike.
class Measurement {
 public:
  /// One round that does not count, then `rounds` that do.
  Measurement(const std::vector<Case>& cases, int rounds);

  Spread milliseconds(const std::string& name) const;
  /// time(numerator) / time(denominator), taken round by round.
  Spread ratio(const std::string& numerator, const std::string& denominator, Clock clock = Clock::kWall) const;

 private:
  using Rounds = std::vector<double>;  // milliseconds
  const Rounds& times(const std::string& name, Clock clock) const;

  std::vector<std::string> names_;
  std::vector<Rounds> wall_, processor_;  // [case]
};

double processor_seconds();

/// Until a device has computed what it was asked for. What the CPU was asked for is done at once.
void wait_for(at::Device device);

/// Operations a second, and a second of processor time, of a large square product: the best of a few.
struct ProductRate {
  double wall = 0, processor = 0;
};
ProductRate product_rate(at::ScalarType type, at::Device device);

/// The most memory that was held since its construction, above what was held then: by this process, or on a GPU by its
/// tensors.
class MemoryPeak {
 public:
  explicit MemoryPeak(at::Device device);
  std::int64_t bytes() const;

 private:
  at::Device device_;
  std::int64_t before_;
};

/// The time of `name`, then that of each baseline and its ratio to it, by both clocks.
void print_yardsticks(const Measurement& measured, const std::string& name, const std::vector<std::string>& yardsticks);
/// One line for each, with its share of `whole`. @return the sum of their medians.
double print_shares(const Measurement& measured, const std::vector<std::string>& names, double whole);
std::vector<std::string> names_of(const std::vector<Case>& cases);
/// "  name   12.34 ms   (12.01 to 12.80)   45.6 %", the share being of `whole` if that is not 0.
void print_line(const std::string& name, const Spread& milliseconds, double whole = 0);
/// A number that is the difference of two medians.
void print_line(const std::string& name, double milliseconds, double whole);
void print_ratio(const std::string& name, const Spread& ratio);

}  // namespace drift::bench
