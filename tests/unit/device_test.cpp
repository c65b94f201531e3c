#include <core/base/device.h>

#include <drift/error.h>

#include <gtest/gtest.h>

namespace drift {
namespace {

TEST(RunDevice, TheCpuIsAlwaysThere) { EXPECT_EQ(run_device("cpu"), at::Device(at::kCPU)); }

TEST(RunDevice, AMissingGpuIsExplained) {
  try {
    EXPECT_EQ(run_device("cuda"), at::Device(at::kCUDA, 0));
  } catch (const Error& error) {
    EXPECT_FALSE(error.hint().empty());
    if (!built_with_cuda()) {
      EXPECT_NE(std::string(error.what()).find("nvcc"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace drift
