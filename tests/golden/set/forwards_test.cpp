// The cases of forward/, as `drift model verify` does them.
#include "tests/golden/set/golden_set.h"
#include "tests/support/support.h"

#include <core/eval/block_forwards.h>
#include <core/eval/logit_check.h>

namespace drift::forwards_test {

TEST(GoldenForwards, AreThoseOfTheOriginals) {
  for (const auto& golden : test::golden_cases("forward")) {
    SCOPED_TRACE(golden.id);
    const auto model = golden.model();
    const auto found = check_forward(*model, golden.tensors(), golden.mode, golden.json.value("block", 0),
                                     golden.json.at("rtol").get<double>());
    EXPECT_LE(found.largest_excess, golden.json.at("atol").get<double>());
  }
}

TEST(GoldenForwards, ShowTheirModeWhereTheyAreOfTwoCopiesOrACache) {
  for (const auto& golden : test::golden_cases("forward")) {
    const bool shows = golden.mode.starts_with("two_copy_") || golden.mode.starts_with("cache_");
    EXPECT_EQ(forward_mode_of(golden.tensors()), shows ? golden.mode : "plain") << golden.id;
  }
}

}  // namespace drift::forwards_test
