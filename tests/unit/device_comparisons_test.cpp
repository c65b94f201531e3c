// The comparisons of tests/gpu with the CPU for a device: they work if there is no GPU, and tensor operations draw what
// the CPU's loops draw.

#include "tests/support/device_comparisons.h"

#include <gtest/gtest.h>

namespace drift::device_comparisons_test {

TEST(DeviceComparisons, OfPolicyGradientsHoldOnTheCpu) { test::compare_policy_gradients(at::kCPU); }
TEST(DeviceComparisons, OfPaddedRowsHoldOnTheCpu) { test::compare_padded_rows(at::kCPU); }
TEST(DeviceComparisons, OfTheHeadHoldOnTheCpu) { test::compare_heads(at::kCPU); }
TEST(DeviceComparisons, OfSamplingHoldOnTheCpu) { test::compare_sampling(at::kCPU); }
TEST(DeviceComparisons, OfRolloutsHoldOnTheCpu) { test::compare_rollouts(at::kCPU); }

}  // namespace drift::device_comparisons_test
