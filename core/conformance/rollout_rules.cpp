#include <core/base/model_policy.h>
#include <core/conformance/inputs.h>
#include <core/conformance/made_up_model.h>
#include <core/conformance/rules.h>
#include <core/conformance/watches.h>

#include <drift/random.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <atomic>

namespace drift {
namespace {

constexpr double kRolloutRounding = 1e-3;  // of log-probabilities, in another batch or with padding

using RolloutPointer = std::unique_ptr<Rollout>;

/// A rollout's input without its policy; the first group's prompt is shorter.
RolloutInput made_up_input(std::int64_t prompt_length = kPromptLength) {
  RolloutInput input;
  input.prompts.tokens_BP = at::zeros({kResponses, prompt_length}, at::kLong);
  for (std::int64_t b = 0; b < kResponses; ++b) {
    for (std::int64_t p = 0; p < prompt_length; ++p)
      input.prompts.tokens_BP[b][p] = 2 + (5 * (b / kGroupSize) + p) % 20;
  }
  input.prompts.mask_BP = at::ones({kResponses, prompt_length}, at::kBool);
  input.prompts.group_B = at::arange(kResponses, at::kLong).div(kGroupSize, "floor");
  if (prompt_length > 1) {
    input.prompts.tokens_BP.narrow(0, 0, kGroupSize).select(1, 0).fill_(kPadId);
    input.prompts.mask_BP.narrow(0, 0, kGroupSize).select(1, 0).fill_(false);
  }
  input.random = RandomStream(9, "rollout");
  input.step = 3;
  return input;
}

RolloutInput part_of(const RolloutInput& whole, std::int64_t first, std::int64_t count) {
  RolloutInput part = whole;
  part.prompts.tokens_BP = whole.prompts.tokens_BP.narrow(0, first, count).clone();
  part.prompts.mask_BP = whole.prompts.mask_BP.narrow(0, first, count).clone();
  part.prompts.group_B = whole.prompts.group_B.narrow(0, first, count).clone();
  part.prompts.group_B.sub_(part.prompts.group_B[0].clone());
  part.first_response = whole.first_response + first;
  return part;
}

/// Longer on the left by `count` positions that no one attends to.
RolloutInput padded(const RolloutInput& input, std::int64_t count) {
  RolloutInput longer = input;
  longer.prompts.tokens_BP = at::cat({at::full({kResponses, count}, kPadId, at::kLong), input.prompts.tokens_BP}, 1);
  longer.prompts.mask_BP = at::cat({at::zeros({kResponses, count}, at::kBool), input.prompts.mask_BP}, 1);
  return longer;
}

Trajectories generate(const Rollout& rollout, RolloutInput input, const Model& model) {
  const ModelPolicy policy(model);
  input.policy = &policy;
  Trajectories made;
  const at::NoGradGuard no_gradient;
  rollout.generate(input, made);
  return made;
}

/// Responses [first, first + size of `part`) of `whole`.
void require_same(const Trajectories& part, const Trajectories& whole, std::int64_t first, const std::string& when) {
  const auto same = [&](const at::Tensor& of_part, const at::Tensor& of_whole) {
    return same_bits(of_part, of_whole.narrow(0, first, of_part.size(0)));
  };
  if (!same(part.tokens_BL, whole.tokens_BL) || !same(part.valid_BL, whole.valid_BL) ||
      !same(part.step_BL, whole.step_BL) || !same(part.forwards_B, whole.forwards_B))
    throw Error(
        "the same prompts and random numbers give other responses " + when,
        "draw at RandomPoint{step, first_response + b, position, denoising step}; a response depends on nothing "
        "but its own prompt");
  const at::Tensor& logprob_BL = part.commit_logprob_BL;
  if (largest_difference(logprob_BL, whole.commit_logprob_BL.narrow(0, first, logprob_BL.size(0))) > kRolloutRounding)
    throw Error("the log-probabilities of the same tokens differ " + when);
}

void require_within_estimate(const Rollout& rollout, const MadeUpModel& model) {
  const auto* const estimate = capability<RolloutCostEstimate>(rollout);
  if (estimate == nullptr) return;
  RolloutCost cost;
  estimate->estimate_cost(model, kPromptLength, kResponses, /*on_cpu=*/true, cost);
  const at::Tensor forwards_B = generate(rollout, made_up_input(), model).forwards_B;
  const std::int64_t least = forwards_B.min().item<std::int64_t>(), most = forwards_B.max().item<std::int64_t>();
  if (least < cost.least_forwards || most > cost.most_forwards)
    throw Error("estimate_cost: it says " + std::to_string(cost.least_forwards) + " to " +
                std::to_string(cost.most_forwards) + " forwards a response, and there were " + std::to_string(least) +
                " to " + std::to_string(most));
}

}  // namespace

void check_rollout_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const auto settings = edge_settings(entry.params, with.values);
  const auto make = [&](const Setting& setting) { return make_examined<Rollout>(entry, setting.values); };
  const auto each = [&](const std::function<void(const Rollout&)>& body) {
    return for_each_setting(settings, [&](const Setting& setting) { body(*make(setting)); });
  };
  const MadeUpModel model(at::kFloat);
  const RolloutInput input = made_up_input();

