// AGRPO (docs/algorithms/agrpo.md): the policy gradient of the denoising steps, estimated from a few steps of each
// response's own trajectory. The settings of the release are the files in presets/.

#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

#include <ATen/TensorOperators.h>
#include <ATen/ops/sum.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace {

using namespace drift;

/// The steps of a trajectory that may be drawn: those up to the last one that commits a valid token.
struct Steps {
  std::vector<std::int32_t> step;  ///< ascending
  std::vector<double> surprise;    ///< -ln of the probabilities with which its tokens were committed, added up
};

Steps steps_of(const Response& response, std::int64_t length) {
  std::int32_t last = -1;
  for (std::int64_t i = 0; i < length; ++i) {
    if (response.valid[i]) last = std::max(last, response.step[i]);
  }
  Steps steps;
  for (std::int64_t i = 0; i < length; ++i) {
    if (response.step[i] >= 0 && response.step[i] <= last) steps.step.push_back(response.step[i]);
  }
  std::sort(steps.step.begin(), steps.step.end());
  steps.step.erase(std::unique(steps.step.begin(), steps.step.end()), steps.step.end());
  steps.surprise.assign(steps.step.size(), 0);
  for (std::int64_t i = 0; i < length; ++i) {
    const auto at = std::lower_bound(steps.step.begin(), steps.step.end(), response.step[i]);
    // What a rollout did not record is no surprise.
    const double surprise = -static_cast<double>(response.commit_logprob[i]);
    if (at == steps.step.end() || *at != response.step[i] || !std::isfinite(surprise)) continue;
    steps.surprise[static_cast<std::size_t>(at - steps.step.begin())] += std::max(surprise, 0.0);
  }
  return steps;
}

/// Each view is the state before a drawn step, and scores what that step committed. A view weighs 1 / (S q), S steps
/// drawn with probabilities q, so that the mean over views is that over all steps on average.
class StepDraws final : public MaskingStrategy {
 public:
  explicit StepDraws(Parameters& parameters)
      : mc_samples_(parameters("mc_samples", 24, "M: steps drawn per response", between(1, 4096))),
        stratified_(parameters("stratified", true, "one draw in each M-th of the trajectory, instead of M free ones")),
        surprise_share_(parameters("surprise_share", 0.0,
                                   "share of the draws that prefer steps in proportion to how improbable what they "
                                   "committed was; the others are uniform",
                                   between(0, 1))) {}

  PlanRefresh refresh() const override { return PlanRefresh::kEachInnerIteration; }

  void plan(const MaskingInput& input, MaskPlan& plan) const override {
    const Responses responses(input);
    const std::int64_t length = responses.length();
    PlanBuilder builder(length, responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const Response response = responses[b];
      const Steps steps = steps_of(response, length);
      if (steps.step.empty()) continue;
      const std::vector<double> probability = probabilities(steps);
      for (std::int64_t m = 0; m < mc_samples_; ++m) {
        const double u =
            input.random.uniform({input.step, response.number, 0, input.inner_iteration * mc_samples_ + m});
        const auto s =
            drawn(probability, stratified_ ? (static_cast<double>(m) + u) / static_cast<double>(mc_samples_) : u);
        builder.begin_view(b, m);
        for (std::int64_t i = 0; i < length; ++i) {
          if (response.step[i] < 0 || response.step[i] >= steps.step[s]) builder.mask(i);
          if (response.step[i] == steps.step[s]) builder.score(i);
        }
        builder.weigh(1 / (static_cast<double>(steps.step.size()) * probability[s]));
      }
    }
    plan = builder.finish(mc_samples_);
  }

 private:
  /// q: a mixture, so that no weight is above 1 / (1 - surprise_share).
  std::vector<double> probabilities(const Steps& steps) const {
    const double sum = std::accumulate(steps.surprise.begin(), steps.surprise.end(), 0.0);
    const double share = sum > 0 ? surprise_share_ : 0;
    std::vector<double> probability;
    for (const double surprise : steps.surprise) {
      const double uniform = 1 / static_cast<double>(steps.surprise.size());
      probability.push_back((1 - share) * uniform + (share > 0 ? share * surprise / sum : 0));
    }
    return probability;
  }

  /// The first s at which the probabilities up to s exceed u; rounding never leads beyond the last that can be drawn.
  static std::size_t drawn(const std::vector<double>& probability, double u) {
    double below = 0;
    std::size_t possible = 0;
    for (std::size_t s = 0; s < probability.size(); ++s) {
      below += probability[s];
      if (probability[s] > 0) possible = s;
      if (u < below) return s;
    }
    return possible;
  }

  std::int64_t mc_samples_;
  bool stratified_;
  double surprise_share_;
};

/// The clipped ratio and a KL of the tokens of the drawn steps.
class StepLoss final : public LossEstimator {
 public:
  explicit StepLoss(Parameters& parameters) : clip_(parameters, 0.2, 0.2), kl_(parameters, 0.0, KlEstimator::kK3) {}

  Coupling coupling() const override { return Coupling::kView; }
  void needs(LossNeeds& needs) const override { needs.reference = kl_.needed(); }

  Loss evaluate(const LossInput& in) const override {
    const auto& target_FL = in.plan.target_FL;
    const auto& current_FL = in.log_probs.current_FL;
    const double clamp = clip_.log_ratio_clamp();
    Loss loss;

    // -min(r A, clip(r) A) + beta r KL: the tokens are the old policy's, so its ratio corrects the estimate of the KL.
    const auto log_ratio_FL = log_ratio(current_FL, in.log_probs.old_FL.detach(), target_FL, clamp);
    auto token_FL = clip_.loss(log_ratio_FL, in.token_advantage(), target_FL, loss);
    if (in.log_probs.reference_FL.defined()) {
      const auto difference_FL = log_ratio(in.log_probs.reference_FL.detach(), current_FL, target_FL, clamp);
      const auto kl_FL = kl_.estimate(difference_FL) * log_ratio_FL.exp();
      if (kl_.needed()) token_FL = token_FL + kl_.beta() * kl_FL;
      loss.add_mean("kl", kl_FL, target_FL);
    }

    // Sum over a step's tokens, mean over the drawn steps, mean over responses.
    auto view_F = sum_where(token_FL, target_FL);
    if (in.plan.weight_F.defined()) view_F = view_F * in.plan.weight_F;
    const auto views = static_cast<double>(in.totals.responses) * static_cast<double>(in.totals.terms);
    loss.value = view_F.sum() / std::max(views, 1.0);
    return loss;
  }

 private:
  RatioClip clip_;
  KlTerm kl_;
};

}  // namespace

DRIFT_PLUGIN("agrpo", "1.0.0", "Apache-2.0") {
  registry.add<StepDraws>("agrpo",
                          "Drawn steps of the denoising trajectory: the state before each, what it committed.");
  registry.add<StepLoss>("agrpo", "Clipped ratio of a step's tokens, added up; mean over the drawn steps.");
  registry.add_algorithm({
      .name = "agrpo",
      .doc = "The policy gradient of the denoising steps, from a few drawn steps of each response's own trajectory.",
      .paper = "Simple Policy Gradients for Reasoning with Diffusion Language Models",
      .masking = "agrpo",
      .loss = "agrpo",
      .presets = plugin_presets("gsm8k"),
      .plugin = {},
  });
}
