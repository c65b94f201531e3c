// The plugin that was compiled against version 1.0 of drift/pure.h and is kept as it was:
// tests/abi/recorded/pure_1_0.c.

#include <tests/support/plugins.h>
#include <tests/support/rollouts.h>
#include <tests/support/support.h>

#include <core/boundary/checked.h>
#include <core/boundary/made.h>
#include <core/lab/loss_slope.h>
#include <core/plugin/plugin_loader.h>

#include <ATen/TensorOperators.h>

namespace drift::pure_recorded_test {

using namespace testing;

const std::filesystem::path kRecorded = test::source_dir() / "tests/abi/recorded/pure_1_0_x86_64.so";

class RecordedPurePlugin : public testing::Test {
 protected:
  void SetUp() override {
#if !defined(__x86_64__)
    GTEST_SKIP() << "the recorded binary is for x86_64";
#endif
    PluginLoader(registry_).load_file(kRecorded);
  }

  template <class T>
  Made<T> make(const std::map<std::string, Parameter::Value>& values = {}) {
    const ComponentEntry& entry = *registry_.find(T::kKind, "recorded");
    return make_from_plugin<T>(test::host(), entry, Parameters(entry.params, values));
  }

  Registry registry_;
};

// The floor is the first glibc of this processor: the plugin runs wherever a Drift does.
TEST_F(RecordedPurePlugin, NeedsNoGlibcBeyondItsFloor) {
  const auto versions =
      test::run_command("objdump -T " + kRecorded.string() + " | grep -o 'GLIBC[A-Z]*_[0-9.]*' | sort -u");
  EXPECT_EQ(versions.output, "GLIBC_2.2.5\n") << versions.error;
}

TEST_F(RecordedPurePlugin, ItsLossHasTheRecordedValueAndGradient) {
  const Trajectories responses = test::equal_trajectories(4, 10);
  LossInput in = test::random_loss_input(test::draw_plan(*make<MaskingStrategy>(), responses), 4);
  const auto found = differentiate(*make<LossEstimator>({{"scale", 3.0}}), in);
  const auto weight_FL = -3.0 / in.plan.target_FL.sum().to(at::kDouble) * 0.5 * in.advantage_F1().to(at::kDouble) *
                         in.plan.target_FL.to(at::kDouble);
  EXPECT_THAT(test::numbers(found.gradients[0]), Pointwise(DoubleNear(1e-15), test::numbers(weight_FL)));
  EXPECT_NEAR(found.loss.value.item<double>(), (weight_FL * in.log_probs.current_FL).sum().item<double>(), 1e-12);
  ASSERT_EQ(found.loss.metrics.size(), 1u);
  EXPECT_EQ(found.loss.metrics[0].name, "gap");
  EXPECT_NEAR(found.loss.metrics[0].sum.item<double>(),
              (in.log_probs.current_FL - in.log_probs.reference_FL).sum().item<double>(), 1e-12);
}

TEST_F(RecordedPurePlugin, ItsMaskingStrategyDrawsTheRecordedPlan) {
  const Trajectories responses = test::equal_trajectories(3, 12);
  const MaskPlan plan = test::draw_plan(*make<MaskingStrategy>(), responses, /*step=*/5);
  const RandomStream random = RandomStream(1, "masking").child("recorded");
  EXPECT_EQ(plan.terms, 2);
  ASSERT_EQ(plan.masked_FL.size(0), 6);
  for (std::int64_t f = 0; f < 6; ++f) {
    EXPECT_EQ(plan.weight_F[f].item<float>(), 0.5F);
    for (std::int64_t i = 0; i < 12; ++i)
      EXPECT_EQ(plan.masked_FL[f][i].item<bool>(), random.uniform({5, f / 2, i, f % 2}) < 0.5) << f << " " << i;
  }
}

TEST_F(RecordedPurePlugin, ItsRewardAndItsTaskAnswerAsRecorded) {
  TaskItem item;
  const auto task = make<Task>();
  const RandomStream random(4, "task");
  task->training_item(17, random, item);
  EXPECT_EQ(item.id, std::to_string(random.below(9, {17, 0, 0, 0})));
  EXPECT_EQ(item.reference, item.id);
  EXPECT_EQ(task->held_out_size(), 1);
  task->held_out_item(0, item);
  EXPECT_EQ(item.prompt, "9");

  const auto reward = make<Reward>();
  RewardRequest request;
  request.item = &item;
  request.response = "x";
  RewardResult result;
  reward->score(request, result);
  EXPECT_EQ(result.value, 1);
  EXPECT_TRUE(result.solved);
  EXPECT_EQ(result.reason, "9");
  request.response = "xy";
  reward->score(request, result);
  EXPECT_EQ(result.value, 0.25);
  EXPECT_EQ(result.status, RewardStatus::kWrong);
}

}  // namespace drift::pure_recorded_test
