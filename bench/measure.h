#pragma once

#include <c10/core/Device.h>
#include <c10/core/ScalarType.h>

#include <cstdint>
#include <string>
#include <vector>

namespace drift::bench {

/// Median and quartiles.
struct Spread {
  double median = 0, low = 0, high = 0;
};
Spread spread(std::vector<double> values);

/// A file of this tree, or of the one that DRIFT_SOURCE_DIR names.
std::string source_file(const std::string& name);

/// Of all threads of this process. Threads that wait sleep, and hardly count.
double processor_seconds();

/// Until a device has computed what it was asked for. What the CPU was asked for is done at once.
void wait_for(at::Device device);

/// Operations a second of a square product: the best of a few.
double product_rate(at::ScalarType type, at::Device device, std::int64_t size);

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

}  // namespace drift::bench
