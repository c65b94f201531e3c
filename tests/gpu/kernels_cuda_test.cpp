// The CUDA kernels on a GPU against their references: the comparisons that tests/unit/emulated_kernels_test.cpp makes
// on the CPU. And where the host waits for the GPU in a training step: nowhere in forward and backward, twice in the
// optimizer.

#include <core/kernels/cuda/library.h>
#include <core/kernels/linear_log_softmax.h>
#include <core/nn/transformer_model.h>
#include <core/update/optimizer.h>

#include <drift/commits.h>
#include <drift/sampling.h>

#include "tests/gpu/on_the_gpu.h"
#include "tests/support/alone.h"
#include "tests/support/device_waits.h"
#include "tests/support/golden_backbones.h"
#include "tests/support/kernel_comparisons.h"
#include "tests/support/support.h"

#include <ATen/Context.h>
#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <gtest/gtest.h>

namespace drift::kernels_cuda_test {
namespace {

class KernelsOnTheGpu : public test::OnTheGpu<> {
 protected:
  void SetUp() override {
    OnTheGpu::SetUp();
    at::manual_seed(1);
    if (!IsSkipped() && kernels::cuda::built_kernels() == nullptr) GTEST_SKIP() << "this build has no CUDA kernels";
  }

  test::KernelMachine machine() const {
    return {*kernels::cuda::built_kernels(), device_, /*draws=*/2000, /*logit_tolerance=*/1.0 / 8};
  }
};

TEST_F(KernelsOnTheGpu, Norm) { test::compare_norms(machine()); }
TEST_F(KernelsOnTheGpu, Rotation) { test::compare_rotations(machine()); }
TEST_F(KernelsOnTheGpu, Gate) { test::compare_gates(machine()); }
TEST_F(KernelsOnTheGpu, Head) { test::compare_head(machine()); }
TEST_F(KernelsOnTheGpu, Draws) { test::compare_draws(machine()); }
TEST_F(KernelsOnTheGpu, Uniforms) { test::compare_uniforms(machine()); }
TEST_F(KernelsOnTheGpu, Commits) { test::compare_commits(machine()); }
TEST_F(KernelsOnTheGpu, Widening) { test::compare_widening(machine()); }
TEST_F(KernelsOnTheGpu, Dropout) { test::compare_dropout(machine()); }
TEST_F(KernelsOnTheGpu, AdamW) { test::compare_adamw(machine()); }

class WaitsOfAStep : public KernelsOnTheGpu {
 protected:
  void SetUp() override {
    KernelsOnTheGpu::SetUp();
    if (!IsSkipped() && !test::can_count_waits()) GTEST_SKIP() << "this LibTorch does not export its sync-debug mode";
  }

  at::TensorOptions options(at::ScalarType type) const { return at::TensorOptions(type).device(device_); }
};

TEST_F(WaitsOfAStep, NoneInForwardHeadAndBackward) {
  const auto model =
      test::open_checkpoint("llada", test::source_dir() / "tests/golden/data/ckpt/llada_a", at::kBFloat16, device_);
  ForwardInput input;
  input.tokens_BS = at::arange(24, options(at::kLong)).view({3, 8});
  input.rows_N = at::arange(12, options(at::kLong)) * 2;
  const kernels::TokenTargets targets{at::arange(12, options(at::kLong)), at::arange(12, options(at::kLong))};
  const auto slope_E = at::ones({12}, options(at::kFloat));
  auto weight_gradient_VH = at::zeros(model->lm_head_VH().sizes(), options(at::kFloat));
  std::vector<at::Tensor> parameters;
  for (const auto& parameter : model->parameters()) {
    if (parameter.tensor.requires_grad()) parameters.push_back(parameter.tensor);
  }
  const auto step = [&] {
    const auto hidden_NH = model->forward(input);
    kernels::LinearLogSoftmax head(model->lm_head_VH());
    head.forward(hidden_NH, targets, /*want_entropy=*/true);
    const auto slope_NH = head.backward(slope_E, slope_E, weight_gradient_VH, /*overwrite=*/false);
    torch::autograd::grad({hidden_NH}, parameters, {slope_NH}, std::nullopt, false, /*allow_unused=*/true);
  };
  step();  // the first one loads kernels
  EXPECT_EQ(test::waits_of(step), 0);
}

TEST_F(WaitsOfAStep, NoneInADrawAndACommit) {
  const auto logits = at::randn({8, 1000}, options(at::kFloat));
  const auto row_M = at::arange(8, options(at::kLong)), draw_M = at::zeros({8}, options(at::kLong));
  const auto failed = at::zeros({}, options(at::kBool));
  SamplingOptions sampling{1, Confidence::kProbability, {{3, 5}}};
  sampling.top_p = 0.9;
  const auto step = [&] {
    const auto uniform_M = uniform(RandomStream(1, "draws"), 0, row_M, draw_M, draw_M);
    const auto drawn = sample_tokens(logits, row_M, uniform_M, sampling);
    choose_commits(drawn.confidence_M.view({2, 4}), {}, failed);
  };
  step();
  EXPECT_EQ(test::waits_of(step), 0);
}

TEST_F(WaitsOfAStep, AsManyForTwoParametersAsForFifty) {
  const auto waits = [&](int count) {
    OptimizerSettings settings;
    settings.gradient_clip = 0;
    settings.learning_rate = 1e-3;
    settings.schedule = "constant";
    settings.beta1 = 0.9, settings.beta2 = 0.99, settings.epsilon = 1e-8;
    std::vector<NamedTensor> parameters;
    std::vector<at::Tensor> gradients;
    for (int p = 0; p < count; ++p) {
      parameters.push_back({"p" + std::to_string(p), at::randn({100}, options(at::kFloat)).to(at::kBFloat16)});
      gradients.push_back(at::randn({100}, options(at::kFloat)));
    }
    Optimizer optimizer(test::alone, parameters, settings);
    optimizer.step(gradients);
    return test::waits_of([&] { optimizer.step(gradients); });
  };
  EXPECT_EQ(waits(50), waits(2));
}

}  // namespace
}  // namespace drift::kernels_cuda_test
