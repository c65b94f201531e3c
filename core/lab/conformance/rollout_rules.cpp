#include <core/boundary/checked.h>
#include <core/boundary/model_policy.h>
#include <core/lab/conformance/inputs.h>
#include <core/lab/conformance/made_up_model.h>
#include <core/lab/conformance/trials.h>
#include <core/rollout/together.h>

#include <drift/random.h>
#include <drift/unit_test.h>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <atomic>
#include <variant>

namespace drift {
namespace {

constexpr double kRolloutRounding = 1e-3;  // of log-probabilities, in another batch or with padding
constexpr double kNeverByChance = 30;      // e^-30 is one in 10^13

/// A rollout's input without its policy.
RolloutInput made_up_rollout(std::int64_t prompt_length = kPromptLength) {
  RolloutInput input;
  input.prompts = made_up_prompts(prompt_length);
  input.random = RandomStream(9, "rollout");
  input.step = 3;
  return input;
}

/// Longer on the left by `count` positions that no one attends to.
RolloutInput padded(const RolloutInput& input, std::int64_t count) {
  RolloutInput longer = input;
  longer.prompts.tokens_BP = at::cat({at::full({kResponses, count}, kPadId, at::kLong), input.prompts.tokens_BP}, 1);
  longer.prompts.mask_BP = at::cat({at::zeros({kResponses, count}, at::kBool), input.prompts.mask_BP}, 1);
  return longer;
}

Trajectories generate(const Rollout& rollout, RolloutInput input, const Policy& policy) {
  input.policy = &policy;
  const at::NoGradGuard no_gradient;
  return checked_trajectories(rollout, input);
}

/// Responses [first, first + size of `part`) of `whole`.
void require_same_responses(const Trajectories& part, const Trajectories& whole, std::int64_t first,
                            const std::string& when) {
  const std::int64_t count = part.tokens_BL.size(0);
  for (const auto field :
       {&Trajectories::tokens_BL, &Trajectories::valid_BL, &Trajectories::step_BL, &Trajectories::forwards_B}) {
    if (!same_bits(part.*field, (whole.*field).narrow(0, first, count)))
      throw Error(
          "the same prompts and random numbers give other responses " + when,
          "draw at RandomPoint{step, first_response + b, position, denoising step}; a response depends on nothing "
          "but its own prompt");
  }
  if (largest_difference(part.commit_logprob_BL, whole.commit_logprob_BL.narrow(0, first, count)) > kRolloutRounding)
    throw Error("the log-probabilities of the same tokens differ " + when);
}

/// The tokens that one denoising step commits are drawn independently. So the chance that a group's other responses
/// equal its first is at most the product of the probabilities of its tokens, to the power of their number.
void require_different_responses(const Trajectories& made) {
  double surprisal = 0;
  for (std::int64_t first = 0; first < kResponses; first += kGroupSize) {
    for (const at::Tensor& tensor : {made.tokens_BL, made.step_BL}) {
      const auto group = tensor.narrow(0, first, kGroupSize);
      if (!at::equal(group, group.narrow(0, 0, 1).expand_as(group))) return;
    }
    surprisal -= (kGroupSize - 1) * made.commit_logprob_BL[first].to(at::kDouble).sum().item<double>();
  }
  if (surprisal > kNeverByChance)
    throw Error(
        "it writes the same response for every member of a group, even where all tokens are equally likely: it "
        "ignores its random stream, or its settings leave one token to draw",
        "draw at RandomPoint{step, first_response + b, position, denoising step} of the input's random stream");
}

void require_within_estimate(const Rollout& rollout, const MadeUpModel& model) {
  const auto cost = checked_cost(rollout, model, kPromptLength, kResponses, /*on_cpu=*/true);
  if (!cost) throw RuleNotChecked("it has no RolloutCostEstimate");
  const at::Tensor forwards_B = generate(rollout, made_up_rollout(), ModelPolicy(model)).forwards_B;
  const std::int64_t least = forwards_B.min().item<std::int64_t>(), most = forwards_B.max().item<std::int64_t>();
  if (least < cost->least_forwards || most > cost->most_forwards)
    throw Error("estimate_cost: it says " + std::to_string(cost->least_forwards) + " to " +
                std::to_string(cost->most_forwards) + " forwards a response, and there were " + std::to_string(least) +
                " to " + std::to_string(most));
}

}  // namespace

void check_rollout_rules(const ComponentEntry& entry, const ExaminedWith& with, Examination& examination) {
  const Trials<Rollout> trials(entry, with, examination);
  const MadeUpModel model(at::kFloat), narrow(at::kBFloat16);
  const ModelPolicy policy(model), narrow_policy(narrow);
  const RolloutInput input = made_up_rollout();
  const auto usual = [&](const Rollout& rollout) { return generate(rollout, input, policy); };
  const auto require_same = [](const Trajectories& a, const Trajectories& b, const char* when) {
    require_same_responses(a, b, 0, when);
  };

  trials.made([](const Rollout& rollout) { checked_response_length(rollout); });
  trials.results([&](const Rollout& rollout) { usual(rollout); });
  trials.rule("short prompts",
              [&](const Rollout& rollout) { generate(rollout, made_up_rollout(/*prompt_length=*/1), policy); });
  trials.rule("batch", [&](const Rollout& rollout) {
    const Trajectories whole = usual(rollout);
    for (std::int64_t first = 0; first < kResponses; first += kGroupSize)
      require_same_responses(generate(rollout, responses_of(input, first, first + kGroupSize), policy), whole, first,
                             "group by group");
    require_same_responses(generate(rollout, responses_of(input, 3, 4), policy), whole, 3, "one by one");
  });
  trials.rule("padding", [&](const Rollout& rollout) {
    require_same(generate(rollout, padded(input, 4), policy), usual(rollout), "with more padding on the left");
  });
  examination.rule("different responses", [&] {
    const auto values = Parameters(entry.params, with.values).values();
    const auto temperature = values.find("temperature");
    if (temperature != values.end() && temperature->second == Parameter::Value(0.0))
      throw RuleNotChecked("its temperature is 0");
    require_different_responses(generate(*trials.usual(), input, unit_test::UniformPolicy(model.traits())));
    return std::string("all tokens equally likely");
  });
  trials.rule("bfloat16", [&](const Rollout& rollout) { generate(rollout, input, narrow_policy); });
  trials.rule("cancelled", [&](const Rollout& rollout) {
    const std::atomic<bool> cancelled = true;
    RolloutInput stopped = input;
    stopped.cancelled = &cancelled;
    generate(rollout, stopped, policy);
  });
  trials.rule("cost", [&](const Rollout& rollout) { require_within_estimate(rollout, model); });
  trials.repeats(usual, require_same);
  trials.leak([&](const Rollout& rollout) { usual(rollout); });
}

}  // namespace drift
