#include "soft_clip.cpp"

#include <drift/unit_test.h>

#include <ATen/ops/tensor.h>
#include <gtest/gtest.h>

#include <cmath>

namespace {

using drift::unit_test::loss_input;
using drift::unit_test::make;

// A token whose probability has halved, and one that is as likely as before.
const at::Tensor old_FL = at::tensor({0.5, 0.5}).log().view({1, 2});
const at::Tensor current_FL = at::tensor({0.25, 0.5}).log().view({1, 2});
const at::Tensor advantage_B = at::tensor({2.0});

TEST(SoftClip, MultipliesTheAdvantageByRatioAndWeight) {
  drift::unit_test::RecordingHost host;
  const auto loss = make<SoftClip>(host, {{"width", 4.0}});
  const double halved = 0.5 / (1 + 4 * std::log(2) * std::log(2));
  EXPECT_NEAR(loss->evaluate(loss_input(current_FL, old_FL, advantage_B)).value.item<double>(), -2 * (halved + 1) / 2,
              1e-6);
}

TEST(SoftClip, HasTheGradientOfTheRatioWhereThePolicyIsUnchanged) {
  drift::unit_test::RecordingHost host;
  const auto loss = make<SoftClip>(host);
  const drift::LossInput input = loss_input(old_FL, old_FL, advantage_B);
  loss->evaluate(input).value.backward();
  EXPECT_NEAR(input.log_probs.current_FL.grad()[0][0].item<double>(), -1, 1e-6) << "-advantage / 2 tokens";
}

}  // namespace
