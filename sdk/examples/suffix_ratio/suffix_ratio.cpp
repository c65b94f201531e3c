// A small algorithm of its own: a masking strategy, a loss and the settings of its paper under one name.
#include <drift/loss_estimator.h>
#include <drift/loss_terms.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>
#include <drift/plugin.h>

namespace {

/// Each view masks a response from a random position to its end, and scores what it masks: the model sees a beginning
/// and is asked for the rest.
class SuffixRatioMasking final : public drift::MaskingStrategy {
 public:
  explicit SuffixRatioMasking(drift::Parameters& parameters)
      : views_(parameters("views", 4, "masked contexts of a response", drift::between(1, 256))) {}

  // New contexts for every pass over the responses.
  drift::PlanRefresh refresh() const override { return drift::PlanRefresh::kEachInnerIteration; }

  void plan(const drift::MaskingInput& input, drift::MaskPlan& plan) const override {
    const drift::Responses responses(input);
    drift::PlanBuilder builder(responses.length(), responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const std::int64_t tokens = responses.positions_through_end(b, input.end_id);
      for (std::int64_t view = 0; view < views_; ++view) {
        const std::int64_t draw = input.inner_iteration * views_ + view;
        const std::int64_t begin = input.random.below(tokens, {input.step, responses[b].number, 0, draw});
        builder.begin_view(b, view);
        for (std::int64_t i = begin; i < responses.length(); ++i) builder.mask(i);
        for (std::int64_t i = begin; i < tokens; ++i) builder.score(i);
      }
    }
    plan = builder.finish(views_);
  }

 private:
  std::int64_t views_;
};

/// PPO's clipped ratio of each scored token, plus a KL to the reference policy.
class SuffixRatioLoss final : public drift::LossEstimator {
 public:
  explicit SuffixRatioLoss(drift::Parameters& parameters)
      : clip_(parameters, 0.2, 0.2), kl_(parameters, 0.0, drift::KlEstimator::kK3) {}

  // A sum over tokens: any split of the views into micro-batches gives the same gradient.
  drift::Coupling coupling() const override { return drift::Coupling::kView; }
  void needs(drift::LossNeeds& needs) const override { needs.reference = kl_.needed(); }

  drift::Loss evaluate(const drift::LossInput& in) const override {
    const auto& current_FL = in.log_probs.current_FL;
    const auto& target_FL = in.plan.target_FL;
    const double clamp = clip_.log_ratio_clamp();
    drift::Loss metrics;
    const auto log_ratio_FL = drift::log_ratio(current_FL, in.log_probs.old_FL, target_FL, clamp);
    const auto policy_FL = clip_.loss(log_ratio_FL, in.token_advantage(), target_FL, metrics);
    const auto token_FL = kl_.added_to(policy_FL, in.log_probs.reference_FL, current_FL, target_FL, clamp, metrics);
    drift::Loss loss = in.token_mean(token_FL);
    loss.metrics = metrics.metrics;
    return loss;
  }

 private:
  drift::RatioClip clip_;
  drift::KlTerm kl_;
};

}  // namespace

DRIFT_PLUGIN("suffix_ratio", "1.0.0", "Apache-2.0") {
  registry.add<SuffixRatioMasking>("suffix_ratio", "The end of a response, from a random position, masked and scored.");
  registry.add<SuffixRatioLoss>("suffix_ratio", "Clipped ratio of every scored token, plus KL.");
  registry.add_algorithm({
      .name = "suffix_ratio",
      .doc = "Clipped ratios of tokens whose beginning of the response is known.",
      .paper = "an example",
      .masking = "suffix_ratio",
      .loss = "suffix_ratio",
      .presets = drift::plugin_presets("paper"),
      .plugin = {},
  });
}
