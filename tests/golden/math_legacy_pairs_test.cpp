// The verdicts of rldf_release that were measured with it (column `drift_as_run`), right or wrong.

#include <gmock/gmock.h>
#include <legacy.h>

#include "tests/support/math_pairs.h"

namespace drift {
namespace {

TEST(DriftsVerdicts, AreReproducedOnEveryHardPair) {
  const auto pairs = test::read_math_pairs();
  ASSERT_EQ(pairs.size(), 150u);
  for (const auto& pair : pairs) {
    EXPECT_EQ(math_reward::rldf_release_equal(pair.prediction, pair.truth), pair.verdict.at("drift_as_run"))
        << pair.id << ": " << pair.prediction << " for " << pair.truth;
  }
}

}  // namespace
}  // namespace drift
