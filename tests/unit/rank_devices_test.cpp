// Which GPU a rank of a host uses.

#include <core/ranks/devices.h>

#include <gtest/gtest.h>

namespace drift::rank_devices_test {

constexpr const char* kAsItIs = "";

TEST(GpuOfRank, IsOneOfTheHostsOrOfThoseChosenInTurn) {
  for (const auto& [rank, gpu] : {std::pair(0, "0"), {7, "7"}}) EXPECT_EQ(gpu_of_rank("", 8, rank), gpu);
  EXPECT_EQ(gpu_of_rank("", 2, 3), "1") << "where there are more ranks";
  for (const int gpus : {0, 1}) EXPECT_EQ(gpu_of_rank("", gpus, 1), kAsItIs);
  EXPECT_EQ(gpu_of_rank("5,2", 8, 0), "5");
  EXPECT_EQ(gpu_of_rank("5,2", 8, 1), "2");
  EXPECT_EQ(gpu_of_rank("GPU-8d3f,GPU-01aa", 8, 3), "GPU-01aa");
  EXPECT_EQ(gpu_of_rank("3", 8, 1), kAsItIs);
}

}  // namespace drift::rank_devices_test
