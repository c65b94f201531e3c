// What several processes compute together, against what one of them computes alone: the tests of on_ranks.cpp, by one
// to four processes.

#include "tests/ranks/mpirun.h"

#include <gmock/gmock.h>

#include <string>

namespace drift {
namespace {

class OnRanks : public testing::TestWithParam<int> {};

TEST_P(OnRanks, ComputeWhatOneComputes) {
  if (const auto missing = test::missing_ranks(); !missing.empty()) GTEST_SKIP() << missing;
  const auto result = test::run_command(test::mpirun() + "-n " + std::to_string(GetParam()) + " " +
                                        (test::build_dir() / "tests/on_ranks").string() + " --gtest_color=no");
  EXPECT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, testing::HasSubstr("[  PASSED  ]"));
}

INSTANTIATE_TEST_SUITE_P(Processes, OnRanks, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace drift
