// d1's diffu-GRPO (docs/spec/d1.md): all tokens scored in one forward, from a fully masked response and a prompt of
// which the policy sees most. The settings of the release are the files in presets/.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>

#include <algorithm>

namespace {

using namespace drift;

/// One view per response: the entire response masked, the prompt masked at random (3.2).
class PromptMasking final : public MaskingStrategy {
 public:
  explicit PromptMasking(Parameters& parameters)
      : p_mask_prompt_(parameters("p_mask_prompt", 0.15,
                                  "probability that a prompt token is masked; 0 shows the entire prompt",
                                  between(0, 1))),
        random_masking_(parameters("random_masking", true,
                                   "draw new masks for every optimizer step; false: the same ones throughout the run")),
        mask_post_eos_keys_(parameters("mask_post_eos_keys", false,
                                       "no position attends to what follows the end token, as in dllm's port")),
        end_id_(parameters("end_id", -1,
                           "token that ends the valid part of a response, itself valid; -1 = the model's end token",
                           at_least(-1))) {}

  PlanRefresh refresh() const override {
    return random_masking_ && p_mask_prompt_ > 0 ? PlanRefresh::kEachInnerIteration : PlanRefresh::kOncePerRollout;
  }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length(), prompt_length = responses.prompt_length();
    const std::int64_t end_id = end_id_ >= 0 ? end_id_ : input.end_id;
    PlanBuilder builder(length, prompt_length);

    for (std::int64_t b = 0; b < responses.size(); ++b) {
      builder.begin_view(b, 0);

      // q': every prompt position independently, including padding and chat tokens. Positions count back from the
      // response, so that the padding of a batch moves no draw. Without random masking every rollout and iteration
      // draws the same.
      RandomPoint point{0, responses[b].number, 0, 0};
      if (random_masking_) {
        point.step = input.step;
        point.draw = input.inner_iteration;
      }
      for (std::int64_t p = 0; p < prompt_length; ++p) {
        point.position = prompt_length - 1 - p;
        if (input.random.uniform(point) < p_mask_prompt_) builder.mask_prompt(p);
      }

      // The response: all of it masked, also after its end; scored through its end.
      const std::int64_t scored = responses.positions_through_end(b, end_id);
      for (std::int64_t i = 0; i < length; ++i) {
        builder.mask(i);
        if (i < scored) builder.score(i);
        if (i >= scored && mask_post_eos_keys_) builder.leave_unattended(i);
      }
    }
    plan = builder.finish(1);
  }

 private:
  double p_mask_prompt_;
  bool random_masking_, mask_post_eos_keys_;
  std::int64_t end_id_;
};

/// The clipped ratio and a KL, token by token (3.3 to 3.5).
class TokenLoss final : public LossEstimator {
 public:
  explicit TokenLoss(Parameters& parameters)
      : clip_(parameters, 0.5, 0.5), kl_(parameters, 0.04, KlEstimator::kK3), norm_(parameters, LossNormKind::kToken) {}

  /// The normalisers count tokens, which the plan determines: views are independent.
  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override {
    needs.reference = kl_.needed();
    needs.token_weights = true;
  }

  Loss evaluate(const LossInput& in) const override {
    const auto& target_FL = in.plan.target_FL;
    const auto& current_FL = in.log_probs.current_FL;
    const double clamp = clip_.log_ratio_clamp();
    Loss loss;

    // -min(r A, clip(r, 1 - eps, 1 + eps) A) + beta KL, r = pi(x_i | q') / pi_old(x_i | q')
    const auto log_ratio_FL = log_ratio(current_FL, in.log_probs.old_FL.detach(), target_FL, clamp);
    const auto policy_FL = clip_.loss(log_ratio_FL, in.token_advantage(), target_FL, loss);
    const auto token_FL = kl_.added_to(policy_FL, in.log_probs.reference_FL, current_FL, target_FL, clamp, loss);

    // Sum over valid tokens / their number. d1 has one view per response; under another masking strategy, which scores
    // a token in n views on average, each of them brings 1 / n.
    const auto views_per_token =
        static_cast<double>(in.totals.targets) / std::max(in.scored_B.sum().item<double>(), 1.0);
    auto weight_F = norm_.weight_B(in).index_select(0, in.plan.response_F) / std::max(views_per_token, 1.0);
    if (in.plan.weight_F.defined()) weight_F = weight_F * in.plan.weight_F;
    loss.value = (sum_where(by_token_weight(in, token_FL), target_FL) * weight_F).sum();
    return loss;
  }

 private:
  RatioClip clip_;
  KlTerm kl_;
  LossNorm norm_;
};

}  // namespace

DRIFT_PLUGIN("d1", "1.0.0", "Apache-2.0") {
  registry.add<PromptMasking>("d1", "One view: the entire response masked, each prompt token with a probability.");
  registry.add<TokenLoss>("d1", "Clipped ratio of every valid token, plus KL.");
  registry.add_algorithm({
      .name = "d1",
      .doc = "diffu-GRPO: all tokens scored in one forward from a fully masked response and a randomly masked prompt.",
      .paper = "d1: Scaling Reasoning in Diffusion Large Language Models via Reinforcement Learning",
      .masking = "d1",
      .loss = "d1",
      .presets = plugin_presets("train"),
      .plugin = {},
  });
}
