// By a schedule that the host knows it waits for the GPU once a rollout, at the end, however many blocks and forwards
// there are.

#include <core/boundary/model_policy.h>

#include <drift/rollout.h>

#include "tests/gpu/on_the_gpu.h"
#include "tests/support/device_waits.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <gtest/gtest.h>

namespace drift::rollout_waits_cuda_test {
namespace {

class WaitsOnTheGpu : public test::OnTheGpu<testing::TestWithParam<const char*>> {
 protected:
  void SetUp() override {
    OnTheGpu::SetUp();
    if (!IsSkipped() && !test::can_count_waits()) GTEST_SKIP() << "this LibTorch does not export its sync-debug mode";
  }

  /// Waits of a rollout of two blocks, or without blocks, by a schedule of `steps` forwards.
  int waits(const Model& model, std::int64_t steps) const {
    const std::string decoder = GetParam();
    const std::int64_t length = 32;
    const auto rollout = decoder == "entropy" || decoder == "origin"
                             ? test::create<Rollout>("diffusion", "diffusion",
                                                     {{"length", length}, {"steps", steps}, {"order", decoder}})
                             : test::create<Rollout>("block", "block",
                                                     {{"length", length},
                                                      {"block", length / 2},
                                                      {"schedule", "static"},
                                                      {"steps", steps},
                                                      {"cache", decoder}});
    const ModelPolicy policy(model);
    RolloutInput input;
    input.policy = &policy;
    input.prompts = {at::arange(8, at::kLong).repeat({3, 1}), at::ones({3, 8}, at::kBool), at::zeros({3}, at::kLong)};
    Trajectories made;
    const at::NoGradGuard no_gradient;
    return test::waits_of([&] { rollout->generate(input, made); });
  }
};

TEST_P(WaitsOnTheGpu, AreOneARollout) {
  const auto model =
      test::open_checkpoint("llada", test::source_dir() / "tests/golden/data/ckpt/llada_a", at::kFloat, device_);
  waits(*model, 2);  // the first forward loads kernels
  EXPECT_EQ(waits(*model, 2), 1);
  EXPECT_EQ(waits(*model, 16), 1);
}

INSTANTIATE_TEST_SUITE_P(Decoders, WaitsOnTheGpu, testing::Values("none", "prefix", "dual", "entropy", "origin"));

}  // namespace
}  // namespace drift::rollout_waits_cuda_test
