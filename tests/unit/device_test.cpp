#include "tests/support/support.h"

#include <core/base/device.h>

#include <drift/error.h>

#include <ATen/Context.h>

#include <cstdlib>

#include <unistd.h>

namespace drift::device_test {

using namespace testing;

/// What run_device("cuda") complains about; empty if there is a device.
std::string complaint() {
  return test::error_of([] { EXPECT_EQ(run_device("cuda"), at::Device(at::kCUDA, 0)); });
}
TEST(RunDevice, TheCpuIsAlwaysThere) { EXPECT_EQ(run_device("cpu"), at::Device(at::kCPU)); }

TEST(RunDevice, CanBeDeterministic) {
  const bool before = at::globalContext().deterministicAlgorithms();
  use_deterministic_algorithms();
  EXPECT_TRUE(at::globalContext().deterministicAlgorithms());
  EXPECT_FALSE(at::globalContext().deterministicAlgorithmsWarnOnly()) << "attention's backward would add by atomics";
  EXPECT_FALSE(at::globalContext().deterministicFillUninitializedMemory());
  EXPECT_STREQ(std::getenv("CUBLAS_WORKSPACE_CONFIG"), ":4096:8");
  at::globalContext().setDeterministicAlgorithms(before, false);
}

TEST(RunDevice, ABuildWithoutCudaSaysSo) {
  if (built_with_cuda()) GTEST_SKIP() << "this build has CUDA";
  EXPECT_THAT(complaint(), AllOf(HasSubstr("no CUDA"), HasSubstr("nvcc"), HasSubstr("--device cpu")));
}

TEST(RunDevice, AMissingGpuIsExplained) {
  if (!built_with_cuda()) GTEST_SKIP() << "this build has no CUDA";
  if (access("/dev/nvidia0", F_OK) == 0) GTEST_SKIP() << "a GPU is here";
  const std::string error = complaint();
  EXPECT_THAT(error, AllOf(HasSubstr("CUDA"), Not(HasSubstr("unknown reason")), HasSubstr("--device cpu")));
  EXPECT_EQ(complaint(), error);
}

TEST(RunDevice, AGpuIsFound) {
  if (!built_with_cuda()) GTEST_SKIP() << "this build has no CUDA";
  if (access("/dev/nvidia0", F_OK) != 0) GTEST_SKIP() << "no GPU is here";
  EXPECT_EQ(complaint(), "");
}

}  // namespace drift::device_test
