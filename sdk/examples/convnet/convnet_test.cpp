#include "convnet.cpp"

#include <drift/unit_test.h>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/allclose.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace {

std::unique_ptr<ConvNet> random_model(const std::string& adapter_json = "") {
  static drift::unit_test::RecordingHost host;
  std::ifstream file(std::filesystem::path(__FILE__).parent_path() / "start/config.json");
  drift::ModelConfig config;
  config.config_json = {std::istreambuf_iterator<char>(file), {}};
  config.adapter_json = adapter_json;
  auto model = drift::unit_test::make<ConvNet>(host, {}, {}, &config);
  const at::NoGradGuard no_gradient;
  model->initialize(drift::RandomStream(1, "weights"));
  return model;
}

TEST(ConvNet, APaddedRowIsTheSameAsAlone) {
  const auto model = random_model();
  const at::NoGradGuard no_gradient;
  drift::ForwardInput alone, padded;
  alone.tokens_BS = at::arange(5, 11, at::kLong).unsqueeze(0);
  padded.tokens_BS = at::full({1, 9}, 7, at::kLong);  // what padding holds does not matter
  padded.tokens_BS.narrow(1, 3, 6).copy_(alone.tokens_BS);
  padded.key_mask_BS = at::arange(9).ge(3).unsqueeze(0);
  EXPECT_TRUE(at::allclose(model->forward(padded).narrow(0, 3, 6), model->forward(alone), 1e-4, 1e-5));
}

TEST(ConvNet, GradientsReachEveryParameter) {
  const auto model = random_model();
  drift::ForwardInput input;
  input.tokens_BS = at::arange(5, 17, at::kLong).unsqueeze(0);
  model->forward(input).matmul(model->lm_head_VH().t()).square().sum().backward();
  for (const auto& [name, tensor] : model->parameters())
    EXPECT_TRUE(tensor.grad().defined() && tensor.grad().any().item<bool>()) << name;
}

TEST(ConvNet, OnlyItsAdaptersAreTrainedAndTheyCanBeSwitchedOffByRow) {
  const auto model = random_model(
      R"({"r": 2, "lora_alpha": 4, "lora_dropout": 0.0, "target_modules": ["blocks.1.out", "blocks.4.out"]})");
  ASSERT_EQ(model->adapter_parameters().size(), 4u);
  for (const auto& [name, tensor] : model->parameters())
    EXPECT_EQ(tensor.requires_grad(), name.find("lora") != name.npos) << name;
  const at::NoGradGuard no_gradient;
  drift::ForwardInput input;
  input.tokens_BS = at::arange(5, 11, at::kLong).repeat({2, 1});
  input.adapted_B = at::arange(2).eq(1);
  const auto states_BSH = model->forward(input).view({2, 6, 64});
  EXPECT_FALSE(at::allclose(states_BSH[0], states_BSH[1], 1e-4, 1e-5));
  for (const auto& [name, tensor] : model->adapter_parameters()) tensor.zero_();
  EXPECT_TRUE(at::allclose(model->forward(input).view({2, 6, 64})[1], states_BSH[0], 1e-4, 1e-5));
}

}  // namespace
