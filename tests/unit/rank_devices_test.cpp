// Which GPU a rank of a host uses.

#include <core/ranks/devices.h>

#include <gtest/gtest.h>

namespace drift::rank_devices_test {
namespace {

constexpr const char* kAsItIs = "";

TEST(GpuOfRank, IsOneOfTheHostsInTheOrderOfItsRanks) {
  EXPECT_EQ(gpu_of_rank("", 8, 0), "0");
  EXPECT_EQ(gpu_of_rank("", 8, 7), "7");
}

TEST(GpuOfRank, IsTakenInTurnWhereThereAreMoreRanks) { EXPECT_EQ(gpu_of_rank("", 2, 3), "1"); }

TEST(GpuOfRank, IsOneOfThoseThatTheUserChose) {
  EXPECT_EQ(gpu_of_rank("5,2", 8, 0), "5");
  EXPECT_EQ(gpu_of_rank("5,2", 8, 1), "2");
  EXPECT_EQ(gpu_of_rank("GPU-8d3f,GPU-01aa", 8, 3), "GPU-01aa");
}

TEST(GpuOfRank, IsTheOneThatTheLauncherGave) { EXPECT_EQ(gpu_of_rank("3", 8, 1), kAsItIs); }

TEST(GpuOfRank, IsLeftAloneWhereThereIsOneOrNone) {
  EXPECT_EQ(gpu_of_rank("", 1, 1), kAsItIs);
  EXPECT_EQ(gpu_of_rank("", 0, 1), kAsItIs);
}

}  // namespace
}  // namespace drift::rank_devices_test
