#include "span_masks.cpp"

#include <drift/unit_test.h>

#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

namespace {

using drift::unit_test::make;
using drift::unit_test::masking_input;

TEST(SpanMasks, ScoreWhatTheyMask) {
  drift::unit_test::RecordingHost host;
  const auto masking = make<SpanMasks>(host, {{"views", std::int64_t{8}}, {"share_low", 0.25}, {"share_high", 0.5}});
  const drift::Trajectories responses = drift::unit_test::trajectories(/*responses=*/2, /*length=*/40);
  drift::MaskPlan plan;
  masking->plan(masking_input(responses), plan);
  ASSERT_EQ(plan.response_F.size(0), 16);
  EXPECT_TRUE(at::equal(plan.masked_FL, plan.target_FL));
  const auto masked_F = plan.masked_FL.sum(1);
  EXPECT_GE(masked_F.min().item<std::int64_t>(), 10) << "a quarter of 40";
  EXPECT_LE(masked_F.max().item<std::int64_t>(), 20) << "half of 40";
}

TEST(SpanMasks, OfAResponseAreTheSameInAnyBatch) {
  drift::unit_test::RecordingHost host;
  const auto masking = make<SpanMasks>(host, {{"views", std::int64_t{1}}});
  const drift::Trajectories three = drift::unit_test::trajectories(3, 20), one = drift::unit_test::trajectories(1, 20);
  drift::MaskPlan of_three, of_one;
  masking->plan(masking_input(three), of_three);
  masking->plan(masking_input(one), of_one);
  EXPECT_TRUE(at::equal(of_three.masked_FL[0], of_one.masked_FL[0]));
}

TEST(SpanMasks, RefuseSharesInTheWrongOrder) {
  drift::unit_test::RecordingHost host;
  EXPECT_THROW(make<SpanMasks>(host, {{"share_low", 0.9}}), drift::Error);
}

}  // namespace
