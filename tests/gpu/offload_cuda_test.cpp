// Masters and moments in host memory, and a reference policy whose blocks come one at a time, on a GPU.

#include <core/boundary/streamed_model.h>
#include <core/update/optimizer.h>

#include "tests/gpu/on_the_gpu.h"
#include "tests/support/alone.h"
#include "tests/support/plugins.h"
#include "tests/support/support.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>

#include <gtest/gtest.h>

namespace drift::offload_cuda_test {
namespace {

class OffloadOnTheGpu : public test::OnTheGpu<> {
 protected:
  // The last one is more than one piece.
  std::vector<NamedTensor> parameters(at::Device device, at::ScalarType type) const {
    std::vector<NamedTensor> made;
    for (const std::int64_t size : {1, 1000, (1 << 23) + 77}) {
      const auto values = at::arange(size, at::kFloat).mul_(0.37).sin_().to(type);
      made.push_back({"weight" + std::to_string(size), values.to(device).set_requires_grad(true)});
    }
    return made;
  }
};

TEST_F(OffloadOnTheGpu, WeightsAreThoseOfTheCpu) {
  OptimizerSettings settings;
  settings.gradient_clip = 0;
  settings.learning_rate = 1e-3;
  settings.schedule = "constant";
  settings.beta1 = 0.9;
  settings.beta2 = 0.99;
  settings.epsilon = 1e-8;
  settings.weight_decay = 0.1;
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    settings.offload = true;
    const auto here = parameters(at::kCPU, type), there = parameters(device_, type);
    Optimizer on_cpu(test::alone, here, settings), offloaded(test::alone, there, settings);
    settings.offload = false;
    const auto plain_there = parameters(device_, type);
    Optimizer on_gpu(test::alone, plain_there, settings);
    for (int step = 0; step < 4; ++step) {
      std::vector<at::Tensor> gradients, gradients_there, gradients_plain;
      for (const auto& one : here) {
        // Not contiguous: copies that are made for the transfer must outlive it.
        gradients.push_back(
            at::arange(2 * one.tensor.numel(), at::kFloat).mul_(0.11 * (step + 1)).cos_().slice(0, 0, {}, 2));
        gradients_there.push_back(gradients.back().to(device_));
        gradients_plain.push_back(gradients.back().to(device_));
      }
      on_cpu.step(gradients);
      offloaded.step(gradients_there);
      on_gpu.step(gradients_plain);
    }
    for (std::size_t p = 0; p < here.size(); ++p) {
      EXPECT_TRUE(at::equal(there[p].tensor.cpu(), here[p].tensor)) << here[p].name;
      EXPECT_TRUE(at::allclose(plain_there[p].tensor.cpu().to(at::kFloat), here[p].tensor.to(at::kFloat), 1e-2, 1e-6))
          << here[p].name;
    }
  }
}

TEST_F(OffloadOnTheGpu, AStreamedModelComputesWhatTheSameModelComputesInMemory) {
  const auto folder = test::source_dir() / "tests/golden/data/ckpt/llada_a";
  const std::vector<ConfigOverride> all{{"", "model.path", folder.string(), /*literal=*/true},
                                        {"", "model.name", "llada", /*literal=*/true},
                                        {"", "run.device", "cuda", /*literal=*/true}};
  const Registry& registry = test::load_plugin("llada");
  const ModelShapes shapes(test::host_of(registry),
                           resolve_config(load_document({}, all), registry, ConfigPurpose::kModelOnly),
                           WhichAdapters::kAll);
  const at::NoGradGuard no_gradient;
  const auto held = open_initial_model(test::alone, shapes), streamed = open_streamed_model(shapes);
  for (int again = 0; again < 3; ++again) {
    const auto tokens_BS = (at::arange(29, at::kLong) * (37 + again)).remainder(200).view({1, 29}).to(device_);
    const ForwardInput input{tokens_BS, {}, {}};
    EXPECT_TRUE(at::equal(streamed->forward(input).cpu(), held->forward(input).cpu()));
  }
}

}  // namespace
}  // namespace drift::offload_cuda_test
