// A set's checkpoints open, and its cases' files are there.

#include "tests/golden/set/golden_set.h"
#include "tests/support/support.h"

#include <gtest/gtest.h>

namespace drift::set_files_test {

TEST(GoldenSet, HasTheFilesOfItsCases) {
  for (const char* group : {"grad", "sft", "unit", "plans", "losses"}) {
    for (const auto& one : test::golden_cases(group)) EXPECT_TRUE(std::filesystem::exists(one.path())) << one.id;
  }
}

}  // namespace drift::set_files_test
