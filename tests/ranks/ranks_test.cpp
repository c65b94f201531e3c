// What several processes compute together, against what one of them computes alone: the tests of on_ranks.cpp, by one
// to four processes.

#include "tests/ranks/mpirun.h"
#include "tests/support/support.h"

namespace drift::ranks_test {

void expect_passed(int ranks, const std::string& variables, const std::string& filter) {
  if (const auto missing = test::missing_ranks(); !missing.empty()) GTEST_SKIP() << missing;
  const auto result = test::run_command(variables + test::mpirun() + "-n " + std::to_string(ranks) + " " +
                                        (test::build_dir() / "tests/on_ranks").string() +
                                        " --gtest_color=no --gtest_filter='" + filter + "'");
  EXPECT_EQ(result.status, 0) << result.output << result.error;
  EXPECT_THAT(result.output, testing::HasSubstr("[  PASSED  ]"));
}

class OnRanks : public testing::TestWithParam<int> {};

TEST_P(OnRanks, ComputeWhatOneComputes) { expect_passed(GetParam(), "", "*"); }

INSTANTIATE_TEST_SUITE_P(Processes, OnRanks, testing::Values(1, 2, 3, 4));

// What ranks with GPUs do, but for the GPUs: two ranks have equal shares of a weight, three do not.
class AsOnGpus : public testing::TestWithParam<int> {};

TEST_P(AsOnGpus, ComputeWhatOneComputes) {
  expect_passed(GetParam(), "DRIFT_EXCHANGE_AS_ON_GPUS=1 ", "Ranks.*:GradientSumOnRanks.*:Models/DividedTest.*");
}

INSTANTIATE_TEST_SUITE_P(Processes, AsOnGpus, testing::Values(2, 3));

}  // namespace drift::ranks_test
