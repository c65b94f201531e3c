#include "suffix_ratio.cpp"

#include <drift/unit_test.h>

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

namespace {

using drift::unit_test::make;
using drift::unit_test::RecordingHost;

TEST(SuffixRatioMasking, MasksAndScoresFromAPositionToTheEnd) {
  RecordingHost host;
  const auto masking = make<SuffixRatioMasking>(host, {{"views", std::int64_t{8}}});
  const drift::Trajectories responses = drift::unit_test::trajectories(/*responses=*/2, /*length=*/10);
  drift::MaskPlan plan;
  masking->plan(drift::unit_test::masking_input(responses), plan);
  ASSERT_EQ(plan.masked_FL.size(0), 16);
  EXPECT_TRUE(at::equal(plan.masked_FL, plan.target_FL)) << "no response has an end token";
  EXPECT_TRUE(plan.masked_FL.select(1, 9).all().item<bool>());
  const auto masked_FL = plan.masked_FL.to(at::kInt);
  EXPECT_TRUE((masked_FL.narrow(1, 1, 9) >= masked_FL.narrow(1, 0, 9)).all().item<bool>()) << "one piece";
}

TEST(SuffixRatioLoss, ClipsTheRatio) {
  RecordingHost host;
  const auto loss = make<SuffixRatioLoss>(host, {{"eps_low", 0.2}, {"eps_high", 0.2}});
  const auto old_FL = at::tensor({0.5, 0.5}).log().view({1, 2});
  const auto current_FL = at::tensor({0.55, 0.75}).log().view({1, 2});  // ratios 1.1 and 1.5
  const auto input = drift::unit_test::loss_input(current_FL, old_FL, at::tensor({1.0}));
  EXPECT_NEAR(loss->evaluate(input).value.item<double>(), -(1.1 + 1.2) / 2, 1e-6);
}

}  // namespace
