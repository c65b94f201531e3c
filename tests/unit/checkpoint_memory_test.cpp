// What saving takes in memory. What opening takes: tests/cli/model_memory_test.cpp.

#include "tests/support/tensors.h"

#include <core/io/checkpoint.h>

#include <tests/support/sparse_checkpoint.h>
#include <tests/support/support.h>

namespace drift::checkpoint_memory_test {

using test::counted_bytes;

// The peak memory of this process, including pages of mapped files.
std::int64_t peak_memory() { return counted_bytes("/proc/self/status", "VmHWM"); }

TEST(CheckpointMemory, SavingHoldsNoCopyOfTheWeights) {
  const test::TemporaryFolder folder;
  constexpr std::int64_t kBytes = std::int64_t{256} << 20;
  const at::Tensor plain = at::ones({kBytes / 4 / 1024, 1024});
  const at::Tensor strided = at::ones({1024, kBytes / 4 / 1024}).t();
  std::ofstream("/proc/self/clear_refs") << 5;  // restarts the measurement of the peak
  const std::int64_t before = counted_bytes("/proc/self/status", "VmRSS");
  save_checkpoint_folder(folder.path() / "saved", {{"plain", plain}, {"strided", strided}}, "{}");
  EXPECT_LT(peak_memory(), before + kBytes / 8);
  EXPECT_EQ(summarize_checkpoint(folder.path() / "saved").total.bytes, 2 * kBytes);
}

}  // namespace drift::checkpoint_memory_test
