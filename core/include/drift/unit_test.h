#pragma once

// Inputs for the test of a component, without the program and without a model:
//
//     TEST(SoftClip, IsTheMeanAdvantageWhileThePolicyIsUnchanged) {
//       drift::unit_test::RecordingHost host;
//       const auto loss = drift::unit_test::make<SoftClip>(host, {{"width", 2.0}});
//       const auto logprob_FL = at::tensor({-1.0, -2.0}).view({1, 2});
//       const auto input = drift::unit_test::loss_input(logprob_FL, logprob_FL, at::tensor({0.5}));
//       EXPECT_NEAR(loss->evaluate(input).value.item<double>(), -0.5, 1e-6);
//     }
//
// For tests alone. Everything is compiled into the test, so nothing here is part of the ABI.

#include <drift/host.h>
#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/policy.h>
#include <drift/registry.h>
#include <drift/reward.h>
#include <drift/rollout.h>
#include <drift/sampling.h>

#include <ATen/ops/arange.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace drift::unit_test {

/// A host that keeps what a component says. Not for several threads.
class RecordingHost final : public Host {
 public:
  std::vector<std::string> lines;                            ///< logged, and warned of once
  std::map<std::string, std::pair<double, double>> metrics;  ///< sum and count under the name

  void log(LogLevel, std::string_view text) override { lines.emplace_back(text); }
  void warn_once(std::string_view text) override { lines.emplace_back(text); }
  void metric(std::string_view name, double sum, double count) override {
    auto& total = metrics[std::string(name)];
    total.first += sum;
    total.second += count;
  }
  RandomStream random(std::string_view name) const override { return {1, name}; }
};

/// A component as the program makes it: with these values, checked, and the defaults of its other parameters.
/// @param host      outlives the component
/// @param declared  the parameters of a component that declares them at its registration
/// @param config    for a model
/// @throws Error if a value is not declared, of another type, or out of range
template <class T>
std::unique_ptr<T> make(Host& host, const std::map<std::string, Parameter::Value>& values = {},
                        std::vector<Parameter> declared = {}, const ModelConfig* config = nullptr) {
  Registry registry;
  registry.add<T>("under_test", "The component under test.", std::move(declared));
  const ComponentEntry& entry = registry.components().front();
  const Parameters params(entry.params, values);
  ComponentContext context;
  context.params = &params;
  context.host = &host;
  context.model_config = config;
  return std::unique_ptr<T>(static_cast<T*>(entry.create(context).release()));
}

/// Equal prompts [B, P] of real tokens, one group.
inline Prompts prompts(std::int64_t responses, std::int64_t length) {
  return {at::full({responses, length}, 5, at::kLong),
          at::ones({responses, length}, at::kBool),
          at::zeros({responses}, at::kLong),
          {}};
}

/// Responses of L tokens 10, 11, 12, …, none of them an end, written from left to right, one token a forward, each with
/// the log-probability -0.5.
inline Trajectories trajectories(std::int64_t responses, std::int64_t length) {
  Trajectories made;
  made.prompts = prompts(responses, 3);
  made.tokens_BL = at::arange(10, 10 + length, at::kLong).repeat({responses, 1});
  made.valid_BL = at::ones({responses, length}, at::kBool);
  made.step_BL = at::arange(length, at::kInt).repeat({responses, 1});
  made.commit_logprob_BL = at::full({responses, length}, -0.5, at::kFloat);
  made.forwards_B = at::full({responses}, length, at::kLong);
  return made;
}

/// What a masking strategy gets in the first iteration of a training step. @param of  outlives the result
inline MaskingInput masking_input(const Trajectories& of, std::int64_t step = 0) {
  MaskingInput input;
  input.trajectories = &of;
  input.random = RandomStream(1, "unit test");
  input.step = step;
  input.response_number_B = at::arange(of.tokens_BL.size(0), at::kLong);
  input.end_id = 2;
  input.pad_id = 0;
  return input;
}

/// A batch of F responses with one view each, which masks and scores all L positions.
/// @param current_FL  requires gradients after the call
inline LossInput loss_input(const at::Tensor& current_FL, const at::Tensor& old_FL, const at::Tensor& advantage_B) {
  const std::int64_t views = current_FL.size(0), length = current_FL.size(1);
  LossInput input;
  input.plan.response_F = at::arange(views, at::kLong);
  input.plan.term_F = at::zeros({views}, at::kLong);
  input.plan.masked_FL = input.plan.target_FL = at::ones({views, length}, at::kBool);
  input.plan.terms = 1;
  input.log_probs.current_FL = current_FL.to(at::kFloat).clone().requires_grad_();
  input.log_probs.old_FL = old_FL.to(at::kFloat);
  input.advantage_B = advantage_B.to(at::kFloat);
  input.valid_BL = at::ones({views, length}, at::kBool);
  input.totals.responses = input.totals.group_size = input.totals.views = views;
  input.totals.terms = 1;
  input.totals.targets = views * length;
  input.scored_B = at::full({views}, length, at::kLong);
  return input;
}

/// What a reward says of a response to an item with this reference answer.
inline RewardResult judge(const Reward& reward, const std::string& response, const std::string& reference,
                          bool truncated = false) {
  TaskItem item;
  item.id = "one";
  item.reference = reference;
  RewardRequest request;
  request.response = response;
  request.item = &item;
  request.truncated = truncated;
  RewardResult result;
  reward.score(request, result);
  return result;
}

/// A policy that finds every token equally likely, on the CPU and without caches.
class UniformPolicy final : public Policy {
 public:
  explicit UniformPolicy(ModelTraits traits) : traits_(std::move(traits)) {}
  const ModelTraits& traits() const override { return traits_; }
  at::Device device() const override { return at::kCPU; }
  at::Tensor logits(const ForwardInput& input, const ForwardCache&) const override {
    return at::zeros({input.rows_N.size(0), traits_.vocabulary_size}, at::kFloat);
  }
  SampledTokens sample(const ForwardInput& input, const ForwardCache& cache, const at::Tensor& row_M,
                       const at::Tensor& uniform_M, const SamplingOptions& options) const override {
    return sample_tokens(logits(input, cache), row_M, uniform_M, options);
  }
  std::unique_ptr<KeyValueCache> make_cache(std::int64_t, std::int64_t) const override { return nullptr; }

 private:
  ModelTraits traits_;
};

}  // namespace drift::unit_test
