// Half of the positions at a time, and the plain policy gradient.
#include "lab.h"

#include <drift/loss_estimator.h>
#include <drift/masking_strategy.h>
#include <drift/plan_builder.h>

namespace {

/// View v masks and scores every `stride`-th position, beginning at v: together the views score each token once.
class Stripes final : public drift::MaskingStrategy {
 public:
  explicit Stripes(drift::Parameters& parameters)
      : stride_(parameters("stride", 2, "distance between masked positions", drift::between(1, 16))) {}

  void plan(const drift::MaskingInput& input, drift::MaskPlan& plan) const override {
    const drift::Responses responses(input);
    drift::PlanBuilder builder(responses.length(), responses.prompt_length());
    for (std::int64_t b = 0; b < responses.size(); ++b) {
      const std::int64_t tokens = responses.positions_through_end(b, input.end_id);
      for (std::int64_t view = 0; view < stride_; ++view) {
        builder.begin_view(b, view);
        for (std::int64_t i = view; i < responses.length(); i += stride_) {
          builder.mask(i);
          if (i < tokens) builder.score(i);
        }
      }
    }
    plan = builder.finish(stride_);
  }

 private:
  std::int64_t stride_;
};

/// -A log pi: needs no other policy.
class PolicyGradient final : public drift::LossEstimator {
 public:
  explicit PolicyGradient(drift::Parameters& parameters)
      : scale_(parameters("scale", 1.0, "factor of the loss", drift::above(0))) {}

  drift::Coupling coupling() const override { return drift::Coupling::kView; }
  void needs(drift::LossNeeds& needs) const override { needs.old = false; }

  drift::Loss evaluate(const drift::LossInput& in) const override {
    drift::Loss loss = in.token_mean(-scale_ * in.token_advantage() * in.log_probs.current_FL);
    loss.add_mean("logprob", in.log_probs.current_FL, in.plan.target_FL);
    return loss;
  }

 private:
  double scale_;
};

}  // namespace

void register_algorithm(drift::Registry& registry) {
  registry.add<Stripes>("lab", "Every second position masked and scored.");
  registry.add<PolicyGradient>("lab", "The plain policy gradient.");
  registry.add_bundle({.name = "lab",
                       .doc = "The plain policy gradient on stripes of a response.",
                       .paper = "A third party's paper",
                       .masking = "lab",
                       .loss = "lab",
                       .presets = drift::plugin_presets("paper"),
                       .plugin = {}});
}