  examination.basic_rule("made", [&] {
    return or_not_checked(entry, [&] { return each([](const Rollout& rollout) { rollout.response_length(); }); });
  });
  // Shapes, types, ids, steps and unchanged prompts are what the guards of core/boundary check in every call.
  examination.basic_rule("results",
                         [&] { return each([&](const Rollout& rollout) { generate(rollout, input, model); }); });
  examination.rule("short prompts", [&] {
    return each([&](const Rollout& rollout) { generate(rollout, made_up_input(/*prompt_length=*/1), model); });
  });
  examination.rule("deterministic", [&] {
    return for_each_setting(settings, [&](const Setting& setting) {
      const RolloutPointer rollout = make(setting);
      const Trajectories first = generate(*rollout, input, model);
      require_same(generate(*rollout, input, model), first, 0, "the second time");
      require_same(generate(*make(setting), input, model), first, 0, "from another object");
    });
  });
  examination.rule("batch", [&] {
    return each([&](const Rollout& rollout) {
      const Trajectories whole = generate(rollout, input, model);
      for (std::int64_t first = 0; first < kResponses; first += kGroupSize)
        require_same(generate(rollout, part_of(input, first, kGroupSize), model), whole, first, "group by group");
      require_same(generate(rollout, part_of(input, 3, 1), model), whole, 3, "one by one");
    });
  });
  examination.rule("padding", [&] {
    return each([&](const Rollout& rollout) {
      require_same(generate(rollout, padded(input, 4), model), generate(rollout, input, model), 0,
                   "with more padding on the left");
    });
  });
  examination.rule("random numbers", [&] {
    return each([&](const Rollout& rollout) { without_global_random([&] { generate(rollout, input, model); }); });
  });
  examination.rule("bfloat16", [&] {
    const MadeUpModel narrow(at::kBFloat16);
    return each([&](const Rollout& rollout) { generate(rollout, input, narrow); });
  });
  examination.rule("cancelled", [&] {
    const std::atomic<bool> cancelled = true;
    RolloutInput stopped = input;
    stopped.cancelled = &cancelled;
    return each([&](const Rollout& rollout) { generate(rollout, stopped, model); });
  });
  examination.rule("cost", [&] {
    if (capability<RolloutCostEstimate>(*make(settings.front())) == nullptr)
      throw RuleNotChecked("it has no RolloutCostEstimate");
    return each([&](const Rollout& rollout) { require_within_estimate(rollout, model); });
  });
  examination.rule("leak", [&] {
    const RolloutPointer rollout = make(settings.front());
    return without_leak([&] { generate(*rollout, input, model); });
  });
}

}  // namespace drift
