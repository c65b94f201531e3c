// Which tokens of a demonstration pretraining masks (core/train/pretraining.h): of the whole response, or of one block
// as a block-wise rollout sees it.

#include "tests/support/support.h"

#include <core/train/pretraining.h>

#include <ATen/ops/equal.h>

namespace drift::likelihood_masks_test {

using namespace testing;

constexpr std::int64_t kLength = 10, kResponses = 2000;

std::vector<bool> row(const at::Tensor& tensor_FL, std::int64_t f) {
  const bool* first = tensor_FL.const_data_ptr<bool>() + f * kLength;
  return std::vector<bool>(first, first + kLength);
}

/// The block of a view with a target, and -1 of one without.
std::int64_t block_of(const MaskPlan& plan, std::int64_t f, std::int64_t block) {
  const auto target = row(plan.target_FL, f);
  for (std::int64_t i = 0; i < kLength; ++i) {
    if (target[static_cast<std::size_t>(i)]) return i / block;
  }
  return -1;
}

TEST(LikelihoodMasks, OfTheWholeResponseEveryMaskIsScored) {
  const auto plan = LikelihoodMasks{kLength, kLength, 0.001}.draw(RandomStream(1, "masks"), 1, kResponses);
  EXPECT_TRUE(at::equal(plan.masked_FL, plan.target_FL));
  const auto masked = plan.masked_FL.sum().item<double>() / static_cast<double>(kResponses * kLength);
  EXPECT_THAT(masked, DoubleNear(0.5, 0.02)) << "t is uniform";
}

TEST(LikelihoodMasks, OfABlockWhatIsBeforeItIsCleanAndWhatIsAfterItIsMaskedAndNotScored) {
  constexpr std::int64_t kBlock = 4;  // 4, 4 and 2
  const auto plan = LikelihoodMasks{kLength, kBlock, 0.3}.draw(RandomStream(1, "masks"), 1, kResponses);
  std::vector<int> drawn(3);
  for (std::int64_t f = 0; f < kResponses; ++f) {
    const auto masked = row(plan.masked_FL, f), target = row(plan.target_FL, f);
    const auto block = block_of(plan, f, kBlock);
    if (block < 0) continue;  // no token of it was drawn
    ++drawn[static_cast<std::size_t>(block)];
    for (std::int64_t i = 0; i < kLength; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (i / kBlock < block) EXPECT_FALSE(masked[at]) << f;
      if (i / kBlock == block) EXPECT_EQ(masked[at], target[at]) << f;
      if (i / kBlock > block) EXPECT_TRUE(masked[at] && !target[at]) << f;
    }
  }
  EXPECT_THAT(drawn, Each(Gt(kResponses / 4)));
}

TEST(LikelihoodMasks, TheWeightedSumOverABlockEstimatesTheSumOverAllPositions) {
  const auto plan = LikelihoodMasks{kLength, 4, 0.001}.draw(RandomStream(2, "masks"), 1, kResponses);
  double sum = 0;
  for (std::int64_t f = 0; f < kResponses; ++f)
    sum += plan.weight_F[f].item<double>() * plan.target_FL[f].sum().item<double>();
  EXPECT_THAT(sum / static_cast<double>(kResponses), DoubleNear(kLength, 0.6));
}

TEST(LikelihoodMasks, AreTheSameInABatchOfAnySize) {
  const LikelihoodMasks masks{kLength, 4, 0.001};
  const auto few = masks.draw(RandomStream(1, "masks"), 3, 4), many = masks.draw(RandomStream(1, "masks"), 3, 9);
  EXPECT_TRUE(at::equal(few.masked_FL, many.masked_FL.narrow(0, 0, 4)));
  EXPECT_TRUE(at::equal(few.target_FL, many.target_FL.narrow(0, 0, 4)));
  EXPECT_TRUE(at::equal(few.weight_F, many.weight_F.narrow(0, 0, 4)));
}

}  // namespace drift::likelihood_masks_test
