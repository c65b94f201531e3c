#include <core/base/device.h>

#include <drift/error.h>

#include <gmock/gmock.h>

#include <unistd.h>

#include <optional>
#include <string>

namespace drift::device_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// What run_device("cuda") complains about; empty if there is a device.
std::optional<Error> complaint() {
  try {
    EXPECT_EQ(run_device("cuda"), at::Device(at::kCUDA, 0));
    return {};
  } catch (const Error& error) {
    return error;
  }
}

TEST(RunDevice, TheCpuIsAlwaysThere) { EXPECT_EQ(run_device("cpu"), at::Device(at::kCPU)); }

TEST(RunDevice, ABuildWithoutCudaSaysSo) {
  if (built_with_cuda()) GTEST_SKIP() << "this build has CUDA";
  const auto error = complaint();
  ASSERT_TRUE(error) << "a device out of nothing";
  EXPECT_THAT(error->what(), HasSubstr("no CUDA"));
  EXPECT_THAT(error->what(), HasSubstr("nvcc"));
  EXPECT_THAT(error->hint(), HasSubstr("--device cpu"));
}

TEST(RunDevice, AMissingGpuIsExplained) {
  if (!built_with_cuda()) GTEST_SKIP() << "this build has no CUDA";
  if (access("/dev/nvidia0", F_OK) == 0) GTEST_SKIP() << "a GPU is here";
  const auto error = complaint();
  ASSERT_TRUE(error) << "a device out of nothing";
  EXPECT_THAT(error->what(), HasSubstr("CUDA"));
  EXPECT_THAT(error->what(), Not(HasSubstr("unknown reason")));
  EXPECT_THAT(error->hint(), HasSubstr("--device cpu"));
  const auto again = complaint();
  ASSERT_TRUE(again);
  EXPECT_STREQ(again->what(), error->what());
}

TEST(RunDevice, AGpuIsFound) {
  if (!built_with_cuda()) GTEST_SKIP() << "this build has no CUDA";
  if (access("/dev/nvidia0", F_OK) != 0) GTEST_SKIP() << "no GPU is here";
  const auto error = complaint();
  EXPECT_FALSE(error) << error->what();
}

}  // namespace
}  // namespace drift::device_test
