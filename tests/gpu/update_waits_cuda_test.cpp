// A gradient waits for the GPU once, however many parts it is computed in: to read the loss and its metrics.

#include <core/update/policy_gradient.h>
#include <core/update/update_batch.h>

#include "tests/gpu/on_the_gpu.h"
#include "tests/support/alone.h"
#include "tests/support/device_waits.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"
#include "tests/support/tiny_model.h"
#include "tests/support/updates.h"

#include <gmock/gmock.h>

namespace drift::update_waits_cuda_test {
namespace {

class Scaled final : public LossEstimator {
 public:
  explicit Scaled(double factor) : factor_(factor) {}
  Coupling coupling() const override { return Coupling::kView; }
  Loss evaluate(const LossInput& input) const override {
    Loss loss = input.token_mean(input.token_advantage() * input.log_probs.current_FL * factor_);
    loss.add_mean("first", input.log_probs.current_FL, input.plan.target_FL);
    loss.add_mean("second", input.log_probs.old_FL, input.plan.target_FL);
    return loss;
  }

 private:
  double factor_;
};

class UpdateOnTheGpu : public test::OnTheGpu<> {
 protected:
  UpdateOnTheGpu() {
    trajectories_.prompts.mask_BP = trajectories_.prompts.mask_BP.clone();
    trajectories_.prompts.mask_BP.narrow(1, 0, 1).fill_(false);
    batch_ = update_batch(trajectories_, at::arange(8, at::kFloat) - 3.5, plan_, 4);
  }
  std::unique_ptr<Model> model(at::Device device) const {
    return test::open_checkpoint("llada", test::source_dir() / "tests/golden/data/ckpt/llada_a", at::kFloat, device);
  }
  PolicyGradient gradient(const Model& model, std::int64_t memory_budget, double factor = 1) const {
    return policy_gradient(test::alone, model, Scaled(factor), batch_, memory_budget, Shard::kNone);
  }

  Trajectories trajectories_ = test::make_trajectories(8, 4, 5, 8, 200, 2);
  MaskPlan plan_ = test::views_of_steps(trajectories_, 3);
  UpdateBatch batch_;
};

TEST_F(UpdateOnTheGpu, WaitsOnceForAGradient) {
  if (!test::can_count_waits()) GTEST_SKIP() << "this LibTorch does not export its sync-debug mode";
  const auto there = model(device_);
  gradient(*there, 1);  // the first one loads kernels
  EXPECT_EQ(test::waits_of([&] { gradient(*there, std::int64_t{1} << 30); }), 1);
  EXPECT_EQ(test::waits_of([&] { gradient(*there, 1); }), 1) << "one row and one token at a time";
}

TEST_F(UpdateOnTheGpu, HasTheMetricsOfTheCpu) {
  const auto here = model(at::kCPU), there = model(device_);
  for (const std::int64_t budget : {std::int64_t{1} << 30, std::int64_t{1}}) {
    const auto expected = gradient(*here, budget), found = gradient(*there, budget);
    EXPECT_NEAR(found.loss, expected.loss, 1e-5);
    for (const auto& [name, metric] : expected.metrics) {
      EXPECT_NEAR(found.metrics.at(name).sum, metric.sum, 1e-4 * std::abs(metric.sum)) << name;
      EXPECT_EQ(found.metrics.at(name).count, metric.count) << name;
    }
  }
}

TEST_F(UpdateOnTheGpu, SaysThatALossIsNotFinite) {
  const auto there = model(device_);
  EXPECT_THAT(test::error_of([&] { gradient(*there, 1, std::nan("")); }),
              testing::HasSubstr("the loss is nan, and all log-probabilities are finite"));
}

}  // namespace
}  // namespace drift::update_waits_cuda_test
